package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tidemark/internal/pause"
)

// Await looks again and again, every 50 ms, until look answers true or fails.
// It is for conditions without an event to wait for, such as a compaction on a
// broker. When ctx ends first the error says what was awaited and, where look
// keeps a reason, the last reason why it was not there yet.
func Await(ctx context.Context, what string, look func(context.Context) (done bool, reason string, err error)) error {
	last := ""
	for {
		done, reason, err := look(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if err == nil && done {
			return nil
		}
		if reason != "" {
			last = reason
		}
		if !pause.For(ctx, 50*time.Millisecond) {
			err := context.Cause(ctx)
			if last != "" {
				return fmt.Errorf("wait for %s: %w; last seen: %s", what, err, last)
			}
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}

// lastLines returns the last n lines of text, for error messages.
func lastLines(text []byte, n int) string {
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}
