//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// showOn gives the signals that ask a worker what it is doing: SIGUSR1.
func showOn() (asked <-chan os.Signal, end func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c, func() { signal.Stop(c) }
}
