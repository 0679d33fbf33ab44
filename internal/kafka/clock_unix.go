//go:build unix && !linux

package kafka

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boottime is a monotonic time. Only Linux is sure to count suspension in it
// (CLOCK_BOOTTIME); macOS counts it in CLOCK_MONOTONIC, the BSDs may not.
func Boottime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("read CLOCK_MONOTONIC: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
