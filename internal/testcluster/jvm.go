//go:build unix

package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// jvmArgs builds a java command line.
type jvmArgs struct {
	libs    string
	logging string // directory with the log4j 2 configuration
	heapMB  int
	fullJIT bool

	classPath []string          // instead of the jars in libs
	props     map[string]string // system properties
}

func (j jvmArgs) argv(main string, args ...string) []string {
	argv := []string{"java", "-Xshare:auto", "-XX:-UsePerfData", "-Xms64m", "-Xmx" + strconv.Itoa(j.heapMB) + "m"}
	if !j.fullJIT {
		// The serial collector fits the few hundred MB and two cores of a test.
		argv = append(argv, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
	}
	classPath := j.classPath
	if classPath == nil {
		classPath = []string{filepath.Join(j.libs, "*")}
	}
	for _, k := range slices.Sorted(maps.Keys(j.props)) {
		argv = append(argv, "-D"+k+"="+j.props[k])
	}
	argv = append(argv,
		"-Dlog4j2.configurationFile="+filepath.Join(j.logging, loggingFile),
		"-cp", strings.Join(classPath, ":"), main)
	return append(argv, args...)
}

// runCommand runs argv to its end and returns its stdout. The error holds the
// last lines of stderr. Where dir is empty it runs in the current directory.
func runCommand(ctx context.Context, argv []string, dir string) (string, error) {
	return runCommandInput(ctx, argv, dir, nil)
}

func runCommandInput(ctx context.Context, argv []string, dir string, input io.Reader) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, input, &out, &errs
	// After ctx ends, do not wait for grandchildren that keep the pipes open.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run %s: %w\n%s\n%s", argv[0], err, lastLines(out.Bytes(), 10), lastLines(errs.Bytes(), 30))
	}
	return out.String(), nil
}

// dialOnce tells whether something listens on addr.
func dialOnce(ctx context.Context, addr string) error {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
}
