package e2e

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
)

// storePassword opens the stores of these tests, keyPassword the keys that have one of their own.
const (
	storePassword = "open-sesame"
	keyPassword   = "the-inner-door"
)

// keytool runs the JDK's keytool and gives what it prints.
func keytool(t *testing.T, dir string, in []byte, args ...string) []byte {
	t.Helper()
	jvm := []string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"} // it starts in half the CPU time
	cmd := exec.CommandContext(t.Context(), "keytool", slices.Concat(jvm, args, []string{"-noprompt", "-storepass", storePassword})...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("keytool %s: %v\n%s%s", strings.Join(args, " "), err, out, complaint.Bytes())
	}
	return out
}

// stores makes a trust store and a key store of one type, as people do: the key is made in the store, its certificate is
// signed by the cluster's authority, and the authority stands in the key store too.
func stores(t *testing.T, c *testcluster.Certificates, kind string, more ...string) (trust, key string) {
	t.Helper()
	dir := t.TempDir()
	trust, key = filepath.Join(dir, "trust.store"), filepath.Join(dir, "key.store")
	keytool(t, dir, nil, "-importcert", "-alias", "authority", "-file", c.CA, "-keystore", trust, "-storetype", kind)
	keytool(t, dir, nil, append([]string{"-genkeypair", "-alias", "mirror", "-keyalg", "RSA", "-dname", "CN=admin", "-keystore", key, "-storetype", kind}, more...)...)
	request := keytool(t, dir, nil, append([]string{"-certreq", "-alias", "mirror", "-keystore", key}, more...)...)
	signed, err := c.Sign(request)
	if err != nil {
		t.Fatal(err)
	}
	keytool(t, dir, nil, "-importcert", "-alias", "authority", "-file", c.CA, "-keystore", key)
	keytool(t, dir, signed, append([]string{"-importcert", "-alias", "mirror", "-keystore", key}, more...)...)
	return trust, key
}

