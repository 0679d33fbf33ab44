package testcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// childAttributes puts a child into its own process group, so that Ctrl-C in a
// terminal reaches the test binary and not the brokers behind its back, and
// has the kernel kill it when the test binary dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// standsStill says whether every thread of a process is stopped (proc_pid_stat(5), field 3). SIGSTOP is sent and not
// waited for, and each thread stops by itself.
func standsStill(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name before the state stands in parentheses and may hold any byte.
		if at := bytes.LastIndexByte(stat, ')'); at < 0 || len(stat) < at+3 || stat[at+2] != 'T' {
			return false, nil
		}
	}
	return len(threads) > 0, nil
}
