package chaos

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"tidemark/internal/pause"
)

// kill ends an owner that is producing, and starts it again.
type kill struct {
	place int
	after time.Duration
}

func (s kill) String() string {
	return fmt.Sprintf("kill worker %d, start it after %v", s.place, s.after)
}

func (s kill) Do(ctx context.Context, x *world) error {
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if err := x.kill(w); err != nil {
		return err
	}
	pause.For(ctx, s.after)
	return x.start(w)
}

// atPoint ends an owner at a named point.
type atPoint struct {
	place int
	point string
	nth   int
}

func (s atPoint) String() string {
	return fmt.Sprintf("kill-at %s number %d, worker %d", s.point, s.nth, s.place)
}

func (s atPoint) Do(ctx context.Context, x *world) error {
	_, err := x.dieAt(ctx, s)
	return err
}

// pointWait is how long a process may take to come to a point before it is killed where it is.
const pointWait = 20 * time.Second

// dieAt starts a worker with a failpoint, waits for its end, and starts it again without. It says whether it came to the
// point.
func (x *world) dieAt(ctx context.Context, s atPoint) (reached bool, err error) {
	w, err := x.one(s.place)
	if err != nil {
		return false, err
	}
	if err := x.kill(w); err != nil {
		return false, err
	}
	if err := x.start(w, fmt.Sprintf("TIDEMARK_FAILPOINTS=%s=%d", s.point, s.nth)); err != nil {
		return false, err
	}
	w.meant = false
	timer := time.NewTimer(pointWait)
	defer timer.Stop()
	select {
	case <-w.proc.Done():
		reached = true
		x.count("SIGKILL at " + s.point)
		x.tell("killed at %s number %d", s.point, s.nth)
	case <-timer.C:
		x.tell("worker %d did not come to %s number %d, killed where it was", w.n, s.point, s.nth)
		if err := x.kill(w); err != nil {
			return false, err
		}
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return reached, x.start(w)
}

// zombie freezes an owner, for longer than its session or shorter, and lets it run on: with another one beside it.
type zombie struct {
	place int
	last  time.Duration
}

func (s zombie) String() string { return fmt.Sprintf("zombie worker %d for %v", s.place, s.last) }

func (s zombie) Do(ctx context.Context, x *world) error {
	if err := (more{}).Do(ctx, x); err != nil {
		return err
	}
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if err := x.freeze(w); err != nil {
		return err
	}
	pause.For(ctx, s.last)
	return x.cont(w)
}

func (x *world) freeze(w *worker) error {
	w.frozen = true
	x.count("zombie")
	return w.proc.Signal(syscall.SIGSTOP)
}

func (x *world) cont(w *worker) error {
	if !w.frozen {
		return nil
	}
	w.frozen = false
	if !w.running() {
		return nil
	}
	return w.proc.Signal(syscall.SIGCONT)
}

// stopPoint freezes an owner at a named point while another one takes over, and lets it run on.
type stopPoint struct {
	place int
	point string
	nth   int
	last  time.Duration
}

func (s stopPoint) String() string {
	return fmt.Sprintf("zombie-at %s number %d for %v, worker %d", s.point, s.nth, s.last, s.place)
}

func (s stopPoint) Do(ctx context.Context, x *world) error {
	if err := (more{}).Do(ctx, x); err != nil {
		return err
	}
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if err := x.kill(w); err != nil {
		return err
	}
	if err := x.start(w, fmt.Sprintf("TIDEMARK_FAILPOINTS=%s=%d:stop", s.point, s.nth)); err != nil {
		return err
	}
	pause.For(ctx, s.last) // it has come to the point soon, or never
	said := w.output()
	last := said[strings.LastIndex(said, "\n=== start ")+1:]
	if !strings.Contains(last, "failpoint: "+s.point) {
		x.tell("worker %d did not come to %s", w.n, s.point)
		if err := x.kill(w); err != nil { // it would freeze at some time later, for good
			return err
		}
		return x.start(w)
	}
	x.tell("worker %d froze at %s", w.n, s.point)
	x.count("zombie at a point")
	w.frozen = true
	return x.cont(w)
}

// clean restarts a worker in order.
type clean struct{ place int }

func (s clean) String() string { return fmt.Sprintf("clean restart of worker %d", s.place) }

func (s clean) Do(_ context.Context, x *world) error {
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if err := x.term(w); err != nil {
		return fmt.Errorf("worker %d after SIGTERM: %w", w.n, err)
	}
	return x.start(w)
}

// rolling restarts every worker in order, one after the other.
type rolling struct{}

func (rolling) String() string { return "rolling restart" }

func (rolling) Do(ctx context.Context, x *world) error {
	for _, w := range x.up() {
		if err := x.grows(ctx, 100); err != nil {
			return err
		}
		if err := (clean{w.n}).Do(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// more makes two workers at least, one more where there are two already.
type more struct{}

func (more) String() string { return "more workers" }

func (more) Do(_ context.Context, x *world) error {
	for _, w := range x.workers {
		if !w.running() {
			if err := x.start(w); err != nil {
				return err
			}
			if len(x.up()) > 1 {
				return nil
			}
		}
	}
	return nil
}

// fewer ends a worker for good, in order or by SIGKILL, unless it is the last.
type fewer struct {
	place int
	clean bool
}

func (s fewer) String() string {
	return fmt.Sprintf("fewer workers, worker %d leaves (in order: %t)", s.place, s.clean)
}

func (s fewer) Do(_ context.Context, x *world) error {
	if len(x.up()) < 2 {
		return nil
	}
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if !s.clean {
		return x.kill(w)
	}
	return x.term(w)
}

// twin starts a second copy of a worker by mistake: the same file and the same instance id.
type twin struct {
	place int
	last  time.Duration
}

func (s twin) String() string { return fmt.Sprintf("twin of worker %d for %v", s.place, s.last) }

func (s twin) Do(ctx context.Context, x *world) error {
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	copied := &worker{n: w.n, log: w.log}
	x.count("twin")
	if err := x.start(copied); err != nil {
		return err
	}
	pause.For(ctx, s.last)
	return x.kill(copied)
}

// clock runs a worker with a wrong wall clock for a while.
type clock struct {
	place int
	by    time.Duration
	last  time.Duration
}

func (s clock) String() string {
	return fmt.Sprintf("clock of worker %d wrong by %v for %v", s.place, s.by, s.last)
}

func (s clock) Do(ctx context.Context, x *world) error {
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if err := x.kill(w); err != nil {
		return err
	}
	if err := x.start(w, "TIDEMARK_CLOCK="+s.by.String()); err != nil {
		return err
	}
	pause.For(ctx, s.last)
	if err := x.kill(w); err != nil {
		return err
	}
	return x.start(w)
}
