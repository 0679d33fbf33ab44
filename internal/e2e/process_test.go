package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the tidemark that tests start as processes of their own; it is built once.
var binary = sync.OnceValues(func() (string, error) { return build() })

// failing is the tidemark that dies at a failpoint; it is built once.
var failing = sync.OnceValues(func() (string, error) { return build("-tags", "failpoints") })

func build(args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "tidemark-e2e")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tidemark")
	cmd := exec.Command("go", append(append([]string{"build"}, args...), "-o", path, "tidemark/cmd/tidemark")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tidemark: %w: %s", err, out)
	}
	return path, nil
}

// worker is a tidemark process.
type worker struct {
	tb   testing.TB
	cmd  *exec.Cmd
	done chan struct{}
	err  error

	mu  sync.Mutex
	log bytes.Buffer
}

func (w *worker) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *worker) output() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// process starts `tidemark run` on the flow's file.
func (f *flow) process(args ...string) *worker {
	f.tb.Helper()
	path := f.binary
	if path == "" {
		var err error
		if path, err = binary(); err != nil {
			f.tb.Fatal(err)
		}
	}
	return f.worker(path, nil, args...)
}

// worker starts a build of tidemark on the flow's file, with more in its environment.
func (f *flow) worker(path string, env []string, args ...string) *worker {
	f.tb.Helper()
	file := filepath.Join(f.tb.TempDir(), cmp.Or(f.file, "flow.yaml"))
	if err := os.WriteFile(file, []byte(f.yaml), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	w := &worker{tb: f.tb, done: make(chan struct{})}
	w.cmd = exec.Command(path, append([]string{"run", file}, args...)...)
	w.cmd.Env = append(os.Environ(), env...)
	w.cmd.Stderr, w.cmd.Stdout = w, w
	if err := w.cmd.Start(); err != nil {
		f.tb.Fatal(err)
	}
	go func() {
		w.err = w.cmd.Wait()
		close(w.done)
	}()
	f.tb.Cleanup(func() {
		_ = w.end(syscall.SIGKILL, 10*time.Second)
		if f.tb.Failed() {
			f.tb.Logf("worker %d said:\n%s", w.cmd.Process.Pid, w.output())
		}
	})
	return w
}

// end sends a signal and waits for the process; it gives the exit error.
func (w *worker) end(sig syscall.Signal, within time.Duration) error {
	select {
	case <-w.done:
		return w.err
	default:
	}
	_ = w.cmd.Process.Signal(sig)
	select {
	case <-w.done:
		return w.err
	case <-time.After(within):
		return fmt.Errorf("the process does not end %v after %v", within, sig)
	}
}
