package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"tidemark/internal/testcluster"
)

// worker is a place for a process of the mirror: it is started, ended and started again with the same name.
type worker struct {
	n      int
	proc   *testcluster.Process // nil: never started
	meant  bool                 // it is meant to run
	frozen bool
	former bool // its processes are of the former binary
	log    string
	starts int
}

// instance is the static member id of the worker's place.
func (w *worker) instance() string { return fmt.Sprintf("place-%d", w.n) }

func (w *worker) running() bool { return w.proc != nil && w.proc.Running() }

func (w *worker) output() string {
	b, err := os.ReadFile(w.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// mark writes a line of ours into the worker's log.
func (w *worker) mark(line string) error {
	f, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

// start runs a worker's process; env arms failpoints and the like.
func (x *world) start(w *worker, env ...string) error {
	if w.running() {
		return fmt.Errorf("worker %d runs already", w.n)
	}
	path, err := w.binary()
	if err != nil {
		return err
	}
	w.starts++
	if err := w.mark(fmt.Sprintf("\n=== start %d of worker %d at %v %v\n", w.starts, w.n, time.Since(x.began).Round(time.Millisecond), env)); err != nil {
		return err
	}
	argv := []string{path, "run", x.file, "--log-level", "debug"}
	if !x.dynamic {
		argv = append(argv, "--instance-id", w.instance())
	}
	w.proc, err = testcluster.Start(fmt.Sprintf("worker %d", w.n), argv, env, w.log)
	w.meant, w.frozen = err == nil, false
	return err
}

// kill ends a worker by SIGKILL; it is not meant to run any more.
func (x *world) kill(w *worker) error {
	w.meant = false
	if w.proc == nil {
		return nil
	}
	if w.running() {
		x.count("SIGKILL of a worker")
	}
	return w.proc.Kill()
}

// term ends a worker by SIGTERM, and gives how it exited.
func (x *world) term(w *worker) error {
	w.meant = false
	if !w.running() {
		return nil
	}
	if err := w.proc.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-w.proc.Done():
		return w.proc.Err()
	case <-time.After(200 * time.Second):
		_ = w.proc.Signal(syscall.SIGQUIT) // its stacks go to the log
		<-w.proc.Done()
		return errors.New("it does not end after SIGTERM")
	}
}

// supervise starts workers again that ended without being told to, as a service manager would.
func (x *world) supervise() error {
	for _, w := range x.workers {
		if w.meant && !w.running() {
			x.exits++
			x.tell("worker %d ended by itself (%v) and is started again: %s", w.n, w.proc.Err(), w.proc.LogTail(1))
			if err := x.start(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// vital is what a process says about itself at rest.
type vital struct{ goroutines, heap, sys int }

// the pattern of the report's first line.
var vitalLine = regexp.MustCompile(`failpoint: goroutines=(\d+) heap=(\d+) sys=(\d+)\n`)

// vitals asks a worker what lives in it.
func (w *worker) vitals(ctx context.Context) (v vital, err error) {
	had := bytes.Count([]byte(w.output()), []byte("failpoint: end of report"))
	if err := w.proc.Signal(syscall.SIGUSR1); err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Second)
	defer cancel()
	err = testcluster.Await(ctx, fmt.Sprintf("report of worker %d", w.n), func(context.Context) (bool, string, error) {
		out := w.output()
		if bytes.Count([]byte(out), []byte("failpoint: end of report")) == had {
			return false, "", nil
		}
		all := vitalLine.FindAllStringSubmatch(out, -1)
		m := all[len(all)-1]
		for i, to := range []*int{&v.goroutines, &v.heap, &v.sys} {
			if *to, err = strconv.Atoi(m[i+1]); err != nil {
				return false, "", err
			}
		}
		return true, "", nil
	})
	return v, err
}

// tool runs a command of the binary on the flow's file, from outside the proxies, and gives its output and exit code.
func (x *world) tool(ctx context.Context, args ...string) (string, int) {
	path, err := binary()
	if err != nil {
		return err.Error(), -1
	}
	ctx, cancel := context.WithTimeout(ctx, 300*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{args[0], x.outside, "--log-level", "error"}, args[1:]...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// autopsy writes down what a failed world looks like: stacks go to the workers' logs, and what the mirror says about itself
// to the story.
func (x *world) autopsy(ctx context.Context) {
	for _, w := range x.up() {
		actx, cancel := context.WithTimeout(ctx, 50*time.Second)
		v, err := w.vitals(actx)
		cancel()
		x.tell("worker %d: %+v, %v", w.n, v, err)
	}
	for _, command := range []string{"status", "groups"} {
		out, code := x.tool(ctx, command)
		x.tell("%s, exit %d:\n%s", command, code, out)
	}
}

// logFile is where a worker's processes write.
func (x *world) logFile(n int) string { return filepath.Join(x.dir, fmt.Sprintf("worker-%d.log", n)) }
