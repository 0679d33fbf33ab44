package lane

import (
	"slices"
	"testing"

	"tidemark/internal/batch"
	"tidemark/offsetmap"
)

// aLife is a partition that is mirrored, and everything that was asked of the caller since. Times are milliseconds.
type aLife struct {
	*Partition
	t     *testing.T
	now   int64
	ids   uint64
	units []*Unit // sent, oldest first
	heads []int   // written and not acknowledged
	acts  []Action
}

// alive is named, looked at, and its head is in the ledger; nothing was mirrored before.
func alive(t *testing.T, lim Limits, epoch int16) *aLife {
	t.Helper()
	l := &aLife{Partition: NewPartition(lim, Past{Map: offsetmap.New(offsetmap.Origin{}), SourceEnd: -1}), t: t, now: 1_750_000_000_000}
	l.step(Named{})
	l.step(LookEnded{Map: l.Map(), Epoch: epoch})
	l.acked()
	if !l.Is(Live) || !l.asked(Read{Offset: 0, Epoch: -1}) {
		t.Fatalf("not alive: %s, %v", l.state, l.acts)
	}
	return l
}

// step gives an event, and answers a Prepare with one output of all its pieces.
func (l *aLife) step(e Event) []Action { return l.take(l.Step(e, l.now)) }

func (l *aLife) take(acts []Action) []Action {
	l.acts = acts
	for _, a := range slices.Clone(l.acts) {
		switch a := a.(type) {
		case Send:
			if !slices.Contains(l.units, a.Unit) {
				l.units = append(l.units, a.Unit)
			}
		case WriteHead:
			l.heads = append(l.heads, a.N)
		case Prepare:
			o := Output{ID: l.id(), Next: l.QueuedNext(a.N), MaxTimestamp: -1, Size: 100}
			for _, pc := range l.queue[:a.N] {
				if !pc.Skip {
					o.Count += pc.Count
					o.Spans = append(o.Spans, batch.Span{Offset: int64(pc.First), Count: pc.Count})
					o.MaxTimestamp = max(o.MaxTimestamp, pc.MaxTimestamp)
				}
			}
			acts = append(acts, l.step(Prepared{a.N, []Output{o}})...)
			l.acts = acts
		}
	}
	return l.acts
}

func (l *aLife) id() uint64 {
	l.ids++
	return l.ids
}

// acked acknowledges all heads.
func (l *aLife) acked() {
	for len(l.heads) > 0 {
		n := l.heads[0]
		l.heads = l.heads[1:]
		l.step(HeadAcked{n})
	}
}

// data is an answer of the source with one batch from where the partition stands.
func (l *aLife) data(count int32, ts int64) []Action {
	return l.step(Fetched{Offset: l.Next(), Source: Seen{-1, -1, -1, -1}, Pieces: []Piece{{
		ID: l.id(), First: l.Next(), Next: l.Next() + offsetmap.SourceOffset(count), Count: count, Size: 100, MaxTimestamp: ts, LeaderEpoch: -1, Alone: true,
	}}})
}

// skip is one without data.
func (l *aLife) skip(count int64) []Action {
	return l.step(Fetched{Offset: l.Next(), Source: Seen{-1, -1, -1, -1}, Pieces: []Piece{{
		ID: l.id(), First: l.Next(), Next: l.Next() + offsetmap.SourceOffset(count), LeaderEpoch: -1, Skip: true,
	}}})
}

// asked says whether the last step's actions have one with the same words.
func (l *aLife) asked(want Action) bool {
	return slices.ContainsFunc(l.acts, func(a Action) bool { return a.String() == want.String() })
}

// bases are the offsets at which the last step says that units are, -1 for those that are gone.
func (l *aLife) bases() (at []offsetmap.TargetOffset) {
	for _, a := range l.acts {
		if m, ok := a.(Mirrored); ok {
			at = append(at, m.Base)
		}
	}
	return at
}

// A drain drops what is queued. A marker that arrives afterwards must not move through past it.
func TestDrainAcceptsNothingMore(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.data(10, l.now)
	l.data(10, l.now) // waits: without producer state only one unit is in flight
	l.step(Drain{})
	if !l.asked(Dropped{ID: 3}) || !l.asked(StopReading{}) || l.Next() != 10 {
		t.Errorf("next %d, %v", l.Next(), l.acts)
	}
	l.step(Fetched{Offset: 20, Pieces: []Piece{{ID: 9, First: 20, Next: 21, Skip: true, LeaderEpoch: -1}}})
	l.step(Fetched{Offset: 10, Pieces: []Piece{{ID: 9, First: 10, Next: 11, Skip: true, LeaderEpoch: -1}}})
	if th := l.Map().Through(); th != 0 || l.Clean() {
		t.Fatalf("LOSS: through %d although nothing is acknowledged; clean=%v", th, l.Clean())
	}
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	if th := l.Map().Through(); th != 10 || !l.Clean() {
		t.Fatalf("LOSS: through %d, sent were 10; clean=%v", th, l.Clean())
	}
}

// The answer to a fence finds the partition stopped for another reason meanwhile.
func TestFenceAnswerDoesNotReviveAStoppedPart(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.data(10, l.now)
	l.step(Answered{l.units[0], Result{Answer: Sequence}})
	l.step(Stop{Reason: "the source topic was created again"})
	l.step(FenceDone{4})
	l.step(Looked{[]Landed{{Base: 0, Count: 1, Marker: true, Epoch: 4}}, 1})
	if !l.Is(Stopped) || len(l.acts) > 0 {
		t.Fatalf("runs again before it is tried again: %s, %v", l.state, l.acts)
	}
}

