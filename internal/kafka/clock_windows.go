//go:build windows

package kafka

import (
	"time"

	"golang.org/x/sys/windows"
)

// Boottime is the time since boot, suspension included (GetTickCount64).
func Boottime() time.Duration { return windows.DurationSinceBoot() }
