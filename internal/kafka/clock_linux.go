//go:build linux

package kafka

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boottime is the time since boot by CLOCK_BOOTTIME, which goes on while the
// machine is suspended. Leases are aged by it: Go's monotonic clock stands
// still during a suspend, so a lane that slept past its session would still
// believe in its lease.
func Boottime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Linux has had this clock since 2.6.39; a lease without a clock is
		// not a lease.
		panic("read CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
