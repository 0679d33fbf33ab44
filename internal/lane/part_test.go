package lane

import (
	"testing"

	"tidemark/internal/batch"
	"tidemark/offsetmap"
)

func freshPart() *Part { return NewPart(DefaultLimits(), offsetmap.New(offsetmap.Origin{}), 3) }

// A drain drops what is queued. A marker that arrives afterwards must not move through past it.
func TestDrainAcceptsNothingMore(t *testing.T) {
	p := freshPart()
	now := int64(1_000_000_000)
	p.Accept(Piece{ID: 1, First: 0, Next: 10, Count: 10, Size: 100, MaxTimestamp: now})
	p.Drain()
	if p.Accept(Piece{ID: 2, First: 10, Next: 11, Skip: true}) {
		t.Error("a draining part accepts")
	}
	p.Advance(now)
	if th := p.Map().Through(); th != 0 || !p.Clean() {
		t.Fatalf("LOSS: through %d although nothing was sent; clean=%v", th, p.Clean())
	}
}

// The answer to a fence finds the partition stopped for another reason meanwhile.
func TestFenceAnswerDoesNotReviveAStoppedPart(t *testing.T) {
	p := freshPart()
	now := int64(1_000_000_000)
	p.Accept(Piece{ID: 1, First: 0, Next: 10, Count: 10, Size: 100, MaxTimestamp: now})
	p.Advance(now)
	acts := p.Prepared(1, []Output{{ID: 5, Count: 10, Size: 100, Spans: []batch.Span{{Offset: 0, Count: 10}}, Next: 10, MaxTimestamp: now}}, now)
	u := acts[0].(Send).Unit
	p.Answered(u, Result{Answer: Sequence}, now)
	p.Stop("the source topic was created again", now)
	p.Fenced(4)
	p.Looked([]Landed{{Base: 0, Count: 1, Marker: true, Epoch: 4}}, 1, now)
	if _, s := p.Stopped(); !s {
		t.Fatal("runs again without Restart")
	}
}

// Two markers, of a fence that failed late and of one that succeeded, and the first one's header is gone: the record in
// doubt fits the free offset, but it never landed.
func TestHiddenOffsetsAreNotTakenForLanded(t *testing.T) {
	p := freshPart()
	now := int64(1_000_000_000_000)
	old := now - 48*3600*1000
	p.Accept(Piece{ID: 1, First: 0, Next: 1, Count: 1, Size: 100, MaxTimestamp: old})
	p.Advance(now)
	acts := p.Prepared(1, []Output{{ID: 5, Count: 1, Size: 100, Spans: []batch.Span{{Offset: 0, Count: 1}}, Next: 1, MaxTimestamp: old}}, now)
	u := acts[0].(Send).Unit
	p.Answered(u, Result{Answer: InDoubt}, now)
	p.Advance(now + 5000)
	p.FenceFailed("not complete in time", now)
	p.Restart()
	p.Fenced(5)
	p.Looked([]Landed{{Base: 1, Count: 1, Marker: true, Epoch: 5}}, 2, now)
	if p.Next() != 0 {
		t.Fatalf("LOSS: next %d, the record never landed", p.Next())
	}
}
