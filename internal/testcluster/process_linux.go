package testcluster

import "syscall"

// childAttributes puts a child into its own process group, so that Ctrl-C in a
// terminal reaches the test binary and not the brokers behind its back, and
// has the kernel kill it when the test binary dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
