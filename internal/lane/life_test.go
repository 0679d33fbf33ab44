package lane

import (
	"math"
	"testing"

	"tidemark/offsetmap"
)

// Timestamps of records are anything that a producer wrote. One near the largest number is young, for ever.
func TestTimestampsNearTheLargestNumber(t *testing.T) {
	for _, c := range []struct{ t, by, want int64 }{
		{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64 - 5, 5, math.MaxInt64}, {math.MaxInt64 - 5, 6, math.MaxInt64}, {-1, 5, 4},
	} {
		if got := later(c.t, c.by); got != c.want {
			t.Errorf("later(%d, %d) is %d, want %d", c.t, c.by, got, c.want)
		}
	}
	for _, ts := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - DefaultLimits().OldAfter} {
		l := alive(t, DefaultLimits(), 1)
		l.data(1, ts)
		s, ok := l.acts[len(l.acts)-1].(Send)
		if !ok || s.NotAfter < ts {
			t.Fatalf("%v: young data must not be written after %d, which is long ago", l.acts, s.NotAfter)
		}
		// It counts as what the target remembers our state by, so a second unit goes beside the next one.
		l.step(Answered{l.units[0], Result{Answer: Acked}})
		l.data(1, ts)
		l.data(1, ts)
		if len(l.units) != 3 {
			t.Errorf("timestamp %d: %d units sent, want 3", ts, len(l.units))
		}
		l.step(Answered{l.units[1], Result{Answer: InDoubt}})
		l.step(Answered{l.units[2], Result{Answer: InDoubt}})
		l.now += 5000
		if l.step(Tick{}); !l.Is(Live) || !l.asked(Send{Unit: l.units[1], Again: true}) {
			t.Errorf("young data in doubt goes again: %s, %v", l.state, l.acts)
		}
	}
}

// A batch without a timestamp counts as old: it goes alone, and a doubt about it is settled by a fence.
func TestNoTimestampIsOld(t *testing.T) {
	l := alive(t, DefaultLimits(), 1)
	l.data(1, -1)
	if s, ok := l.acts[len(l.acts)-1].(Send); !ok || s.NotAfter != 0 {
		t.Fatalf("%v", l.acts)
	}
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	l.data(1, -1)
	l.data(1, -1)
	if len(l.units) != 2 {
		t.Errorf("%d units sent, want 2", len(l.units))
	}
	l.step(Answered{l.units[1], Result{Answer: InDoubt}})
	l.now += 5000
	if l.step(Tick{}); !l.Is(Fencing) {
		t.Errorf("%s", l.state)
	}
}

// Time-outs before it do not make the first refusal of a sequence the last one.
func TestFirstSequenceRefusalBehindTimeouts(t *testing.T) {
	l := alive(t, DefaultLimits(), 1)
	l.data(1, l.now)
	for range 6 {
		l.step(Answered{l.units[0], Result{Answer: InDoubt, Reason: "NOT_LEADER_OR_FOLLOWER"}})
		l.now += 2500
		l.step(Tick{})
	}
	for n := range l.lim.MaxAttempts {
		if l.step(Answered{l.units[n], Result{Answer: Sequence, Reason: "OUT_OF_ORDER_SEQUENCE_NUMBER"}}); !l.Is(Fencing) {
			t.Fatalf("refusal %d: %s, %s", n+1, l.state, l.Reason())
		}
		l.step(FenceDone{int16(2 + n)})
		l.step(Looked{[]Landed{{Base: offsetmap.TargetOffset(n), Count: 1, Marker: true, Epoch: int16(2 + n)}}, offsetmap.TargetOffset(n + 1)})
		l.acked()
		l.data(1, l.now)
	}
	if l.step(Answered{l.units[l.lim.MaxAttempts], Result{Answer: Sequence}}); !l.Is(Stopped) {
		t.Errorf("refused for ever: %s", l.state)
	}
}

// Pieces without data behind a unit are one, and it takes their offsets along once it is acknowledged.
func TestPiecesWithoutDataArePiledUpAsOne(t *testing.T) {
	const n = 50_000
	l := alive(t, DefaultLimits(), 1)
	l.data(1, l.now)
	for range n {
		l.skip(1)
	}
	if len(l.queue) != 1 || l.Next() != 1+n {
		t.Errorf("%d pieces are queued behind one unit, next %d", len(l.queue), l.Next())
	}
	l.data(1, l.now)
	l.skip(3)
	l.skip(4)
	if len(l.queue) != 3 || l.Map().Through() != 0 {
		t.Errorf("%d pieces, through %d", len(l.queue), l.Map().Through())
	}
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	if th := l.Map().Through(); th != 1+n {
		t.Errorf("through %d, want %d", th, 1+n)
	}
	l.step(Answered{l.units[1], Result{Answer: Acked, BaseOffset: 1}})
	if th := l.Map().Through(); th != 1+n+1+7 {
		t.Errorf("through %d, want %d", th, 1+n+1+7)
	}
}

