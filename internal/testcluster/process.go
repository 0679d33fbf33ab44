//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is one child process: a broker, a MirrorMaker 2. It ends when it is
// told to, by its process id only, and at the latest together with the test
// binary (on Linux by the parent death signal, also when the binary is killed).
// Its methods may be called from several goroutines.
type Process struct {
	name string
	log  string // path of the file that holds stdout and stderr
	proc *os.Process
	done chan struct{} // closed once the process was waited for
	err  error         // how it ended; read only after done
	drop []string      // directories that Stop removes
}

// command describes a process to start.
type command struct {
	name string   // for messages
	argv []string // program and arguments
	dir  string   // working directory
	env  []string // added to the environment
	log  string   // stdout and stderr are appended to this file
}

// Start starts a program of a test's own, such as a mirror. name is for
// messages, env is added to the environment, and stdout and stderr are appended
// to the file log.
func Start(name string, argv, env []string, log string) (*Process, error) {
	return start(command{name: name, argv: argv, env: env, log: log})
}

// start starts c. Nothing ties the process to a context: a broker outlives the
// call that started it, and ends by Stop or Kill.
func start(c command) (*Process, error) {
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", c.name, err)
	}
	defer out.Close() // the child has its own descriptor
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, out, out
	cmd.Env = append(os.Environ(), c.env...)
	cmd.SysProcAttr = childAttributes()

	p := &Process{name: c.name, log: c.log, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the parent death signal when the *thread* that
		// forked ends, not the process. A goroutine that was not locked to
		// its thread could leave it to the runtime, which ends idle locked
		// threads and with them the broker. So the thread is kept for exactly
		// as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.proc = cmd.Process
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.proc.Pid }

// Done is closed when the process has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err tells how the process ended: nil for exit status 0, an error that names
// the signal or status otherwise. While it runs, Err is nil.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	return p.err
}

// Signal sends sig. A process that has ended already is an error.
func (p *Process) Signal(sig syscall.Signal) error {
	if !p.Running() {
		return fmt.Errorf("signal %s: %w", p.name, os.ErrProcessDone)
	}
	// os.Process and not syscall.Kill: it cannot hit a stranger that was given
	// the number after our child was reaped.
	if err := p.proc.Signal(sig); err != nil {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

// Kill ends the process with SIGKILL, as a crash would, and waits for it. A
// process that has ended already is left alone.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil && p.Running() {
		return err
	}
	<-p.done
	return nil
}

// Stop ends the process with SIGTERM, after grace with SIGKILL, waits for it and
// removes what was made for it. It may be called more than once.
func (p *Process) Stop(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if p.Running() {
		// A frozen process would sleep through a SIGTERM.
		err := errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT))
		if err != nil && p.Running() {
			return err
		}
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if err := p.Kill(); err != nil {
			return err
		}
	}
	var errs []error
	for _, dir := range p.drop {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// LogTail returns the last lines of what the process wrote, for the message of
// a failed test. It never fails: what cannot be read is said instead.
func (p *Process) LogTail(lines int) string { return tailFile(p.log, lines) }

// tailFile returns the last lines among the last 64 KiB of a file.
func tailFile(path string, lines int) string {
	const window = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > window {
		if _, err := f.Seek(-window, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return lastLines(text, lines)
}
