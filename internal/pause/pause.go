// Package pause is the time that somebody waits before trying or looking again. It is here and not in each of its users,
// because a wait that does not end with its context keeps a whole process from ending; time.Sleep is forbidden for that
// reason.
package pause

import (
	"context"
	"time"
)

// For waits for d and says whether it has passed; false, at once, where ctx ends first or has ended. Whoever needs the
// reason takes ctx.Err or context.Cause.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
