package lane

import (
	"slices"
	"strings"
	"testing"

	"tidemark/offsetmap"
)

// twoUnits is a partition whose target knows its producer, with two units of one record on their way; the second one's
// timestamp is so much older.
func twoUnits(t *testing.T, older int64) *aLife {
	t.Helper()
	l := alive(t, DefaultLimits(), 3)
	l.data(1, l.now)
	if l.data(1, l.now); len(l.units) != 1 {
		t.Fatalf("%d units are on their way to a target that may not know our producer", len(l.units))
	}
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	if l.data(1, l.now-older); len(l.units) != 3 {
		t.Fatalf("%d units sent, want 3", len(l.units))
	}
	return l
}

// A doubt about old data is settled once everything that is on its way has an answer: the fence would make it look lost.
func TestDoubtAboutOldDataWaitsForAnswers(t *testing.T) {
	l := twoUnits(t, DefaultLimits().OldAfter-1000)
	l.step(Answered{l.units[1], Result{Answer: InDoubt}})
	l.step(Answered{l.units[2], Result{Answer: InDoubt}})
	l.now += 5000 // the second one is old by now
	if l.step(Tick{}); !l.Is(Live) || !l.asked(Send{Unit: l.units[1], Again: true}) {
		t.Fatalf("%s, %v", l.state, l.acts)
	}
	if l.step(Answered{l.units[1], Result{Answer: Acked, BaseOffset: 1}}); !l.Is(Fencing) || l.Map().Through() != 2 {
		t.Errorf("%s, through %d, %v", l.state, l.Map().Through(), l.acts)
	}
}

// An output more than the target may be sent waits, stamped, until the target surely knows our producer.
func TestSplitPieceBeforeTheTargetKnowsUs(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	acts := l.Step(Fetched{Offset: 0, Source: Seen{-1, -1, -1, -1}, Pieces: []Piece{{ID: 1, First: 0, Next: 3, Count: 3, Size: 100, MaxTimestamp: l.now, LeaderEpoch: -1}}}, l.now)
	if len(acts) != 1 {
		t.Fatalf("%v", acts)
	}
	out := func(id uint64) Output {
		return Output{ID: id, Count: 1, Next: offsetmap.SourceOffset(id), MaxTimestamp: l.now}
	}
	if l.step(Prepared{1, []Output{out(1), out(2), out(3)}}); len(l.units) != 1 {
		t.Fatalf("%d units are on their way", len(l.units))
	}
	if l.step(Answered{l.units[0], Result{Answer: Acked}}); len(l.units) != 3 {
		t.Errorf("%d units are on their way, and one is acknowledged", len(l.units))
	}
	for i, u := range l.units {
		if int(u.Sequence) != i {
			t.Errorf("unit %d has sequence %d", i, u.Sequence)
		}
	}
}

// A refusal of a sequence behind a unit that came back only shows that unit: both go again, and nothing is fenced.
func TestRefusalBehindAUnitThatCameBack(t *testing.T) {
	for _, first := range []int{1, 2} { // whichever answer arrives first
		l := twoUnits(t, 0)
		answers := []Result{1: {Answer: NotSaved}, 2: {Answer: Sequence}}
		for _, i := range []int{first, 3 - first} {
			l.step(Answered{l.units[i], answers[i]})
		}
		if !l.Is(Live) {
			t.Fatalf("%s", l.state)
		}
		l.now += l.lim.RetryMin
		l.step(Tick{})
		if want := []Action{Send{Unit: l.units[1], Again: true}, Send{Unit: l.units[2], Again: true}}; len(l.acts) != 2 || !l.asked(want[0]) || !l.asked(want[1]) {
			t.Errorf("%v, want %v", l.acts, want)
		}
	}
}

// Units that came back go again in order, so the first one waits for the answers to those behind it.
func TestUnitsThatCameBackWaitForEachOther(t *testing.T) {
	l := twoUnits(t, 0)
	l.step(Answered{l.units[1], Result{Answer: InDoubt}})
	l.now += l.lim.RetryMax
	if l.step(Tick{}); len(l.acts) > 0 {
		t.Errorf("sent before the answer for the one behind it: %v", l.acts)
	}
	if l.step(Answered{l.units[2], Result{Answer: InDoubt}}); len(l.acts) != 2 {
		t.Errorf("%v", l.acts)
	}
}