// Two markers, of a fence that failed late and of one that succeeded, and the first one's header is gone: the record in
// doubt fits the free offset, but it never landed.
func TestHiddenOffsetsAreNotTakenForLanded(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.data(1, l.now-48*3600*1000)
	l.step(Answered{l.units[0], Result{Answer: InDoubt}})
	l.now += 5000
	if l.step(Tick{}); !l.Is(Fencing) {
		t.Fatalf("old data in doubt: %s", l.state)
	}
	l.step(FenceFailed{"not complete in time"})
	l.now += l.lim.StopRetry
	l.step(Tick{})
	l.step(FenceDone{5})
	l.step(Looked{[]Landed{{Base: 1, Count: 1, Marker: true, Epoch: 5}}, 2})
	if l.Next() != 0 || !l.Is(Heading) {
		t.Fatalf("LOSS: %s, next %d, the record never landed", l.state, l.Next())
	}
}

// threeUnits is a partition that is being looked at with three units of one record each (source offsets 1 to 3) in doubt;
// source offset 0 stands at target offset 0.
func threeUnits(t *testing.T) *aLife {
	t.Helper()
	lim := DefaultLimits()
	lim.Depth = 5
	l := alive(t, lim, 3)
	for i := range 4 {
		l.data(1, l.now)
		if i == 0 {
			l.step(Answered{l.units[0], Result{Answer: Acked, BaseOffset: 0}}) // now its producer's state lives, and more may be in flight
		}
	}
	l.step(Answered{l.units[1], Result{Answer: Sequence}})
	l.step(FenceDone{4})
	if len(l.units) != 4 || !l.Is(Looking) {
		t.Fatalf("%d units, %s", len(l.units), l.state)
	}
	return l
}

// A unit behind others proves that they landed, though compaction took them before the look. What it finds is said to be
// mirrored, as an acknowledgement would have said it.
func TestUnitsThatVanishedFromBeforeAnother(t *testing.T) {
	ours := func(base offsetmap.TargetOffset, sequence int32) Landed {
		return Landed{Base: base, Count: 1, Ours: true, Epoch: 3, Sequence: sequence}
	}
	foreign := func(base offsetmap.TargetOffset, n int64) Landed { return Landed{Base: base, Count: n} }
	marker := func(base offsetmap.TargetOffset) Landed {
		return Landed{Base: base, Count: 1, Marker: true, Epoch: 4}
	}
	for _, c := range []struct {
		name      string
		landed    []Landed
		end       offsetmap.TargetOffset
		next      offsetmap.SourceOffset // source offset to go on at
		at        [5]int64
		bases     []offsetmap.TargetOffset // of the units that are said to be mirrored
		uncertain int64
		stops     bool
	}{
		{"all there", []Landed{ours(1, 1), ours(2, 2), ours(3, 3), marker(4)}, 5, 4, [5]int64{0, 1, 2, 3, 5}, []offsetmap.TargetOffset{1, 2, 3}, 0, false},
		{"the middle one", []Landed{ours(1, 1), ours(3, 3), marker(4)}, 5, 4, [5]int64{0, 1, 2, 3, 5}, []offsetmap.TargetOffset{1, 2, 3}, 0, false},
		{"the first two", []Landed{ours(3, 3), marker(4)}, 5, 4, [5]int64{0, 1, 2, 3, 5}, []offsetmap.TargetOffset{1, 2, 3}, 0, false},
		{"the first, and the last never landed", []Landed{ours(2, 2), marker(3)}, 4, 3, [5]int64{0, 1, 2, 4, 4}, []offsetmap.TargetOffset{1, 2}, 0, false},
		{"the middle one, a foreign record in front of it", []Landed{ours(1, 1), foreign(2, 1), ours(4, 3), marker(5)}, 6, 4, [5]int64{0, 1, 2, 2, 6}, []offsetmap.TargetOffset{1, -1, 4}, 0, false},
		{"the middle one and a foreign record", []Landed{ours(1, 1), ours(4, 3), marker(5)}, 6, 4, [5]int64{0, 1, 2, 2, 6}, []offsetmap.TargetOffset{1, -1, 4}, 0, false},
		{"the first, its place free before a foreign record", []Landed{foreign(2, 1), ours(3, 2), marker(4)}, 5, 3, [5]int64{0, 1, 1, 5, 5}, []offsetmap.TargetOffset{-1, 3}, 0, false},
		{"no room for the middle one", []Landed{ours(1, 1), ours(2, 3), marker(3)}, 4, 0, [5]int64{}, []offsetmap.TargetOffset{1}, 0, true},
		{"nothing behind", []Landed{ours(1, 1), marker(3)}, 4, 2, [5]int64{0, 1, 2, 2, 2}, []offsetmap.TargetOffset{1}, 1, false},
		{"all gone", []Landed{marker(4)}, 5, 1, [5]int64{0, 1, 1, 1, 1}, nil, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := threeUnits(t)
			l.step(Looked{c.landed, c.end})
			if !slices.Equal(l.bases(), c.bases) {
				t.Errorf("said to be mirrored at %d, want %d", l.bases(), c.bases)
			}
			if l.Is(Stopped) != c.stops {
				t.Fatalf("%s: %s", l.state, l.Reason())
			} else if c.stops {
				return
			}
			said := l.asked(Said{News{What: NewsUncertain, N: c.uncertain}})
			if l.Next() != c.next || l.uncertain != c.uncertain || said != (c.uncertain > 0) {
				t.Errorf("goes on at %d with %d uncertain (said %t), want %d with %d", l.Next(), l.uncertain, said, c.next, c.uncertain)
			}
			for o, want := range c.at {
				if pos := l.Map().Next(offsetmap.SourceOffset(o)); int64(pos.Target) != want {
					t.Errorf("source %d is at %+v, want %d", o, pos, want)
				}
			}
		})
	}
}