// looking is a partition with a map that a look owns.
func looking(t *testing.T) *aLife {
	t.Helper()
	m := offsetmap.New(offsetmap.Origin{})
	if err := m.Append(offsetmap.Run{Source: 0, Target: 0, Count: 10}); err != nil {
		t.Fatal(err)
	}
	l := &aLife{Partition: NewPartition(DefaultLimits(), Past{Map: m, SourceEnd: 10}), t: t, now: 1_750_000_000_000}
	if l.step(Named{}); !l.Is(Opening) || !l.asked(LookAtEnds{}) {
		t.Fatalf("%s, %v", l.state, l.acts)
	}
	return l
}

// A stop that comes up while a look owns the map waits for its end. What the look found is said all the same: it is in the
// map, and the next one will not find it. The next one is whole: nothing was written since the take-over.
func TestStopWhileALookOwnsTheMap(t *testing.T) {
	for _, stop := range []Event{Absent{}, Stop{Reason: "somebody says so", Final: true}} {
		l := looking(t)
		if l.step(stop); !l.Is(Opening) || len(l.acts) > 0 {
			t.Fatalf("%s: the look has the map: %s, %v", stop, l.state, l.acts)
		}
		l.step(LookEnded{Map: l.Map(), Epoch: 4, Twice: 3, Lost: 2})
		if !l.Is(Stopped) || l.Opened() || !l.asked(Said{News{What: NewsTwice, N: 3}}) || !l.asked(Said{News{What: NewsLost, N: 2}}) {
			t.Errorf("%s: %s, opened %t, %v", stop, l.state, l.Opened(), l.acts)
		}
		if !l.asked(WriteHead{N: 1, Reason: l.Reason()}) {
			t.Errorf("%s: the former owner's anchor must stay: %v", stop, l.acts)
		}
		l.now += 100 * l.lim.StopRetry
		if l.step(Tick{}); !l.Is(Stopped) {
			t.Errorf("%s: it is final: %s", stop, l.state)
		}
		l.step(Named{Facts{SourceCluster: "anew"}})
		if l.step(Tick{}); !l.asked(LookAtEnds{Again: false}) {
			t.Errorf("%s: the tail is to be settled: %v", stop, l.acts)
		}
	}
	l := looking(t)
	l.step(Absent{})
	l.step(Named{})
	if l.step(LookEnded{Map: l.Map(), Epoch: 4}); !l.Is(Heading) {
		t.Errorf("it is named again before the look ended: %s, %s", l.state, l.Reason())
	}
}

// Gone and named again before its first look, or between two tries of it: the look must settle the tail.
func TestAbsentBeforeTheFirstLook(t *testing.T) {
	begin := func(e Event) *aLife {
		l := looking(t)
		l.Partition = NewPartition(l.lim, Past{Map: l.m, SourceEnd: 10})
		l.step(e)
		return l
	}
	failed := begin(Named{})
	failed.step(LookEnded{Err: "no leader", Passes: true})
	for name, l := range map[string]*aLife{"not yet": begin(Named{Facts{NotYet: "no topic"}}), "a look failed": failed} {
		l.step(Absent{})
		l.step(Named{})
		l.now += l.lim.StopRetry
		if l.step(Tick{}); !l.asked(LookAtEnds{Again: false}) {
			t.Errorf("%s: %s, %v", name, l.state, l.acts)
		}
	}
	l := alive(t, DefaultLimits(), 3) // but what the lane itself has written needs no second look
	l.step(Absent{})
	l.step(Named{})
	if l.step(Tick{}); !l.asked(LookAtEnds{Again: true}) {
		t.Errorf("%s, %v", l.state, l.acts)
	}
}

// A topic that is out of sight only while the look goes on was never stopped for it, and nothing says so afterwards.
func TestAbsentOnlyDuringALook(t *testing.T) {
	l := looking(t)
	l.step(Absent{})
	l.step(Named{})
	l.step(LookEnded{Map: l.m, Epoch: 4})
	if l.state != Heading || l.Reason() != "" {
		t.Errorf("%s, as if it had been stopped: %q", l.state, l.Reason())
	}
}

// A partition that is stopped for a reason again is tried as the last stop says.
func TestStoppedTwiceForOneReason(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.step(Stop{Reason: "so", Final: true})
	l.step(Stop{Reason: "so"})
	l.now += l.lim.StopRetry
	if l.step(Tick{}); l.Is(Stopped) {
		t.Error("it is not final any more, and never tried again")
	}
	l.step(Stop{Reason: "so"})
	l.step(Stop{Reason: "so", Final: true})
	l.now += l.lim.StopRetry
	if l.step(Tick{}); !l.Is(Stopped) {
		t.Errorf("it is final, and tried again: %s", l.state)
	}
}