// sslCluster is a broker that demands a client certificate; only the subject CN=admin may do anything.
func sslCluster(t *testing.T, name, certificateName string) *testcluster.Real {
	t.Helper()
	r, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{
		Name: name, Security: testcluster.SSL, Authorizer: true, HeapMB: 384, CertificateName: certificateName,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// carries runs a MirrorMaker 2 file between a secured cluster and a plain one of the suite, and waits for the records.
func carries(t *testing.T, from, to *testcluster.Real, alias, topic, security string) {
	t.Helper()
	fill(t, from, topic, 50)
	secured := alias
	if to.Name() != suite.target.Name() {
		secured = "T"
	}
	text := fmt.Sprintf(`clusters = %[1]s, T
%[1]s.bootstrap.servers = %[2]s
T.bootstrap.servers = %[3]s
%[1]s->T.enabled = true
%[1]s->T.topics = %[4]s
%[1]s->T.groups = none
replication.factor = 1
offset-syncs.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
tidemark.lanes = 2
`, alias, from.BootstrapString(), to.BootstrapString(), topic)
	for line := range strings.Lines(security) {
		text += secured + "." + line
	}
	cfg, err := configfile.Parse("mm2.properties", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings %q", cfg.Warnings)
	}
	f := &flow{
		tb: t, alias: alias, cfg: cfg, log: slog.New(slog.NewTextHandler(&testLog{t: t}, nil)),
		src: kadm.NewClient(from.Client(t)), dst: kadm.NewClient(to.Client(t)),
	}
	stop := f.start()
	f.holds(to, alias+"."+topic, 50)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestStores: a broker that demands client certificates is read and written with the stores that Java's keytool makes, in
// each of their formats and whatever type is configured for them.
func TestStores(t *testing.T) {
	t.Parallel()
	r := sslCluster(t, "stores", "")
	pkcs12Trust, pkcs12Key := stores(t, r.Certificates(), "PKCS12")
	jksTrust, jksKey := stores(t, r.Certificates(), "JKS", "-keypass", keyPassword)
	locked := filepath.Join(t.TempDir(), "locked.pem")
	if out, err := exec.CommandContext(t.Context(), "openssl", "pkcs8", "-topk8", "-v2", "aes256", "-in", r.Certificates().ClientKey, "-passout", "pass:"+keyPassword, "-out", locked).CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	oneLine := func(file string) string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", " ")
	}
	both := func(trust, key, more string) string {
		return fmt.Sprintf("security.protocol = SSL\nssl.truststore.location = %s\nssl.truststore.password = %s\nssl.keystore.location = %s\nssl.keystore.password = %s\n%s",
			trust, storePassword, key, storePassword, more)
	}
	for _, c := range []struct{ name, security string }{
		{"pkcs12", both(pkcs12Trust, pkcs12Key, "ssl.truststore.type = PKCS12\nssl.keystore.type = PKCS12\n")},
		{"pkcs12-called-jks", both(pkcs12Trust, pkcs12Key, "ssl.key.password = "+storePassword+"\n")},
		{"jks", both(jksTrust, jksKey, "ssl.key.password = "+keyPassword+"\n")},
		{"jks-called-pkcs12", both(jksTrust, jksKey, "ssl.key.password = "+keyPassword+"\nssl.truststore.type = PKCS12\nssl.keystore.type = PKCS12\n")},
		{"pem-inline", fmt.Sprintf("security.protocol = SSL\nssl.truststore.type = PEM\nssl.keystore.type = PEM\nssl.truststore.certificates = %s\nssl.keystore.certificate.chain = %s\nssl.keystore.key = %s\nssl.key.password = %s\n",
			oneLine(r.Certificates().CA), oneLine(r.Certificates().ClientCert), oneLine(locked), keyPassword)},
	} {
		t.Run(c.name, func(t *testing.T) {
			carries(t, r, suite.target, "st-"+c.name, "st-"+c.name+"-in", c.security)
		})
	}
	t.Run("to", func(t *testing.T) {
		carries(t, suite.source, r, "stw", "stw-out", both(pkcs12Trust, pkcs12Key, ""))
	})
	t.Run("without a certificate", func(t *testing.T) {
		out := refused(t, flowFile(cluster(r.BootstrapString(), security{"protocol": "SSL", "ca": jksTrust})), 1)
		says(t, out, "cluster SEC", "set the key store")
	})
	t.Run("wrong password", func(t *testing.T) {
		sec := security{"protocol": "SSL", "ca": jksTrust, "keystore": pkcs12Key, "keystore_password": "letmein"}
		out := refused(t, flowFile(cluster(r.BootstrapString(), sec)), 1)
		says(t, out, "flow.yaml:2: clusters.SEC.security.keystore_password: key store "+pkcs12Key, "the password does not open the store")
		if strings.Contains(out, "letmein") {
			t.Errorf("the password is in the output:\n%s", out)
		}
	})
}

// flowFile is a file with a flow from a cluster SEC to the suite's target.
func flowFile(sec string) string {
	return fmt.Sprintf("clusters:\n  SEC: %s\n  OTHER: {bootstrap: %q}\nflows:\n  - {from: SEC, to: OTHER}\n", sec, suite.target.BootstrapString())
}

// TestHostNames: a broker whose certificate names another host is refused, unless host names are not to be checked.
func TestHostNames(t *testing.T) {
	t.Parallel()
	r := sslCluster(t, "names", "elsewhere.test")
	trust, key := stores(t, r.Certificates(), "PKCS12")
	sec := security{"protocol": "SSL", "ca": trust, "ca_password": storePassword, "keystore": key, "keystore_password": storePassword}
	out := refused(t, flowFile(cluster(r.BootstrapString(), sec)), 1)
	says(t, out, "cluster SEC at "+r.BootstrapString(), "the certificate does not name this host")
	carries(t, r, suite.target, "hn", "hn-in", fmt.Sprintf(
		"security.protocol = SSL\nssl.truststore.location = %s\nssl.truststore.password = %s\nssl.keystore.location = %s\nssl.keystore.password = %s\nssl.endpoint.identification.algorithm =\n",
		trust, storePassword, key, storePassword))
}
