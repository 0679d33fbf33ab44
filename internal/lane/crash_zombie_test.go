package lane

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/offsetmap"
)

// crashPast is what went before: nothing, a clean release, or a clean release so long ago that the identity expired.
type crashPast uint8

const (
	crashNew crashPast = iota
	crashReleased
	crashForgotten
)

// TestCrashBesideAZombie suspends the lane in front of every step instead of killing it. Its successor (a static member,
// which gets the lane at once) comes as far as every step of its own; then brokers check for old producers and cleaners
// run, and the former owner goes on in its old epoch, its lease still valid, until it is refused, gives up or has had its
// time.
func TestCrashBesideAZombie(t *testing.T) {
	stride := 3
	if crashScale(t) > 1 {
		stride = 1
	}
	for _, shape := range crashShapes() {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			for past := range crashForgotten + 1 {
				for k, more := 0, true; more; k++ {
					for j := k % stride; ; j += stride {
						runs++
						w, suspended, left := crashZombie(shape, past, k, j, false)
						if w.failure != "" {
							w, _, _ = crashZombie(shape, past, k, j, true)
							t.Fatalf("past %d, A stands still at step %d, B gets to %d: %s\n%s", past, k, j, w.failure, w.tell())
						}
						if more = suspended; !left {
							break
						}
					}
				}
			}
			t.Logf("%d histories", runs)
		})
	}
}

// crashZombie is one history of it. suspended says that A had not ended by its step k, left that B had not by its step j.
func crashZombie(shape crashShape, past crashPast, k, j int, told bool) (w *crashWorld, suspended, left bool) {
	r := newCrashRun(shape, 1, 1)
	w = r.w
	w.told = told
	if past != crashNew {
		r.until(w.start("the one before", false), crashForever)
		shape.fill(w.pairs[0].source, w.now)
		w.coord.known = past != crashForgotten
	}
	a := w.start("A", true)
	r.until(a, k)
	suspended = !a.ended
	b := w.start("B", true)
	left = r.until(b, j) == j && !b.ended
	if shape.between != nil {
		shape.between(w)
	}
	r.until(a, 120)
	r.die(a)
	if r.until(b, crashForever); !b.released { // A took the identity after B
		b = w.start("C", false)
	}
	r.finish(b)
	return w, suspended, left
}

// TestJudge pins the ways to take a lane over.
func TestJudge(t *testing.T) {
	released := func(pid int64, epoch int16) *Former {
		return &Former{Identity: Identity{pid, epoch}, Released: true}
	}
	for _, c := range []struct {
		what   string
		former *Former
		now    Identity
		want   Handover
	}{
		{"nobody claimed it", nil, Identity{1, 7}, First},
		{"released, and we are next", released(1, 4), Identity{1, 5}, Clean},
		{"released, and somebody else was next", released(1, 4), Identity{1, 6}, Crashed},
		{"not released", &Former{Identity: Identity{1, 4}}, Identity{1, 5}, Crashed},
		{"released, expired since, and we are the first of the new identity", released(1, 4), Identity{2, 0}, Clean},
		// Found by TestCrashRandomHistories: the one before us judged that it is a clean hand-over, and writes.
		{"released, expired since, and somebody had the new identity before us", released(1, 4), Identity{2, 1}, Crashed},
		{"expired without release", &Former{Identity: Identity{1, 4}}, Identity{2, 0}, Expired},
		{"expired without release, and somebody had the new identity before us", &Former{Identity: Identity{1, 4}}, Identity{2, 3}, Expired},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := Judge(c.former, c.now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestAlignEqualContents is the case in which taking the best match loses records: contents repeat, and either side has lost
// some to compaction, retention or the age of tombstones, between transactions. Nothing may be lost, and a record may be
// copied twice only where several places are feasible, as often as the answer says.
func TestAlignEqualContents(t *testing.T) {
	for n, mix := range alignMixes() {
		mix.keys, mix.values = min(mix.keys, 2), 1
		t.Run(mix.name, func(t *testing.T) {
			var chosen, again, said int64
			histories := 1000 * crashScale(t)
			for i := range histories {
				h := newAlignHistory(mix, rand.New(rand.NewPCG(uint64(5000+n), uint64(i))))
				in := h.input()
				a := &aligner{in: in, pieces: alignPieces}
				out := a.align()
				err := alignCheck(h, in, out)
				if err == nil && !mix.still {
					err = alignTruthFeasible(h, a)
				}
				twice := int64(0)
				at := h.copied()
				for s, e := range h.source {
					if at[s] >= 0 && !e.gone && offsetmap.SourceOffset(s) >= out.Place {
						twice++
					}
				}
				if err == nil && twice > 0 && !mix.still && a.last <= a.first {
					err = fmt.Errorf("%d records twice although only one place was feasible", twice)
				}
				if err != nil {
					t.Fatalf("seed %d: %v\ninput %+v\nanswer %+v\nhistory %+v", i, err, in, out, *h)
				}
				if again, said = again+twice, said+out.Duplicates; out.Duplicates > 0 {
					chosen++
				}
			}
			t.Logf("%d histories, %d with a choice; %d records twice, announced at most %d", histories, chosen, again, said)
		})
	}
}
