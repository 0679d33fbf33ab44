//go:build unix

package testcluster

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// javaSources are Produce.java, Consume.java, Translate.java and Ask.java.
//
//go:embed java/*.java
var javaSources embed.FS

// RunJava runs a single Java source file with Kafka's jars on its class path
// (JEP 330, no compiler needed beside the JVM) and returns what it prints. file
// is the name of a source embedded here, such as "Consume.java", or a path. The
// start takes about two seconds of CPU. The error holds the end of stderr.
func RunJava(ctx context.Context, file string, args ...string) (string, error) {
	return RunJavaInput(ctx, nil, file, args...)
}

// RunJavaInput is RunJava with something to read on standard input.
func RunJavaInput(ctx context.Context, input io.Reader, file string, args ...string) (string, error) {
	text, err := fs.ReadFile(javaSources, "java/"+file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", fmt.Errorf("read Java source: %w", err)
	}
	return runJavaSource(ctx, input, filepath.Base(file), string(text), args...)
}

// RunJavaSource is RunJava of a source text. name is its file name, for
// messages.
func RunJavaSource(ctx context.Context, name, source string, args ...string) (string, error) {
	return runJavaSource(ctx, nil, name, source, args...)
}

func runJavaSource(ctx context.Context, input io.Reader, name, source string, args ...string) (string, error) {
	libs, err := Libs(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "tidemark-java-")
	if err != nil {
		return "", fmt.Errorf("create Java directory: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return "", fmt.Errorf("write Java source: %w", err)
	}
	if err := writeLogging(dir); err != nil {
		return "", err
	}
	jvm := jvmArgs{libs: libs, logging: dir, heapMB: 512}
	out, err := runCommandInput(ctx, jvm.argv(file, args...), dir, input)
	if err != nil {
		return out, fmt.Errorf("java %s: %w", name, err)
	}
	return out, nil
}

// JVM is a Java program of a test's own.
type JVM struct {
	Name      string            // for messages
	Dir       string            // where it runs; holds its logging configuration and its log, java.log
	ClassPath []string          // directories of classes, and "dir/*" for the jars of one
	HeapMB    int               // the largest heap
	Props     map[string]string // system properties
}

// Start starts a class with a main method. What it prints is in the file Log names.
func (j JVM) Start(class string, args ...string) (*Process, error) {
	if err := writeLogging(j.Dir); err != nil {
		return nil, err
	}
	argv := jvmArgs{logging: j.Dir, heapMB: j.HeapMB, classPath: j.ClassPath, props: j.Props}.argv(class, args...)
	return start(command{name: j.Name, argv: argv, dir: j.Dir, log: j.Log()})
}

// Log is the file of what the program prints.
func (j JVM) Log() string { return filepath.Join(j.Dir, "java.log") }

// JavaArgs turns options and client properties into the arguments of the
// embedded programs: key=value, client properties with the prefix "client.".
func JavaArgs(client, options map[string]string) []string {
	var args []string
	for _, k := range slices.Sorted(maps.Keys(options)) {
		args = append(args, k+"="+options[k])
	}
	for _, k := range slices.Sorted(maps.Keys(client)) {
		args = append(args, "client."+k+"="+client[k])
	}
	return args
}

// MirrorMaker starts Kafka's own MirrorMaker 2 in dedicated mode with the given
// properties. It runs when this returns, but takes some 15 s before it mirrors
// its first record. Stop removes its files.
func MirrorMaker(ctx context.Context, props map[string]string) (*Process, error) {
	return mirrorMaker(ctx, props, jvmArgs{heapMB: 1024})
}

// MirrorMakerHeap is MirrorMaker with a maximum heap and a JVM that optimises as
// in production, for benchmarks: at a load that fills the machine it needs more
// than a test does.
func MirrorMakerHeap(ctx context.Context, props map[string]string, heapMB int) (*Process, error) {
	return mirrorMaker(ctx, props, jvmArgs{heapMB: heapMB, fullJIT: true})
}

func mirrorMaker(ctx context.Context, props map[string]string, jvm jvmArgs) (*Process, error) {
	libs, err := Libs(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-mm2-")
	if err != nil {
		return nil, fmt.Errorf("create MirrorMaker directory: %w", err)
	}
	file := filepath.Join(dir, "mm2.properties")
	if err := errors.Join(writeProps(file, props), writeLogging(dir)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	jvm.libs, jvm.logging = libs, dir
	p, err := start(command{
		name: "MirrorMaker 2",
		argv: jvm.argv("org.apache.kafka.connect.mirror.MirrorMaker", file),
		dir:  dir,
		log:  filepath.Join(dir, "mm2.log"),
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.drop = []string{dir}
	return p, nil
}

// Formatter class names for ConsoleFormatter.
const (
	CheckpointFormatter = "org.apache.kafka.connect.mirror.formatters.CheckpointFormatter"
	OffsetSyncFormatter = "org.apache.kafka.connect.mirror.formatters.OffsetSyncFormatter"
	HeartbeatFormatter  = "org.apache.kafka.connect.mirror.formatters.HeartbeatFormatter"
)

// ConsoleFormatter prints all records that a topic holds now through Kafka's
// console consumer and one of its formatters, and returns the lines. It is for
// clusters without security.
func ConsoleFormatter(ctx context.Context, bootstrap, topic, formatterClass string) ([]string, error) {
	cl, err := kgo.NewClient(clientOpts(strings.Split(bootstrap, ","))...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	// The console consumer ends after a number of records, or after a time
	// without any, which would be slow and a guess.
	recs, err := Read(ctx, cl, topic, ReadUncommitted)
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	libs, err := Libs(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-console-")
	if err != nil {
		return nil, fmt.Errorf("create console directory: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := writeLogging(dir); err != nil {
		return nil, err
	}
	jvm := jvmArgs{libs: libs, logging: dir, heapMB: 256}
	out, err := runCommand(ctx, jvm.argv("org.apache.kafka.tools.consumer.ConsoleConsumer",
		"--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning",
		"--max-messages", strconv.Itoa(len(recs)), "--formatter", formatterClass), dir)
	if err != nil {
		return nil, fmt.Errorf("console consumer of %s: %w", topic, err)
	}
	return strings.Split(strings.TrimRight(out, "\n"), "\n"), nil
}

// tools are Kafka's own command line tools, by the names under which its distribution has them.
func tools() map[string]string {
	return map[string]string{
		"kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"kafka-transactions.sh":    "org.apache.kafka.tools.TransactionsCommand",
	}
}

// RunPrinted runs a line as a person would who copies it into a shell in which Kafka's tools are on the path, and returns what
// it prints.
func RunPrinted(ctx context.Context, line string) (string, error) {
	libs, err := Libs(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "tidemark-tools-")
	if err != nil {
		return "", fmt.Errorf("create directory of tools: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := writeLogging(dir); err != nil {
		return "", err
	}
	jvm := jvmArgs{libs: libs, logging: dir, heapMB: 256}
	for name, class := range tools() {
		words := jvm.argv(class)
		for i, w := range words {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		script := "#!/bin/sh\nexec " + strings.Join(words, " ") + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
			return "", fmt.Errorf("write %s: %w", name, err)
		}
	}
	return runCommand(ctx, []string{"env", "PATH=" + dir + ":" + os.Getenv("PATH"), "bash", "-c", line}, dir)
}
