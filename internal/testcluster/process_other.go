//go:build unix && !linux

package testcluster

import "syscall"

// childAttributes keeps a child in the process group of the test binary: these
// systems have no parent death signal, so Ctrl-C has to reach the brokers.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// standsStill takes a process for stopped once it was told to: these systems do not say it of its threads.
func standsStill(int) (bool, error) { return true, nil }
