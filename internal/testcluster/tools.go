//go:build unix

package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// minJava is the oldest Java that runs the brokers of Kafka 4 (KIP-1013).
const minJava = 17

// Tools makes sure that java with its compiler, mvn and kcat can be run. Where one is missing and
// this process is root on Debian or Ubuntu, it is installed with apt; otherwise
// the error names the command that a person has to type. There is no third
// outcome: tests against real brokers never pass by not having run.
func Tools(ctx context.Context) error {
	return ensureTools(ctx, "java", "javac", "mvn", "kcat")
}

// toolPackage is the Debian package that brings a program.
func toolPackage(program string) string {
	switch program {
	case "java", "javac":
		return "default-jdk-headless" // 17 on Debian 12, later on newer ones; java File.java compiles: a JRE alone cannot
	case "mvn":
		return "maven"
	case "krb5kdc", "kdb5_util":
		return "krb5-kdc"
	case "kadmin.local":
		return "krb5-admin-server"
	}
	return program
}

func ensureTools(ctx context.Context, programs ...string) error {
	missing := missingTools(programs)
	if len(missing) > 0 {
		if err := installTools(ctx, programs); err != nil {
			return err
		}
	}
	if slices.Contains(programs, "java") {
		return checkJava(ctx)
	}
	return nil
}

func missingTools(programs []string) []string {
	var missing []string
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// installTools installs what is missing of programs, one process at a time.
func installTools(ctx context.Context, programs []string) error {
	missing := missingTools(programs)
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%s not found: %s", strings.Join(missing, ", "), installHint(missing))
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("create cache directory: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, "apt.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if missing = missingTools(programs); len(missing) == 0 {
		return nil // another process installed them meanwhile
	}
	for _, args := range [][]string{
		{"update", "-q"},
		append([]string{"install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packagesOf(missing)...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install %s with %q (%s): %w\n%s",
				strings.Join(missing, ", "), cmd.String(), installHint(missing), err, lastLines(text, 20))
		}
	}
	if missing = missingTools(programs); len(missing) > 0 {
		return fmt.Errorf("%s still not found after installing %s",
			strings.Join(missing, ", "), strings.Join(packagesOf(missing), " "))
	}
	return nil
}

func packagesOf(programs []string) []string {
	var packages []string
	for _, program := range programs {
		if p := toolPackage(program); !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	return packages
}

func installHint(missing []string) string {
	return "type: sudo apt-get update && sudo apt-get install -y --no-install-recommends " +
		strings.Join(packagesOf(missing), " ")
}

// checkJava refuses a Java on which brokers would die with a class version
// error, which nobody should have to find in a broker's log.
func checkJava(ctx context.Context) error {
	text, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run java -version: %w\n%s", err, lastLines(text, 10))
	}
	version, err := javaVersion(text)
	if err != nil {
		return err
	}
	if version < minJava {
		return fmt.Errorf("java is version %d, Kafka %s needs %d: %s",
			version, Version(), minJava, installHint([]string{"java"}))
	}
	return nil
}

// javaVersion reads the feature release out of `java -version`: 17 of "17.0.15",
// 8 of the old style "1.8.0_292".
func javaVersion(text []byte) (int, error) {
	m := regexp.MustCompile(`version "(?:1\.)?([0-9]+)`).FindSubmatch(text)
	if m == nil {
		return 0, errors.New("java -version does not tell a version: " + string(bytes.TrimSpace(text)))
	}
	return strconv.Atoi(string(m[1]))
}