// A look that fails for a reason that passes is repeated soon; for how often in a row is bounded.
func TestLooksThatFail(t *testing.T) {
	l := looking(t)
	fail := func() {
		l.step(LookEnded{Err: "no leader", Passes: true})
		if l.Is(Waiting) {
			l.now += 2000
			l.step(Tick{})
		}
	}
	for range patience {
		if fail(); !l.Is(Opening) {
			t.Fatalf("%s", l.state)
		}
	}
	if fail(); !l.Is(Stopped) || l.Reason() != "no leader" {
		t.Fatalf("fails for ever, and is not stopped: %s", l.state)
	}
	l.now += l.lim.StopRetry
	l.step(Tick{})
	for range patience {
		if fail(); !l.Is(Opening) {
			t.Fatalf("%s", l.state)
		}
	}
	l.step(LookEnded{Map: l.Map(), Epoch: 4})
	if l.acked(); !l.Is(Live) {
		t.Errorf("%s", l.state)
	}
}

// A topic that is made anew while a new partition is being looked at: what the look saw and what the flow knows are not of
// one topic, and it is looked at again.
func TestMadeAnewDuringTheFirstLook(t *testing.T) {
	for _, saw := range []offsetmap.Origin{{SourceTopicID: [16]byte{9}, TargetTopicID: [16]byte{2}}, {SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{9}}} {
		l := &aLife{Partition: NewPartition(DefaultLimits(), Past{SourceEnd: -1}), t: t, now: 1_750_000_000_000}
		l.step(Named{Facts{SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{2}}})
		if l.step(LookEnded{Map: offsetmap.New(saw), Epoch: 4}); l.Opened() || !l.Is(Waiting) {
			t.Errorf("%v: opened %t, %s", saw, l.Opened(), l.state)
		}
		l.now += lookAgain
		if l.step(Tick{}); !l.asked(LookAtEnds{}) {
			t.Errorf("%v: %v", saw, l.acts)
		}
	}
}

// A reason that comes up again and again does not put off the try that is due.
func TestStoppedAgainAndAgain(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.step(Stop{Reason: "so"})
	for range 3 {
		l.now += l.lim.StopRetry / 3
		l.step(Stop{Reason: "so"})
	}
	l.now++
	if l.step(Tick{}); l.Is(Stopped) {
		t.Error("it is never tried again")
	}
}

// A partition that the flow does not name is not tried, whatever it is told to stop for since: nobody wants it mirrored.
func TestStoppedWhileAbsent(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.step(Absent{})
	l.step(Stop{Reason: "so"})
	l.now += 100 * l.lim.StopRetry
	if l.step(Tick{}); !l.Is(Stopped) {
		t.Errorf("it is not named, and tried: %s", l.state)
	}
	l.step(Named{})
	if l.step(Tick{}); l.Is(Stopped) {
		t.Error("it is named again, and not tried")
	}
}

// Acknowledgements of heads that were queued before do not count: nothing is read before the head of this try is in the
// ledger.
func TestStaleHeads(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	for range 3 {
		l.step(Stop{Reason: "so"})
		l.now += l.lim.StopRetry
		l.step(Tick{})
	}
	if n := len(l.heads); n != 6 || !l.Is(Heading) {
		t.Fatalf("%d heads wait, %s", n, l.state)
	}
	for _, n := range l.heads[:5] {
		if l.step(HeadAcked{n}); !l.Is(Heading) || l.asked(Read{}) {
			t.Errorf("head %d of 6: %s, %v", n, l.state, l.acts)
		}
	}
	if l.step(HeadAcked{l.heads[5]}); !l.Is(Live) {
		t.Errorf("%s", l.state)
	}
	l.step(HeadAcked{l.heads[0]}) // late, for whatever reason
	l.now += headEvery
	if l.step(Tick{}); !l.asked(WriteHead{N: 8, Reason: "so", Opened: true, Epoch: 3}) {
		t.Errorf("the next head waits for one that is acknowledged: %v", l.acts)
	}
	l.step(Stop{Reason: "so"})
	l.now += l.lim.StopRetry
	l.step(Tick{})
	if l.step(HeadAcked{l.heads[5]}); !l.Is(Heading) {
		t.Errorf("%s", l.state)
	}
}

// What stands in front of a damaged batch goes to the target before the partition stops at it.
func TestGoodBeforeBad(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	piece := Piece{ID: 7, First: 0, Next: 5, Count: 5, Size: 100, MaxTimestamp: l.now, LeaderEpoch: -1}
	l.step(Fetched{Offset: 0, Pieces: []Piece{piece}, Bad: "damaged"})
	if !l.asked(StopReading{}) || len(l.units) != 1 || !l.Is(Live) {
		t.Fatalf("%s, %v", l.state, l.acts)
	}
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	if !l.asked(Read{Offset: 5, Epoch: -1}) {
		t.Fatalf("%v", l.acts)
	}
	l.step(Fetched{Offset: 5, Bad: "damaged"})
	if !l.Is(Stopped) || l.Reason() != "damaged" || l.Map().Through() != 5 {
		t.Errorf("%s for %q, through %d", l.state, l.Reason(), l.Map().Through())
	}
}
