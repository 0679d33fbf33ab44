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

// threeUnits is a partition that is being looked at with three units of one record each (source offsets 1 to 3) in doubt;
// source offset 0 stands at target offset 0.
func threeUnits(t *testing.T) (p *Part, now int64) {
	t.Helper()
	lim := DefaultLimits()
	lim.Depth = 5
	p, now = NewPart(lim, offsetmap.New(offsetmap.Origin{}), 3), 1_000_000_000
	var units []*Unit
	for i := range int64(4) {
		p.Accept(Piece{ID: uint64(i), First: i, Next: i + 1, Count: 1, Size: 100, MaxTimestamp: now, Alone: true})
		p.Advance(now)
		acts := p.Prepared(1, []Output{{ID: uint64(10 + i), Count: 1, Size: 100, Spans: []batch.Span{{Offset: i, Count: 1}}, Next: i + 1, MaxTimestamp: now}}, now)
		if u := acts[0].(Send).Unit; i == 0 {
			p.Answered(u, Result{Answer: Acked, BaseOffset: 0}, now) // now its producer's state lives, and more may be in flight
		} else {
			units = append(units, u)
		}
	}
	p.Answered(units[0], Result{Answer: Sequence}, now)
	p.Fenced(4)
	return p, now
}

// A unit behind others proves that they landed, though compaction took them before the look.
func TestUnitsThatVanishedFromBeforeAnother(t *testing.T) {
	ours := func(base int64, sequence int32) Landed {
		return Landed{Base: base, Count: 1, Ours: true, Epoch: 3, Sequence: sequence}
	}
	foreign := func(base, n int64) Landed { return Landed{Base: base, Count: n} }
	marker := func(base int64) Landed { return Landed{Base: base, Count: 1, Marker: true, Epoch: 4} }
	for _, c := range []struct {
		name      string
		landed    []Landed
		end       int64
		next      int64 // source offset to go on at
		at        [5]int64
		uncertain int64
		stops     bool
	}{
		{"all there", []Landed{ours(1, 1), ours(2, 2), ours(3, 3), marker(4)}, 5, 4, [5]int64{0, 1, 2, 3, 5}, 0, false},
		{"the middle one", []Landed{ours(1, 1), ours(3, 3), marker(4)}, 5, 4, [5]int64{0, 1, 2, 3, 5}, 0, false},
		{"the first two", []Landed{ours(3, 3), marker(4)}, 5, 4, [5]int64{0, 1, 2, 3, 5}, 0, false},
		{"the first, and the last never landed", []Landed{ours(2, 2), marker(3)}, 4, 3, [5]int64{0, 1, 2, 4, 4}, 0, false},
		{"the middle one, a foreign record in front of it", []Landed{ours(1, 1), foreign(2, 1), ours(4, 3), marker(5)}, 6, 4, [5]int64{0, 1, 2, 2, 6}, 0, false},
		{"the middle one and a foreign record", []Landed{ours(1, 1), ours(4, 3), marker(5)}, 6, 4, [5]int64{0, 1, 2, 2, 6}, 0, false},
		{"the first, its place free before a foreign record", []Landed{foreign(2, 1), ours(3, 2), marker(4)}, 5, 3, [5]int64{0, 1, 1, 5, 5}, 0, false},
		{"no room for the middle one", []Landed{ours(1, 1), ours(2, 3), marker(3)}, 4, 0, [5]int64{}, 0, true},
		{"nothing behind", []Landed{ours(1, 1), marker(3)}, 4, 2, [5]int64{0, 1, 2, 2, 2}, 1, false},
		{"all gone", []Landed{marker(4)}, 5, 1, [5]int64{0, 1, 1, 1, 1}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, now := threeUnits(t)
			p.Looked(c.landed, c.end, now)
			if why, stopped := p.Stopped(); stopped != c.stops {
				t.Fatalf("stopped %v: %s", stopped, why)
			} else if stopped {
				return
			}
			if p.Next() != c.next || p.Uncertain() != c.uncertain {
				t.Errorf("goes on at %d with %d uncertain, want %d with %d", p.Next(), p.Uncertain(), c.next, c.uncertain)
			}
			for o, want := range c.at {
				if pos := p.Map().Next(offsetmap.SourceOffset(o)); int64(pos.Target) != want {
					t.Errorf("source %d is at %+v, want %d", o, pos, want)
				}
			}
		})
	}
}
