package lane

import (
	"strings"
	"testing"

	"tidemark/offsetmap"
)

// TestLookedAtWhatCannotBe: a look behind a fence that finds what nothing explains stops the partition, and it is fenced
// again before it is written, also where no unit is left that could be in doubt.
func TestLookedAtWhatCannotBe(t *testing.T) {
	ours := func(base offsetmap.TargetOffset, count int64, epoch int16, sequence int32) Landed {
		return Landed{Base: base, Count: count, Ours: true, Epoch: epoch, Sequence: sequence}
	}
	for _, c := range []struct {
		name   string
		landed []Landed
		end    offsetmap.TargetOffset
		want   string
	}{
		{"the target lost what was mirrored", nil, 0, "target log ends at 0, below the mirrored end 1 (records were lost on the target)"},
		{"a batch of ours twice", []Landed{ours(1, 1, 3, 1), ours(2, 1, 3, 2), ours(3, 1, 3, 3), ours(4, 1, 3, 3)}, 5, "target offset 4 holds an unexplained batch of ours (epoch 3, sequence 3)"},
		{"a batch of ours in another epoch", []Landed{ours(1, 1, 2, 1)}, 2, "target offset 1 holds an unexplained batch of ours (epoch 2, sequence 1)"},
		{"more records than were sent", []Landed{ours(1, 2, 3, 1)}, 3, "target offset 1 holds 2 records under our sequence 1, 1 were sent"},
		{"fewer records than were sent", []Landed{ours(1, 0, 3, 1)}, 3, "target offset 1 holds 0 records under our sequence 1, 1 were sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := threeUnits(t)
			l.step(Looked{c.landed, c.end})
			if !l.Is(Stopped) || !strings.Contains(l.Reason(), c.want) {
				t.Fatalf("%s, %q, want %q", l.state, l.Reason(), c.want)
			}
			if l.Clean() {
				t.Error("it would be released as if nothing were in doubt")
			}
			l.now += l.lim.StopRetry
			if l.step(Tick{}); !l.Is(Fencing) {
				t.Errorf("tried again without a fence: %s", l.state)
			}
		})
	}
}

// A partition that was in doubt once and was fenced is not in doubt any more.
func TestInDoubtOnce(t *testing.T) {
	l := threeUnits(t)
	l.step(FenceFailed{"not complete in time"})
	l.now += l.lim.StopRetry
	l.step(Tick{})
	l.step(FenceDone{5})
	l.step(Looked{[]Landed{{Base: 1, Count: 1, Marker: true}}, 2})
	l.acked()
	if !l.Is(Live) || !l.Clean() {
		t.Fatalf("%s, clean %t", l.state, l.Clean())
	}
	l.step(Stop{Reason: "so"})
	l.now += l.lim.StopRetry
	if l.step(Tick{}); !l.Is(Heading) {
		t.Errorf("%s", l.state)
	}
}

// Behind a fence of its own the target knows nothing of the new epoch: one unit goes first, from sequence 0.
func TestFirstUnitBehindAFence(t *testing.T) {
	l := threeUnits(t)
	l.step(Looked{[]Landed{{Base: 1, Count: 1, Marker: true}}, 2})
	l.acked()
	before := len(l.units)
	l.data(1, l.now)
	l.data(1, l.now)
	if sent := l.units[before:]; len(sent) != 1 || sent[0].Epoch != 4 || sent[0].Sequence != 0 {
		t.Errorf("%v", sent)
	}
}

// A stopped partition is fenced before its next try where a unit may be on the target, by its answer or for want of one; where
// none can be it goes on, and sequences too.
func TestStoppedWithUnits(t *testing.T) {
	for name, c := range map[string]struct {
		answer []Result
		want   State
	}{
		"on its way": {nil, Fencing},
		"in doubt":   {[]Result{{Answer: InDoubt}}, Fencing},
		"not saved":  {[]Result{{Answer: NotSaved}}, Heading},
	} {
		l := alive(t, DefaultLimits(), 3)
		l.data(7, l.now)
		for _, r := range c.answer {
			l.step(Answered{l.units[0], r})
		}
		l.step(Stop{Reason: "so"})
		if l.Clean() {
			t.Errorf("%s: it would be released as if nothing were in doubt", name)
		}
		l.now += l.lim.StopRetry
		if l.step(Tick{}); !l.Is(c.want) {
			t.Errorf("%s: %s, want %s", name, l.state, c.want)
			continue
		}
		if l.acked(); c.want == Fencing {
			continue
		}
		if l.data(1, l.now); len(l.units) != 2 || l.units[1].Sequence != 0 {
			t.Errorf("%s: %v", name, l.units)
		}
	}
}
