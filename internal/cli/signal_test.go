//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
)

// worker is `tidemark run` as a process.
type worker struct {
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

// start runs tidemark on a flow between the two clusters: the test binary under the name that TestMain looks for.
func start(t *testing.T, source, target *testcluster.Fake) *worker {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flow.yaml")
	text := fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows:\n  - {from: A, to: B, replication_factor: 1, lanes: 2}\n",
		source.Bootstrap()[0], target.Bootstrap()[0])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{done: make(chan struct{})}
	w.cmd = exec.CommandContext(t.Context(), self, "run", file, "--log-format", "json")
	w.cmd.Args[0] = "tidemark"
	w.cmd.Stdout, w.cmd.Stderr = w, w
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		w.err = w.cmd.Wait()
		close(w.done)
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended unless the test failed
		<-w.done
		if t.Failed() {
			t.Logf("tidemark said:\n%s", w.output())
		}
	})
	return w
}

// says waits until the log holds a text.
func (w *worker) says(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	err := testcluster.Await(ctx, text, func(context.Context) (bool, string, error) {
		return strings.Contains(w.output(), text), "not said yet", nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claimed waits until both lanes are claimed: from then on an end without the word "released" is an unclean one.
func claimed(t *testing.T, target *testcluster.Fake) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	cl := target.Client(t)
	err := testcluster.Await(ctx, "claims in the ledger", func(ctx context.Context) (bool, string, error) {
		ends, err := testcluster.Ends(ctx, cl, ledger.TopicName("A"), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the topic is not there yet
		}
		return ends[0] > 1 && ends[1] > 1, fmt.Sprint(ends), nil // a fence marker alone is one
	})
	if err != nil {
		t.Fatal(err)
	}
}

// exit waits for the end of the process and gives its exit code.
func (w *worker) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(150 * time.Second):
		t.Fatal("the process does not end")
	}
	var exit *exec.ExitError
	if w.err != nil && !errors.As(w.err, &exit) {
		t.Fatal(w.err)
	}
	return w.cmd.ProcessState.ExitCode()
}

func TestSIGTERMReleasesTheLanes(t *testing.T) {
	source, target := testcluster.NewPair(t)
	w := start(t, source, target)
	claimed(t, target)
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(t); code != ExitOK {
		t.Errorf("exit code %d after SIGTERM, want %d", code, ExitOK)
	}
	if !strings.Contains(w.output(), "every lane is released") {
		t.Error("it does not say that the lanes are released")
	}
}

// TestSecondSignalEndsAtOnce keeps the target from answering what a release writes, so that only a second signal can
// end the process.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	source, target := testcluster.NewPair(t)
	w := start(t, source, target)
	claimed(t, target)
	target.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		target.KeepControl()
		return nil, errors.New("no answer"), true
	})
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	w.says(t, "a second signal ends at once")
	// Signals close together count as one, so a person's second one comes a little later.
	later := time.NewTicker(2 * signalsTogether)
	defer later.Stop()
	<-later.C
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(t); code != ExitInterrupted {
		t.Errorf("exit code %d after the second signal, want %d", code, ExitInterrupted)
	}
	if !strings.Contains(w.output(), "interrupted before everything was released") {
		t.Error("it does not say what was left undone")
	}
}

// TestSIGUSR1ShowsWhatTheWorkerDoes: whoever has only the process learns which partitions are mirrored, and goes on.
func TestSIGUSR1ShowsWhatTheWorkerDoes(t *testing.T) {
	source, target := testcluster.NewPair(t)
	if err := testcluster.CreateTopic(t.Context(), source.ClientOpts(), "orders", 3, nil); err != nil {
		t.Fatal(err)
	}
	w := start(t, source, target)
	claimed(t, target)
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	err := testcluster.Await(ctx, "three partitions that are mirrored", func(context.Context) (bool, string, error) {
		if err := w.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			return false, "", err
		}
		return strings.Contains(w.output(), "flow A->B, this worker: 2 of 2 lanes, 3 partitions mirrored, 0 with records on their way"), w.output(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(t); code != ExitOK {
		t.Errorf("exit code %d after SIGTERM, want %d", code, ExitOK)
	}
}
