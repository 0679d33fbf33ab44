//go:build unix

package failpoint

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOff: in a normal build no environment makes a process fail.
func TestOff(t *testing.T) {
	t.Setenv("TIDEMARK_FAILPOINTS", "here=1")
	t.Setenv("TIDEMARK_CLOCK", "-1h")
	Hit("here")
	if d := Skew(); d != 0 {
		t.Errorf("the clock is wrong by %v in a build without failpoints", d)
	}
	Watch()()
}

const child = `package main

import (
	"fmt"

	"tidemark/internal/failpoint"
)

func main() {
	defer failpoint.Watch()()
	fmt.Println("skew", failpoint.Skew())
	for i := 1; ; i++ {
		if _, err := fmt.Scanln(new(string)); err != nil {
			return
		}
		failpoint.Hit("other")
		failpoint.Hit("here")
		fmt.Println("passed", i)
	}
}
`

// TestOn: a build with the tag ends or stops where its environment says, and answers SIGUSR1.
func TestOn(t *testing.T) {
	dir, err := os.MkdirTemp(".", ".child-") //nolint:usetesting // inside the module, so that it may import the package; dotted, so that nobody else looks in
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(child), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "child")
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", path, "./"+dir).CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	for _, how := range []string{"", ":stop"} {
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), "TIDEMARK_FAILPOINTS=never=1,here=3"+how, "TIDEMARK_CLOCK=-90s")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, words := bufio.NewScanner(out), bufio.NewScanner(said)
		expect(t, lines, "skew -1m30s")
		for i := range 2 {
			next(t, in)
			expect(t, lines, []string{"passed 1", "passed 2"}[i])
		}
		if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		expect(t, words, "failpoint: goroutines=")
		expect(t, words, "failpoint: end of report")
		next(t, in)
		if how == ":stop" {
			expect(t, words, "failpoint: here: stopped")
			var ws syscall.WaitStatus
			if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
				t.Errorf("the process is not stopped: %v, %v", ws, err)
			}
			_ = cmd.Process.Signal(syscall.SIGCONT)
			expect(t, lines, "passed 3")
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("after SIGCONT: %v", err)
			}
			continue
		}
		expect(t, words, "failpoint: here: killed")
		if lines.Scan() {
			t.Errorf("the process ran on: %q", lines.Text())
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("the process ended with %v, not by SIGKILL", err)
		}
	}
}

func next(t *testing.T, in io.Writer) {
	t.Helper()
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

// expect reads on to a line that begins with a text.
func expect(t *testing.T, s *bufio.Scanner, text string) {
	t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { panic("no line " + text) })
	defer timer.Stop()
	for s.Scan() {
		if strings.HasPrefix(s.Text(), text) {
			return
		}
	}
	t.Fatalf("no line %q", text)
}
