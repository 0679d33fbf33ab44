//go:build !failpoints || !unix

package failpoint

import "time"

// Hit says that the process has come to a point.
func Hit(string) {}

// Skew is how far the wall clock is to be wrong.
func Skew() time.Duration { return 0 }

// Watch has the process answer SIGUSR1 until the returned func is called.
func Watch() (stop func()) { return func() {} }
