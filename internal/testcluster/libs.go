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
	"syscall"
	"time"

	"tidemark/internal/pause"
)

// KafkaVersion is the Apache Kafka release that real brokers and Java clients
// run. The environment variable TIDEMARK_KAFKA_VERSION overrides it.
const KafkaVersion = "4.3.0"

// versionVariable names the environment variable that overrides KafkaVersion.
const versionVariable = "TIDEMARK_KAFKA_VERSION"

// pollInterval is the pause between two looks at something that has no event
// to wait for: a lock of another process, a port, a broker's log.
const pollInterval = 50 * time.Millisecond

// Version returns the Kafka release in use: the value of
// TIDEMARK_KAFKA_VERSION, or KafkaVersion where that is empty.
func Version() string {
	if v := os.Getenv(versionVariable); v != "" {
		return v
	}
	return KafkaVersion
}

// slf4jVersion is the release of the binding through which Kafka logs. Kafka's
// own artifacts leave it to the distribution; without it a broker that refuses
// its configuration ends without a word.
const slf4jVersion = "2.25.4"

// requiredJars are the files without which a libs directory is useless. They
// are also what is looked at before a directory is trusted.
func requiredJars(version string) []string {
	names := []string{"log4j-slf4j-impl-" + slf4jVersion + ".jar"}
	for _, artifact := range append(kafkaArtifacts(), "kafka-clients") {
		names = append(names, artifact+"-"+version+".jar")
	}
	return names
}

// kafkaArtifacts are the artifacts of org.apache.kafka that are asked for; they
// bring everything else, kafka-clients too.
func kafkaArtifacts() []string {
	return []string{"kafka_2.13", "connect-mirror", "connect-runtime", "kafka-tools"}
}

// Libs returns the directory that holds the jars of Kafka and of everything it
// needs at run time, as class path "dir/*". The first call on a machine
// downloads them with Maven (about a minute); later calls look at a few
// file names. Test binaries of several packages may call it at the same time: one
// downloads under a file lock, the others wait. The directory appears by one
// rename, so a download that was cut short is never taken for a whole one.
func Libs(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	version := Version()
	home := filepath.Join(cache, "kafka-"+version)
	libs := filepath.Join(home, "libs")
	if verifyLibs(libs, version) == nil {
		return libs, nil
	}
	if err := ensureTools(ctx, "java", "mvn"); err != nil {
		return "", err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", fmt.Errorf("create jar cache: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(home, "download.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if verifyLibs(libs, version) == nil {
		return libs, nil // another process was faster
	}
	if err := downloadLibs(ctx, home, libs, version); err != nil {
		return "", err
	}
	return libs, nil
}

func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find user cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(dir, "tidemark"), nil
}

// downloadLibs copies the jars into a directory beside libs and renames it.
func downloadLibs(ctx context.Context, home, libs, version string) error {
	tmp, err := os.MkdirTemp(home, "download-")
	if err != nil {
		return fmt.Errorf("create download directory: %w", err)
	}
	defer os.RemoveAll(tmp)
	pom := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(pom, libsPom(version), 0o644); err != nil {
		return fmt.Errorf("write pom: %w", err)
	}
	out := filepath.Join(tmp, "libs")
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", pom,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+out)
	cmd.Dir = tmp
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("download Kafka %s with %q: %w\n%s", version, cmd.String(), err, lastLines(text, 30))
	}
	if err := verifyLibs(out, version); err != nil {
		return fmt.Errorf("download Kafka %s: %w", version, err)
	}
	// What verifyLibs refused above is of no use; a rename needs the name free.
	if err := os.RemoveAll(libs); err != nil {
		return fmt.Errorf("remove incomplete jar directory: %w", err)
	}
	if err := os.Rename(out, libs); err != nil {
		return fmt.Errorf("move jars into place: %w", err)
	}
	return nil
}

func libsPom(version string) []byte {
	var b bytes.Buffer
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>tidemark.test</groupId><artifactId>kafka-libs</artifactId><version>1</version>` +
		`<packaging>pom</packaging><dependencies>` + "\n")
	dependency := func(group, artifact, version string) {
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n",
			group, artifact, version)
	}
	for _, artifact := range kafkaArtifacts() {
		dependency("org.apache.kafka", artifact, version)
	}
	dependency("org.apache.logging.log4j", "log4j-slf4j-impl", slf4jVersion)
	b.WriteString("</dependencies></project>\n")
	return b.Bytes()
}

// verifyLibs tells what a jar directory lacks: each required jar must be there
// in the wanted version and must not be empty.
func verifyLibs(libs, version string) error {
	for _, name := range requiredJars(version) {
		jar := filepath.Join(libs, name)
		info, err := os.Stat(jar)
		if err != nil {
			return fmt.Errorf("jar directory is incomplete: %w", err)
		}
		if info.Size() == 0 {
			return fmt.Errorf("jar directory is incomplete: %s is empty", jar)
		}
	}
	return nil
}

// lockFile takes an exclusive flock and returns its release. It polls without
// blocking, because a blocked flock call would not notice that ctx ended.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil // closing releases the flock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !pause.For(ctx, pollInterval) {
			f.Close()
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		}
	}
}
