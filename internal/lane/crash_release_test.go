package lane

import (
	"slices"
	"testing"
)

// TestCrashReleaseInDoubt: requests that are held up land after the lane was released and the next owner, which trusts the
// word "released", has looked at the target. So the word must not be said while any can be under way: not of a partition
// that is stopped in doubt, nor of one that could not be fenced and so is still the former owner's.
func TestCrashReleaseInDoubt(t *testing.T) {
	for _, shape := range crashShapes() {
		for name, history := range map[string]func(crashShape, int, bool) (*crashWorld, bool){"stopped": crashStopped, "unfenced": crashUnfenced} {
			t.Run(name+", "+shape.name, func(t *testing.T) {
				t.Parallel()
				held := 0
				for k, more := 0, true; more; k++ {
					var w *crashWorld
					if w, more = history(shape, k, false); w.failure != "" {
						w, _ = history(shape, k, true)
						t.Fatalf("step %d: %s\n%s", k, w.failure, w.tell())
					}
					held += w.heldUp
				}
				if held == 0 {
					t.Error("nothing was held up")
				}
			})
		}
	}
}

// holdUp has no answer come for what is on its way to the targets, which is still to land.
func (r *crashRun) holdUp() {
	r.w.wire = slices.DeleteFunc(r.w.wire, func(q *crashRequest) bool {
		if q.log == r.w.ledger {
			return false
		}
		r.w.heldUp++
		r.w.limbo = append(r.w.limbo, q)
		q.answer(Result{Answer: InDoubt, Reason: "connection lost"})
		return true
	})
}

// crashStopped: A's requests are held up at its step k, its partitions are stopped, and it is told to end.
func crashStopped(shape crashShape, k int, told bool) (w *crashWorld, more bool) {
	r := newCrashRun(shape, 1, 0)
	r.w.told = told
	a := r.w.start("A", false)
	if r.until(a, k) < k {
		return r.w, false
	}
	r.holdUp()
	a.post(func() {
		for _, p := range a.parts {
			a.step(p, Stop{Reason: "somebody says so"})
		}
		a.drain()
	})
	r.until(a, 60)
	r.last(a, r.w.start("B", true))
	return r.w, true
}

// crashUnfenced: A dies at its step k, and its requests are held up. B cannot fence a partition, and is told to end before it
// can be mirrored.
func crashUnfenced(shape crashShape, k int, told bool) (w *crashWorld, more bool) {
	r := newCrashRun(shape, 1, 0)
	r.w.told = told
	a := r.w.start("A", false)
	if r.until(a, k) < k {
		return r.w, false
	}
	r.holdUp()
	a.die()
	r.w.leaderless, r.w.notYet = 1, true
	b := r.w.start("B", true)
	b.post(b.drain)
	r.until(b, 60)
	r.w.leaderless, r.w.notYet = 40, false
	r.last(b, r.w.start("C", true))
	return r.w, true
}

// last lets what is held up land once the last owner is about to write, and asks the oracle at the end.
func (r *crashRun) last(before, o *crashOwner) {
	if !before.ended {
		before.die()
	}
	for i := 0; i < 200 && !o.ended && r.w.failure == "" && (len(o.parts) == 0 || !o.parts[0].core.Is(Live)); i++ {
		r.step(o, i)
	}
	r.settle(true)
	r.finish(o)
}