// Each round of units that come back makes the pause longer, not each unit.
func TestPauseBeforeTheNextTry(t *testing.T) {
	l := twoUnits(t, 0)
	for _, want := range []int64{50, 100, 200, 400} {
		l.step(Answered{l.units[1], Result{Answer: InDoubt}})
		l.step(Answered{l.units[2], Result{Answer: InDoubt}})
		l.now += want - 1
		if l.step(Tick{}); len(l.acts) > 0 {
			t.Errorf("before %d ms: %v", want, l.acts)
		}
		l.now++
		if l.step(Tick{}); len(l.acts) != 2 {
			t.Errorf("after %d ms: %v", want, l.acts)
		}
	}
}

// Units that come back for half a minute stop the partition; an acknowledgement in between begins the half minute anew.
func TestStuck(t *testing.T) {
	for _, progress := range []bool{false, true} {
		l := alive(t, DefaultLimits(), 3)
		for i := range 2 {
			l.data(1, l.now)
			u := l.units[len(l.units)-1]
			for began := l.now; l.now < began+l.lim.StuckAfter-5000; {
				if l.step(Answered{u, Result{Answer: NotSaved, Reason: "NOT_ENOUGH_REPLICAS"}}); l.Is(Stopped) {
					break
				}
				l.now += l.lim.RetryMax
				l.step(Tick{})
			}
			if i == 0 && progress {
				l.step(Answered{u, Result{Answer: Acked}})
			} else if i == 0 {
				l.now += 5000
			}
		}
		if l.Is(Stopped) == progress || progress && l.Reason() != "" || !progress && !strings.Contains(l.Reason(), "no progress on the target for 30 s: NOT_ENOUGH_REPLICAS") {
			t.Errorf("progress %t: %s, %q", progress, l.state, l.Reason())
		}
	}
}

// Refusals of a sequence are counted as long as nothing is acknowledged.
func TestRefusalsNowAndThen(t *testing.T) {
	l := alive(t, DefaultLimits(), 1)
	for n := range 2 * l.lim.MaxAttempts {
		l.data(1, l.now)
		l.step(Answered{l.units[len(l.units)-1], Result{Answer: Sequence}})
		l.step(FenceDone{int16(2 + n)})
		end := l.Map().TargetEnd()
		l.step(Looked{[]Landed{{Base: end, Count: 1, Marker: true}}, end + 1})
		l.acked()
		l.data(1, l.now)
		if l.step(Answered{l.units[len(l.units)-1], Result{Answer: Acked, BaseOffset: end + 1}}); !l.Is(Live) {
			t.Fatalf("round %d: %s, %s", n, l.state, l.Reason())
		}
	}
}

// TestAcknowledgedElsewhere: an acknowledgement that is not where or when it should be.
func TestAcknowledgedElsewhere(t *testing.T) {
	l := twoUnits(t, 0)
	if l.step(Answered{l.units[2], Result{Answer: Acked, BaseOffset: 2}}); !l.Is(Fencing) || l.Map().Through() != 1 {
		t.Errorf("ahead of an earlier one: %s, through %d", l.state, l.Map().Through())
	}
	l = twoUnits(t, 0)
	if l.step(Answered{l.units[1], Result{Answer: Acked}}); !l.Is(Stopped) || !strings.Contains(l.Reason(), "target log went backwards: a new batch landed at offset 0, below the mirrored end 1") {
		t.Errorf("below the mirrored end: %s, %q", l.state, l.Reason())
	}
	l = twoUnits(t, 0)
	if l.step(Answered{l.units[1], Result{Answer: Acked, BaseOffset: 3}}); !l.Is(Live) || l.Map().Others() != 2 {
		t.Errorf("behind records of others: %s, %d of others", l.state, l.Map().Others())
	}
	l = alive(t, DefaultLimits(), 3)
	l.data(1, l.now-48*3600*1000)
	if l.step(Answered{l.units[0], Result{Answer: Acked, BaseOffset: 1}}); !l.Is(Fencing) {
		t.Errorf("old data, and what stands in front of it can be a copy of it: %s", l.state)
	}
}

