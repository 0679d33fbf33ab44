package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/internal/events"
	"tidemark/internal/mirror"
)

// TestUnreleased: a worker that is told to stop while it takes a lane over leaves it as it was, which is no lane of its own that
// was not released. Two workers that stop at once do that to each other.
func TestUnreleased(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ended []error
		want  int
	}{
		{"released", []error{nil}, 0},
		{"not taken over", []error{&mirror.NotTakenError{}}, 0},
		{"ended without release", []error{mirror.ErrUnreleased}, 1},
		{"lost, then not taken over", []error{errors.New("lost"), &mirror.NotTakenError{}}, 1},
		{"lost, then released", []error{errors.New("lost"), nil}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			m := &members{lease: newLease(session), board: newBoard("w"), events: &events.Bus{}, lanes: map[int32]*ownership{}}
			left := c.ended
			m.run = func(context.Context, context.Context, int32) error {
				err := left[0]
				if left = left[1:]; len(left) == 0 {
					stop()
				}
				return err
			}
			ends := make(chan struct{})
			go func() { defer close(ends); m.own(ctx, ctx, 3) }()
			for {
				m.lease.renew(m.lease.clock(), 1, false)
				select {
				case <-ends:
				case <-time.After(time.Millisecond):
					continue
				}
				break
			}
			if n := m.unreleased(); n != c.want {
				t.Errorf("%d lanes are not released, want %d", n, c.want)
			}
		})
	}
}
