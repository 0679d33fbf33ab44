package lane

import (
	"slices"
	"testing"

	"tidemark/offsetmap"
)

// TestRelease: what a lane that was told to end waits for, and how it ends.
func TestRelease(t *testing.T) {
	idle := Rest{LedgerIdle: true, RowsIdle: true, Claimed: true}
	flying := func(t *testing.T) *aLife {
		l := alive(t, DefaultLimits(), 3)
		l.data(5, l.now)
		l.step(Drain{})
		return l
	}
	inDoubt := func(t *testing.T) *aLife {
		l := flying(t)
		l.step(Stop{Reason: "so"})
		return l
	}
	unopened := func(*testing.T) *aLife {
		return &aLife{Partition: NewPartition(DefaultLimits(), Past{Map: offsetmap.New(offsetmap.Origin{})})}
	}
	fenced := func(t *testing.T) *aLife {
		l := flying(t)
		l.step(Answered{l.units[0], Result{Answer: Sequence}})
		return l
	}
	with := func(r Rest, set func(*Rest)) Rest {
		set(&r)
		return r
	}
	for _, c := range []struct {
		name string
		part func(*testing.T) *aLife
		rest Rest
		want []ReleaseStep // of two calls
	}{
		{"nothing to wait for", unopened, idle, []ReleaseStep{ReleaseClaim, ReleaseWaits}},
		{"the claim is acknowledged", unopened, with(idle, func(r *Rest) { r.Released = true }), []ReleaseStep{ReleaseClaim, ReleaseDone}},
		{"a unit is on its way", flying, idle, []ReleaseStep{ReleaseWaits, ReleaseWaits}},
		{"a fence is under way", fenced, idle, []ReleaseStep{ReleaseWaits, ReleaseWaits}},
		{"stopped in doubt", inDoubt, idle, []ReleaseStep{ReleaseUnclean, ReleaseUnclean}},
		{"stopped in doubt, the ledger is busy", inDoubt, with(idle, func(r *Rest) { r.LedgerIdle = false }), []ReleaseStep{ReleaseWaits, ReleaseWaits}},
		{"rows wait", unopened, with(idle, func(r *Rest) { r.RowsIdle = false }), []ReleaseStep{ReleaseWaits, ReleaseWaits}},
		{"rows are the former owner's", unopened, with(idle, func(r *Rest) { r.RowsHeld = true }), []ReleaseStep{ReleaseUnclean, ReleaseUnclean}},
		{"a partition was never fenced", unopened, with(idle, func(r *Rest) { r.Unfenced = true }), []ReleaseStep{ReleaseUnclean, ReleaseUnclean}},
		{"the claim was never written", inDoubt, with(idle, func(r *Rest) { r.Claimed = false }), []ReleaseStep{ReleaseNothing, ReleaseNothing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Release
			parts := []*Partition{c.part(t).Partition}
			got := []ReleaseStep{r.Next(slices.Values(parts), c.rest), r.Next(slices.Values(parts), c.rest)}
			if !slices.Equal(got, c.want) {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// A drain finds units that surely did not land, of a partition whose logs cannot be looked at: they are no reason to wait.
func TestDrainWithUnitsThatCameBack(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.data(5, l.now)
	l.step(Answered{l.units[0], Result{Answer: NotSaved}})
	l.step(ReadFailed{Reason: "out of range", Now: true})
	l.step(Tick{})
	l.step(LookEnded{Err: "no leader", Passes: true})
	l.step(Drain{})
	for range 3 {
		l.now += 1000
		l.step(Tick{})
	}
	if !l.Clean() || l.Next() != 0 || !l.Is(Waiting) {
		t.Errorf("%s, clean %t, next %d", l.state, l.Clean(), l.Next())
	}
}