// An acknowledgement that arrives for a unit which a look has settled is not the next one's.
func TestLateAcknowledgement(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.data(1, l.now)
	l.step(Stop{Reason: "so"})
	l.now += l.lim.StopRetry
	l.step(Tick{})
	l.step(FenceDone{4})
	l.step(Looked{[]Landed{{Base: 0, Count: 1, Marker: true}}, 1})
	l.acked()
	l.data(1, l.now)
	if l.step(Answered{l.units[0], Result{Answer: Acked, BaseOffset: 1}}); !l.Is(Live) || l.Map().Through() != 0 {
		t.Fatalf("%s, through %d: the second one is not acknowledged", l.state, l.Map().Through())
	}
	if l.step(Answered{l.units[1], Result{Answer: Acked, BaseOffset: 1}}); l.Map().Through() != 1 {
		t.Errorf("through %d", l.Map().Through())
	}
}

// No old data is sent while a former owner that no fence reaches can still write; what stands behind it waits with it.
func TestHoldOldUntil(t *testing.T) {
	lim := DefaultLimits()
	lim.HoldOldUntil = 1_750_000_000_000 + 60_000
	l := alive(t, lim, 3)
	l.data(1, l.now)
	l.step(Answered{l.units[0], Result{Answer: Acked}})
	l.data(1, l.now-48*3600*1000)
	if l.data(1, l.now); len(l.units) != 1 {
		t.Errorf("%d units sent, want the young one in front", len(l.units))
	}
	l.now = lim.HoldOldUntil
	if l.step(Tick{}); len(l.units) != 2 || l.units[1].Next != 2 {
		t.Errorf("%d units sent", len(l.units))
	}
}

// What the target remembers us by is the batch that it took last, also where that is older than the one before it.
func TestOldDataBehindYoung(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	for i, ts := range []int64{l.now, l.now - 48*3600*1000} {
		l.data(1, ts)
		l.step(Answered{l.units[i], Result{Answer: Acked, BaseOffset: offsetmap.TargetOffset(i)}})
	}
	l.data(1, l.now)
	if l.data(1, l.now); len(l.units) != 3 {
		t.Errorf("%d units sent, and the target may have forgotten our producer", len(l.units))
	}
}

// Units that are on their way are behind what is read next, all of them.
func TestNextBehindUnits(t *testing.T) {
	l := twoUnits(t, 0)
	if l.step(Hold{}); l.Next() != 3 {
		t.Errorf("next %d", l.Next())
	}
	for i := range offsetmap.TargetOffset(2) {
		l.step(Answered{l.units[1+i], Result{Answer: Acked, BaseOffset: 1 + i}})
	}
	if l.step(GoOn{}); !l.asked(Read{Offset: 3, Epoch: -1}) {
		t.Errorf("%v", l.acts)
	}
}

// A hole between the pieces of an answer is not passed over.
func TestHoleBetweenPieces(t *testing.T) {
	l := alive(t, DefaultLimits(), 3)
	l.step(Fetched{Offset: 0, Source: Seen{-1, -1, -1, -1}, Pieces: []Piece{
		{ID: 1, First: 0, Next: 5, Count: 5, Size: 100, MaxTimestamp: l.now, LeaderEpoch: 7},
		{ID: 2, First: 7, Next: 9, Count: 2, Size: 100, MaxTimestamp: l.now, LeaderEpoch: 8},
	}})
	if l.Next() != 5 || !l.asked(Dropped{ID: 2}) || l.Map().LastEpoch() != 7 {
		t.Errorf("next %d, leader epoch %d, %v", l.Next(), l.Map().LastEpoch(), l.acts)
	}
}

// TestGroup: which pieces go to the target as one.
func TestGroup(t *testing.T) {
	small, skip := Piece{Size: 100}, Piece{Skip: true}
	alone, zstd := Piece{Size: 100, Alone: true}, Piece{Size: 100, Kind: 4}
	for _, c := range []struct {
		name  string
		queue []Piece
		want  int
	}{
		{"nothing", nil, 0},
		{"markers only", []Piece{skip, skip}, 0},
		{"neighbours, up to the size", []Piece{small, small, small, small}, 3},
		{"markers around and between", []Piece{skip, small, skip, small, skip, alone}, 5},
		{"another codec", []Piece{small, zstd}, 1},
		{"a large one in front", []Piece{alone, small}, 1},
		{"a large one behind", []Piece{small, alone}, 1},
	} {
		if got := Group(c.queue, 300); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if got := Group(slices.Concat(c.queue, []Piece{{Size: 1000, Alone: true}}), 300); c.want > 0 && got != c.want {
			t.Errorf("%s, and more behind: %d, want %d", c.name, got, c.want)
		}
	}
}
