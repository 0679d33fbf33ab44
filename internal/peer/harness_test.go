//go:build unix

package peer

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

// sources are the classes that stand before Kafka's, and what runs the tests.
//
//go:embed java
var sources embed.FS

// integration is the Java package of the test classes.
const integration = "org.apache.kafka.connect.mirror.integration."

// heapMB holds the tests' two clusters of one broker; it is the largest heap of the JVM that runs a class.
const heapMB = 1024

// jars are the tests of one release, whatever release other real brokers run: the table of expectations is about these. The
// versions of what is not Kafka's are those that this release was built with.
func jars() testcluster.Jars {
	const kafka = "4.3.0"
	j := testcluster.Jars{Kafka: kafka, Name: "peer-libs", Artifacts: []testcluster.Artifact{
		{Group: "org.junit.jupiter", Name: "junit-jupiter", Version: "5.14.1"},
		{Group: "org.junit.platform", Name: "junit-platform-launcher", Version: "1.14.1"},
		{Group: "org.mockito", Name: "mockito-core", Version: "5.20.0"},
		{Group: "org.mockito", Name: "mockito-junit-jupiter", Version: "5.20.0"},
		{Group: "org.bouncycastle", Name: "bcpkix-jdk18on", Version: "1.80"},
		{Group: "org.hamcrest", Name: "hamcrest", Version: "2.2"},
		{Group: "org.apache.logging.log4j", Name: "log4j-slf4j-impl", Version: "2.25.4"},
	}}
	for _, name := range []string{"kafka-test-common-runtime", "connect-mirror", "connect-runtime", "kafka_2.13"} {
		j.Artifacts = append(j.Artifacts, testcluster.Artifact{Group: "org.apache.kafka", Name: name, Version: kafka})
	}
	for _, name := range []string{"connect-mirror", "connect-runtime", "kafka-clients", "kafka-server-common", "kafka_2.13"} {
		j.Artifacts = append(j.Artifacts, testcluster.Artifact{Group: "org.apache.kafka", Name: name, Version: kafka, Classifier: "test"})
	}
	return j
}

// built is what all runs of this test binary share.
type built struct {
	binary    string   // tidemark
	classPath []string // ours first
}

// build fetches the jars, compiles the harness and builds tidemark, once.
var build = sync.OnceValues(func() (built, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := testcluster.Tools(ctx); err != nil {
		return built{}, err
	}
	libs, err := jars().Fetch(ctx)
	if err != nil {
		return built{}, err
	}
	classes := filepath.Join(home, "classes")
	b := built{binary: filepath.Join(home, "tidemark"), classPath: []string{classes, filepath.Join(libs, "*")}}
	src := filepath.Join(home, "src")
	if err := os.CopyFS(src, sources); err != nil {
		return built{}, err
	}
	argv := []string{"javac", "-nowarn", "-J-Xmx256m", "-d", classes, "-cp", filepath.Join(libs, "*")}
	err = filepath.WalkDir(src, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			argv = append(argv, path)
		}
		return err
	})
	if err != nil {
		return built{}, err
	}
	for _, argv := range [][]string{argv, {"go", "build", "-o", b.binary, "tidemark/cmd/tidemark"}} {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return built{}, fmt.Errorf("run %s: %w\n%s", argv[0], err, out)
		}
	}
	// JUnit finds the extension by this file.
	return b, os.CopyFS(filepath.Join(classes, "META-INF"), os.DirFS(filepath.Join(src, "java", "META-INF")))
})

// home is the directory of this run: built things and, for each class, what its tests logged. It stays if a test fails.
var home string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if home, err = os.MkdirTemp("", "tidemark-peer-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "logs and notes of each test are in", home)
		return code
	}
	if err := os.RemoveAll(home); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// result is what became of one test.
type result struct {
	Class, Test string
	Outcome     string // JUnit's word
	Seconds     float64
	Says        string // the exception and its causes
}

func (r result) String() string {
	return fmt.Sprintf("%s.%s %s after %.0f s %s", r.Class, r.Test, r.Outcome, r.Seconds, r.Says)
}

// java runs the harness's main class to its end and gives the results that it said, in their order.
func java(ctx context.Context, dir string, props map[string]string, args ...string) ([]result, error) {
	b, err := build()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	all := map[string]string{
		"peer.binary": b.binary, "peer.logs": filepath.Join(dir, "tests"),
		"jdk.attach.allowAttachSelf": "true", // to change a class that is loaded: BrokerTransactions
	}
	maps.Copy(all, props)
	jvm := testcluster.JVM{Name: "the tests' JVM", Dir: dir, ClassPath: b.classPath, HeapMB: heapMB, Props: all}
	p, err := jvm.Start("peer.Main", args...)
	if err != nil {
		return nil, err
	}
	// The processes that it has started are in its process group. Those that a test left behind it has ended itself.
	defer func() { _ = syscall.Kill(-p.PID(), syscall.SIGKILL) }()
	select {
	case <-p.Done():
	case <-ctx.Done():
		err = errors.Join(context.Cause(ctx), p.Kill())
	}
	if err = errors.Join(err, p.Err()); err != nil {
		err = fmt.Errorf("run Kafka's tests: %w\n%s", err, p.LogTail(40))
	}
	results, perr := parse(jvm.Log())
	return results, errors.Join(err, perr)
}

// parse finds the results among everything else that a JVM prints.
func parse(path string) ([]result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []result
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "RESULT ")
		if !ok {
			continue
		}
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("read result %q: %w", line, err)
		}
		out = append(out, r)
	}
	return out, lines.Err()
}

// list asks JUnit for the names of all tests of the classes, once.
var list = sync.OnceValues(func() ([]result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	args := []string{"list"}
	for _, c := range classes() {
		args = append(args, integration+c.name)
	}
	return java(ctx, filepath.Join(home, "list"), nil, args...)
})

// runClass runs tests of a class in a JVM of their own.
func runClass(ctx context.Context, c class, tests []string) ([]result, error) {
	args := []string{"run"}
	for _, test := range tests {
		args = append(args, integration+c.name+"#"+test)
	}
	dir, err := os.MkdirTemp(home, c.short+"-") // a test may be run several times
	if err != nil {
		return nil, err
	}
	props := map[string]string{}
	for _, a := range append(c.changed, everywhere()) {
		props[a.property] = a.value
	}
	results, err := java(ctx, dir, props, args...)
	slices.SortFunc(results, func(a, b result) int { return strings.Compare(a.Test, b.Test) })
	return results, err
}
