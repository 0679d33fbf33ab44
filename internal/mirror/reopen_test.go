package mirror

import (
	"testing"

	"tidemark/internal/lane"
)

// A partition that was stopped with a batch under way, and whose ends must be looked at again (its topic was out of sight
// for a moment, or a fetch was refused), is fenced and opened at the same time. Whichever ends first, it goes on.
func TestFenceThatEndsBeforeTheLookAtBothEnds(t *testing.T) {
	_, l, p := livePart(t)
	// One unit is on its way to the target ...
	p.core.Accept(lane.Piece{ID: 1, First: 0, Next: 10, Size: 100, Count: 10, MaxTimestamp: now()})
	p.core.Advance(now())
	p.core.Prepared(1, []lane.Output{{ID: 2, Count: 10, Size: 100, Next: 10, MaxTimestamp: now()}}, now())
	// ... when the topic is out of sight for one look, and in sight again at the next.
	l.halt(p, "the source topic is gone", false)
	p.reopen, p.retryAt = true, 1
	l.tick() // restart: the fence begins, and so does the look at both ends
	l.handle(partFenced{part: p, core: p.core, epoch: 10})
	l.handle(partLooked{part: p, core: p.core})
	l.handle(opened{part: p, m: p.core.Map()})
	for range 200 { // ten seconds of ticks
		l.tick()
	}
	if p.core.Busy() && p.step == live {
		t.Error("the partition waits for a look whose answer was thrown away: it stands still for good, and counts as running")
	}
}
