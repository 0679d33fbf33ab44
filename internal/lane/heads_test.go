package lane

import (
	"testing"

	"tidemark/offsetmap"
)

// scattered mirrors n records whose source offsets have holes between them, one unit each, so that each is a run.
func (l *aLife) scattered(n int) (blocks []uint32) {
	for range n {
		l.skip(int64(1 + l.Next()%7))
		l.data(1, l.now)
		l.step(Answered{l.units[len(l.units)-1], Result{Answer: Acked, BaseOffset: l.Map().TargetEnd()}})
		for _, a := range l.acts {
			if b, ok := a.(WriteBlock); ok {
				blocks = append(blocks, b.Number)
			}
		}
	}
	return blocks
}

// Runs become blocks while no head can be acknowledged, and what the target removed is deleted from the ledger only once a
// head that does not name it is there.
func TestBlocks(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	blocks := l.scattered(20_000)
	if len(blocks) == 0 || l.Map().OpenSize() > sealAt {
		t.Fatalf("blocks %v, %d bytes open", blocks, l.Map().OpenSize())
	}
	l.step(TargetStart{l.Map().TargetEnd() - 1})
	if !l.asked(Rejudge{}) || len(l.heads) != 1 || l.asked(DropBlocks{0, blocks}) {
		t.Fatalf("%v", l.acts)
	}
	if l.step(TargetStart{1}); len(l.acts) > 0 {
		t.Errorf("a start that is known already: %v", l.acts)
	}
	if l.step(HeadAcked{l.heads[0] - 1}); len(l.acts) > 0 {
		t.Errorf("an older head: %v", l.acts)
	}
	if l.step(HeadAcked{l.heads[0]}); !l.asked(DropBlocks{0, blocks}) {
		t.Errorf("%v", l.acts)
	}
}

// A head is written a second after the last one where the partition is quiet, and later where it costs too much of what was
// mirrored meanwhile; never while one is on its way.
func TestHeadPacing(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	wrote := func(after int64) bool {
		l.now += after
		before := len(l.heads)
		l.step(Tick{})
		return len(l.heads) > before
	}
	l.data(1, l.now)
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	if wrote(headEvery-1) || !wrote(1) {
		t.Error("quiet: after a second")
	}
	l.data(1, l.now)
	l.step(Answered{l.units[1], Result{Answer: Acked, BaseOffset: 1}})
	if wrote(headAtMost) {
		t.Error("one is on its way")
	}
	if l.acked(); !wrote(0) {
		t.Error("and now it is acknowledged")
	}
	l.acked()
	l.data(1, l.now)
	l.step(Answered{l.units[2], Result{Answer: Acked, BaseOffset: 2}})
	l.data(1, l.now) // on its way: not quiet
	if wrote(headAtMost-1) || !wrote(1) {
		t.Error("little was mirrored: after ten seconds")
	}
}

// Others who write to the remote partition are told of once a minute.
func TestOthersAreSaid(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	said := func() (n int64) {
		l.data(1, l.now)
		l.step(Answered{l.units[len(l.units)-1], Result{Answer: Acked, BaseOffset: l.Map().TargetEnd() + 5}})
		l.now += headEvery
		l.step(Tick{})
		for _, a := range l.acts {
			if s, ok := a.(Said); ok && s.What == NewsOthers {
				n += s.N
			}
		}
		l.acked()
		return n
	}
	if first, second := said(), said(); first != 5 || second != 0 {
		t.Errorf("said %d, then %d", first, second)
	}
	l.now += othersTell
	if third := said(); third != 10 {
		t.Errorf("a minute later %d", third)
	}
}

// A partition that hears nothing although the source holds more reads again, and says so.
func TestSilence(t *testing.T) {
	for _, committed := range []bool{false, true} {
		lim := DefaultLimits()
		lim.Committed = committed
		l := alive(t, lim, 3)
		l.step(Fetched{Offset: 0, Source: Seen{0, 10, 0, -1}})
		l.now += silence - 1
		if l.step(Tick{}); l.asked(Read{Offset: 0}) {
			t.Errorf("committed %t: too early", committed)
		}
		l.now++
		if l.step(Tick{}); l.asked(Read{Offset: 0}) == committed {
			t.Errorf("committed %t, stable end 0, end 10: %v", committed, l.acts)
		}
	}
	l := alive(t, DefaultLimits(), 3)
	l.step(Fetched{Offset: 7, Pieces: []Piece{{ID: 1, First: 7, Next: 8}}}) // nobody would ask for what lies between
	if !l.asked(Dropped{ID: 1}) || !l.asked(Read{Offset: 0}) || l.Next() != 0 {
		t.Errorf("%v", l.acts)
	}
}

// What takes long is said once, and the ledger hears every ten seconds how far it has come.
func TestWhatLastsIsSaid(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	l := &aLife{Partition: NewPartition(DefaultLimits(), Past{Map: m}), t: t, now: 1_750_000_000_000}
	l.step(Named{})
	l.step(LookProgress{Read: 5, Of: 20})
	l.now += lastsAfter
	l.step(Tick{})
	what := "looking at both logs, read 5 of 20"
	if !l.asked(Said{News{What: NewsLasts, Why: what}}) || !l.asked(WriteHead{N: 1, Reason: what, Looking: true}) {
		t.Errorf("%v", l.acts)
	}
	l.step(LookProgress{Read: 15, Of: 20})
	l.now += lastsAfter - 1
	if l.step(Tick{}); len(l.acts) > 0 {
		t.Errorf("said twice: %v", l.acts)
	}
	l.now++
	if l.step(Tick{}); len(l.acts) != 1 || !l.asked(WriteHead{N: 2, Reason: "looking at both logs, read 15 of 20", Looking: true}) {
		t.Errorf("%v", l.acts)
	}
}

// A partition counts as well again when something was mirrored, or when it has stayed live for five seconds and the source
// has answered.
func TestGoesOn(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.step(Stop{Reason: "so"})
	l.now += l.lim.StopRetry
	l.step(Tick{})
	l.acked()
	l.now += goesOnAfter
	if l.step(Tick{}); l.Reason() == "" {
		t.Error("the source has not answered")
	}
	l.step(Fetched{Offset: 0, Source: Seen{0, 0, 0, -1}})
	if l.step(Tick{}); l.Reason() != "" || !l.asked(Said{News{What: NewsGoesOn, Why: "so"}}) {
		t.Errorf("%v", l.acts)
	}
}
