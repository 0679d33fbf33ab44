package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// former is the binary of the revision in -chaos.former, built once. It has no failpoints where they are younger.
var former = sync.OnceValues(func() (string, error) {
	if *formerFlag == "" {
		return "", errors.New("the faults upgrade and mixed need -chaos.former=REV, the revision whose binary is replaced")
	}
	return testcluster.BuildRevision(*formerFlag, bin, "-tags", "failpoints")
})

// fromFormer are the kinds of faults whose worlds begin with the former binary.
func fromFormer() []string { return []string{"upgrade", "mixed"} }

// binary is what a worker's next process is.
func (w *worker) binary() (string, error) {
	if w.former {
		return former()
	}
	return binary()
}

// beginFormer has all workers begin with the former binary where a schedule has to do with it.
func (x *world) beginFormer(steps []planned) {
	old := slices.ContainsFunc(steps, func(p planned) bool {
		switch p.step.(type) {
		case upgrade, mixed:
			return true
		}
		return false
	})
	for _, w := range x.workers {
		w.former = old
	}
}

// awake waits until a worker's process has said something: SIGTERM would end one that has only just been started before it
// listens to signals.
func (w *worker) awake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	return testcluster.Await(ctx, fmt.Sprintf("a word of worker %d", w.n), func(context.Context) (bool, string, error) {
		said := w.output()
		return strings.Contains(said[strings.LastIndex(said, "\n=== start ")+1:], "level=INFO"), "", nil
	})
}

// swap gives a worker the other binary, by a restart in order or by SIGKILL.
func (x *world) swap(ctx context.Context, w *worker, kill bool) error {
	to, end := "the former", x.term
	if w.former {
		to = "the new"
	}
	if kill {
		end = x.kill
	}
	if err := w.awake(ctx); err != nil {
		return err
	}
	if err := end(w); err != nil {
		return fmt.Errorf("end worker %d for %s binary: %w", w.n, to, err)
	}
	w.former = !w.former
	x.count("worker gets " + to + " binary")
	x.tell("worker %d gets %s binary (SIGKILL: %t)", w.n, to, kill)
	return x.start(w)
}

// upgrade gives every worker the new binary that does not have it yet, one after the other, with three of them. Where all
// have it, an upgrade before is taken back first, as it would be for a version that disappoints.
type upgrade struct {
	kills [places]bool
	pause time.Duration
}

func (s upgrade) String() string {
	return fmt.Sprintf("upgrade of all workers, by SIGKILL: %v, with pauses of %v", s.kills, s.pause)
}

func (s upgrade) Do(ctx context.Context, x *world) error {
	for _, w := range x.workers {
		if !w.running() {
			if err := x.start(w); err != nil {
				return err
			}
		}
	}
	if !slices.ContainsFunc(x.workers, func(w *worker) bool { return w.former }) {
		x.tell("all workers get the former binary again")
		if err := x.swapAll(ctx, upgrade{}, false); err != nil {
			return err
		}
	}
	return x.swapAll(ctx, s, true)
}

// swapAll gives the other binary to those workers that have the former one, or to those that have the new one.
func (x *world) swapAll(ctx context.Context, s upgrade, former bool) error {
	for _, w := range x.workers {
		if w.former != former || w.frozen {
			continue
		}
		if err := x.grows(ctx, 300); err != nil {
			return err
		}
		pause.For(ctx, s.pause)
		if err := x.swap(ctx, w, s.kills[w.n]); err != nil {
			return err
		}
	}
	return nil
}

// mixed gives one worker the other binary, the new one or the former, and has a lane move there and back beside another
// worker.
type mixed struct {
	place int
	kill  bool
	last  time.Duration
}

func (s mixed) String() string {
	return fmt.Sprintf("mixed: worker %d gets the other binary (SIGKILL: %t), another one comes and goes after %v", s.place, s.kill, s.last)
}

func (s mixed) Do(ctx context.Context, x *world) error {
	if err := (more{}).Do(ctx, x); err != nil {
		return err
	}
	w, err := x.one(s.place)
	if err != nil {
		return err
	}
	if err := x.swap(ctx, w, s.kill); err != nil {
		return err
	}
	if err := x.grows(ctx, 200); err != nil {
		return err
	}
	pause.For(ctx, s.last)
	other, err := x.one(s.place + 1)
	if err != nil {
		return err
	}
	if err := errors.Join(other.awake(ctx), x.term(other)); err != nil {
		return fmt.Errorf("worker %d after SIGTERM: %w", other.n, err)
	}
	// A static member's lanes go to the others only when its session is over.
	pause.For(ctx, s.last)
	if err := x.grows(ctx, 200); err != nil {
		return err
	}
	return x.start(other)
}

// endFormer ends an upgrade that a schedule has left half done: what is judged is the new binary.
func (x *world) endFormer(ctx context.Context) error {
	for _, w := range x.workers {
		if !w.former {
			continue
		}
		if !w.running() {
			w.former = false
			continue
		}
		if err := x.swap(ctx, w, false); err != nil {
			return err
		}
		if err := x.grows(ctx, 100); err != nil {
			return err
		}
	}
	return nil
}
