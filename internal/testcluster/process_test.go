//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test binary, run again by a test, start a process and
// wait to be killed. Its value is a directory.
const childVariable = "TIDEMARK_TESTCLUSTER_CHILD"

func childMain(dir string) int {
	p, err := start(command{name: "sleep", argv: []string{"sleep", "600"}, log: filepath.Join(dir, "sleep.log")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	pid := strconv.Itoa(p.PID())
	if err := os.WriteFile(filepath.Join(dir, "pid.tmp"), []byte(pid), 0o600); err != nil {
		return 1
	}
	if err := os.Rename(filepath.Join(dir, "pid.tmp"), filepath.Join(dir, "pid")); err != nil {
		return 1
	}
	<-p.Done()
	return 0
}

func TestProcessDiesWithTheTestBinary(t *testing.T) {
	ctx := within(t)
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	must(t, child.Start())
	var pid int
	err := Await(ctx, "the process of the child", func(context.Context) (bool, string, error) {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if errors.Is(err, os.ErrNotExist) {
			return false, "", nil
		}
		if err == nil {
			pid, err = strconv.Atoi(string(text))
		}
		return err == nil, "", err
	})
	must(t, err)
	must(t, child.Process.Kill())
	if err := child.Wait(); err == nil {
		t.Fatal("killed child ended without an error")
	}
	must(t, Await(ctx, "the end of the grandchild", func(context.Context) (bool, string, error) {
		return !alive(pid), fmt.Sprintf("pid %d is alive", pid), nil
	}))
}

// alive is false for zombies too: in a container nobody may reap an orphan.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !errors.Is(err, os.ErrNotExist)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

func TestProcessStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	dir := t.TempDir()
	drop := filepath.Join(dir, "drop")
	must(t, os.Mkdir(drop, 0o700))
	p, err := start(command{
		name: "stubborn",
		argv: []string{"sh", "-c", `trap "" TERM; echo ready; while :; do sleep 0.1; done`},
		log:  filepath.Join(dir, "log"),
	})
	must(t, err)
	p.drop = []string{drop}
	must(t, Await(within(t), "its trap", func(context.Context) (bool, string, error) {
		return p.LogTail(1) == "ready", p.LogTail(1), nil
	}))
	if p.Err() != nil {
		t.Errorf("running process has error %v", p.Err())
	}
	must(t, p.Stop(100*time.Millisecond))
	if p.Running() || !strings.Contains(fmt.Sprint(p.Err()), "killed") {
		t.Errorf("running %v, error %v; want a killed process", p.Running(), p.Err())
	}
	if _, err := os.Stat(drop); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory still there: %v", err)
	}
	must(t, p.Stop(time.Second)) // a second time
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to an ended process: %v", err)
	}
}

func TestStartNamesAMissingProgram(t *testing.T) {
	_, err := start(command{name: "nothing", argv: []string{"/nonexistent/program"}, log: filepath.Join(t.TempDir(), "log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestPortsAreReservedUntilReleased(t *testing.T) {
	p, err := reservePorts(5)
	must(t, err)
	for _, port := range p.numbers {
		if lock, err := lockPort(port); lock != nil || err != nil {
			t.Errorf("port %d was given out twice (%v)", port, err)
		}
	}
	port := p.numbers[0]
	p.release()
	lock, err := lockPort(port)
	if lock == nil || err != nil {
		t.Fatalf("released port %d is not free: %v", port, err)
	}
	must(t, lock.Close())
	must(t, os.Remove(lock.Name()))
}
