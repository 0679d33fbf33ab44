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

// Artifact is something in Maven's repositories.
type Artifact struct {
	Group, Name, Version string
	Classifier           string // empty for the artifact itself, "test" for its tests
}

// jar is the name of the artifact's file.
func (a Artifact) jar() string {
	if a.Classifier != "" {
		return a.Name + "-" + a.Version + "-" + a.Classifier + ".jar"
	}
	return a.Name + "-" + a.Version + ".jar"
}

// Jars are artifacts that are fetched together, with everything they need at run time, into one directory.
type Jars struct {
	Kafka     string // the release of Kafka that they belong to
	Name      string // of the directory, beside the ones of other sets of that release
	Artifacts []Artifact
}

// kafkaJars are the brokers, clients and tools of a release.
func kafkaJars(version string) Jars {
	j := Jars{Kafka: version, Name: "libs", Artifacts: []Artifact{
		{Group: "org.apache.logging.log4j", Name: "log4j-slf4j-impl", Version: slf4jVersion},
	}}
	// They bring all other artifacts of org.apache.kafka; the last one is named because nothing works without it.
	for _, name := range []string{"kafka_2.13", "connect-mirror", "connect-runtime", "kafka-tools", "kafka-clients"} {
		j.Artifacts = append(j.Artifacts, Artifact{Group: "org.apache.kafka", Name: name, Version: version})
	}
	return j
}

// Libs returns the directory that holds the jars of Kafka and of everything it
// needs at run time, as class path "dir/*".
func Libs(ctx context.Context) (string, error) { return kafkaJars(Version()).Fetch(ctx) }

// Fetch returns the directory that holds the jars, as class path "dir/*". The
// first call on a machine downloads them with Maven (about a minute), which
// refuses what does not have the checksum that its repository tells; later calls
// look at a few file names. Test binaries of several packages may call it at the
// same time: one downloads under a file lock, the others wait. The directory
// appears by one rename, so a download that was cut short is never taken for a
// whole one.
func (j Jars) Fetch(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "kafka-"+j.Kafka)
	libs := filepath.Join(home, j.Name)
	if j.verify(libs) == nil {
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
	if j.verify(libs) == nil {
		return libs, nil // another process was faster
	}
	if err := j.download(ctx, home, libs); err != nil {
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

// download copies the jars into a directory beside libs and renames it.
func (j Jars) download(ctx context.Context, home, libs string) error {
	tmp, err := os.MkdirTemp(home, "download-")
	if err != nil {
		return fmt.Errorf("create download directory: %w", err)
	}
	defer os.RemoveAll(tmp)
	pom := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(pom, j.pom(), 0o644); err != nil {
		return fmt.Errorf("write pom: %w", err)
	}
	out := filepath.Join(tmp, "libs")
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "--strict-checksums", "-f", pom,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+out)
	cmd.Dir = tmp
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("download %s of Kafka %s with %q: %w\n%s", j.Name, j.Kafka, cmd.String(), err, lastLines(text, 30))
	}
	if err := j.verify(out); err != nil {
		return fmt.Errorf("download %s of Kafka %s: %w", j.Name, j.Kafka, err)
	}
	// What verify refused above is of no use; a rename needs the name free.
	if err := os.RemoveAll(libs); err != nil {
		return fmt.Errorf("remove incomplete jar directory: %w", err)
	}
	if err := os.Rename(out, libs); err != nil {
		return fmt.Errorf("move jars into place: %w", err)
	}
	return nil
}

func (j Jars) pom() []byte {
	var b bytes.Buffer
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>tidemark.test</groupId><artifactId>kafka-libs</artifactId><version>1</version>` +
		`<packaging>pom</packaging><dependencies>` + "\n")
	for _, a := range j.Artifacts {
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>", a.Group, a.Name, a.Version)
		if a.Classifier != "" {
			fmt.Fprintf(&b, "<classifier>%s</classifier>", a.Classifier)
		}
		b.WriteString("</dependency>\n")
	}
	b.WriteString("</dependencies></project>\n")
	return b.Bytes()
}

// verify tells what a jar directory lacks: each artifact must be there in the
// wanted version and must not be empty.
func (j Jars) verify(libs string) error {
	for _, a := range j.Artifacts {
		jar := filepath.Join(libs, a.jar())
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
