//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// kdcRealm is the realm of a test's KDC.
const kdcRealm = "TIDEMARK.TEST"

// KDC is MIT's Kerberos server with a realm and a database of its own, on
// 127.0.0.1 alone. Nothing of the machine's own Kerberos is read or changed.
type KDC struct {
	// Conf is the krb5.conf by which clients and brokers find it.
	Conf string

	dir   string
	ports *ports
	proc  *Process
}

// StartKDC starts a KDC and returns when it takes connections. Where it is
// missing it is installed as the other tools are.
func StartKDC(ctx context.Context) (*KDC, error) {
	if err := ensureTools(ctx, "krb5kdc", "kdb5_util", "kadmin.local"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-kdc-")
	if err != nil {
		return nil, fmt.Errorf("create KDC directory: %w", err)
	}
	k := &KDC{Conf: filepath.Join(dir, "krb5.conf"), dir: dir, ports: &ports{}}
	if err := k.boot(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start KDC: %w", err), k.Stop())
	}
	return k, nil
}

func (k *KDC) boot(ctx context.Context) (err error) {
	if k.ports, err = reservePorts(1); err != nil {
		return err
	}
	addr := loopback(k.ports.numbers[0])
	conf := fmt.Sprintf("[libdefaults]\ndefault_realm = %[1]s\ndns_lookup_kdc = false\ndns_lookup_realm = false\nrdns = false\nudp_preference_limit = 1\n[realms]\n%[1]s = {\n kdc = %[2]s\n}\n", kdcRealm, addr)
	server := fmt.Sprintf("[kdcdefaults]\nkdc_listen = %[2]s\nkdc_tcp_listen = %[2]s\n[realms]\n%[1]s = {\n database_name = %[3]s/principals\n key_stash_file = %[3]s/stash\n}\n[logging]\nkdc = STDERR\n", kdcRealm, addr, k.dir)
	if err := errors.Join(os.WriteFile(k.Conf, []byte(conf), 0o600), os.WriteFile(filepath.Join(k.dir, "kdc.conf"), []byte(server), 0o600)); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := k.run(ctx, "kdb5_util", "-r", kdcRealm, "-P", "master", "create", "-s"); err != nil {
		return err
	}
	k.proc, err = start(command{
		name: "KDC", argv: []string{"krb5kdc", "-n", "-r", kdcRealm}, dir: k.dir, env: k.env(), log: filepath.Join(k.dir, "kdc.log"),
	})
	if err != nil {
		return err
	}
	return Await(ctx, "the KDC", func(ctx context.Context) (bool, string, error) {
		if !k.proc.Running() {
			return false, "", fmt.Errorf("it ended (%w):\n%s", k.proc.Err(), k.proc.LogTail(10))
		}
		if err := dialOnce(ctx, addr); err != nil {
			return false, err.Error(), nil //nolint:nilerr // not listening yet
		}
		return true, "", nil
	})
}

func (k *KDC) env() []string {
	return []string{"KRB5_CONFIG=" + k.Conf, "KRB5_KDC_PROFILE=" + filepath.Join(k.dir, "kdc.conf")}
}

// run runs one of the KDC's own tools.
func (k *KDC) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), k.env()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, lastLines(out, 10))
	}
	return nil
}

// Principal makes a principal, such as "kafka/127.0.0.1", and gives its full
// name and a keytab with its keys.
func (k *KDC) Principal(ctx context.Context, name string) (principal, keytab string, err error) {
	keytab = filepath.Join(k.dir, strings.ReplaceAll(name, "/", "-")+".keytab")
	for _, query := range []string{"addprinc -randkey " + name, "ktadd -k " + keytab + " " + name} {
		if err := k.run(ctx, "kadmin.local", "-r", kdcRealm, "-q", query); err != nil {
			return "", "", err
		}
	}
	if _, err := os.Stat(keytab); err != nil { // kadmin.local reports nothing by its exit code
		return "", "", fmt.Errorf("no keytab was made: %w", err)
	}
	return name + "@" + kdcRealm, keytab, nil
}

// Stop ends the KDC and removes its files. It may be called more than once.
func (k *KDC) Stop() error {
	const grace = 5 * time.Second
	var errs []error
	if k.proc != nil {
		errs = append(errs, k.proc.Stop(grace))
	}
	k.ports.release()
	return errors.Join(append(errs, os.RemoveAll(k.dir))...)
}
