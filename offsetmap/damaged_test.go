package offsetmap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/offsetmap"
)

// The histories here go on while blocks get lost, damaged and found again. The
// model knows the truth, so it says how early an answer is; where the map has
// a free choice (where a block ends) the model follows the map, after checking
// that the choice is a safe one.

func (h *history) adoptSeal(b offsetmap.Block, ok bool) {
	if !ok {
		return
	}
	h.stored[b.Number] = slices.Clone(b.Data)
	from := h.model.floor
	if n := len(h.model.blocks); n > 0 {
		from = h.model.blocks[n-1].to
	}
	runs := slices.Collect(h.m.Runs()) // the last is open, the one before it ends the block
	last := runs[len(runs)-2]
	to := pair{last.Source + src(last.Count), last.Target + tgt(last.Count)}
	h.model.blocks = append(h.model.blocks, sealedMark{b.Number, from, to})
	h.model.next = b.Number + 1
}

func (h *history) adoptTrim(got []uint32, below func(to pair) bool) {
	m := h.model
	for _, n := range got {
		if m.blocks[0].number != n || !below(m.blocks[0].to) {
			h.t.Fatalf("trim dropped %v; block %d ends at %+v", got, m.blocks[0].number, m.blocks[0].to)
		}
		to := m.blocks[0].to
		m.trim(func(p pair) bool { return p == to })
	}
}

// damage lets a block disappear, breaks its bytes, or brings one back, and
// loads the map again.
func (h *history) damage() {
	h.damaged = true
	for _, b := range h.ledger() {
		fate := rapid.IntRange(0, 5).Draw(h.t, "fate")
		if _, already := h.lost[b.Number]; already || fate > 2 {
			continue
		}
		h.lost[b.Number] = b.Data
		switch fate {
		case 0:
			delete(h.stored, b.Number)
		case 1:
			h.stored[b.Number] = b.Data[:rapid.IntRange(0, len(b.Data)-1).Draw(h.t, "cut short")]
		case 2:
			h.stored[b.Number] = append([]byte(nil), h.ledger()[0].Data...) // another block's content
			if b.Number == h.ledger()[0].Number {
				delete(h.stored, b.Number)
			}
		}
	}
	for _, b := range h.model.blocks {
		if d, ok := h.lost[b.number]; ok && rapid.IntRange(0, 3).Draw(h.t, "found") == 0 {
			h.stored[b.number] = d
			delete(h.lost, b.number)
		}
	}
	h.reload()
}

// onlyMarkers says that from a to b there is nothing to read.
func (m *model) onlyMarkers(a, b tgt) bool {
	for ; a < b; a++ {
		if !m.marker[a] {
			return false
		}
	}
	return true
}

// mayBeBounded says whether the map has a reason not to know the place of c: it
// is in a missing block, or at the start of one that may begin with records in
// doubt.
func (h *history) mayBeBounded(c src) bool {
	missing := h.m.Missing()
	return slices.ContainsFunc(h.model.blocks, func(b sealedMark) bool {
		inside := b.from.s < c && c <= b.to.s || h.hidden && c == b.from.s
		return inside && slices.Contains(missing, b.number)
	})
}

// readTwice is how many records a reader at least reads again that begins at t
// and whose true position is p.
func (m *model) readTwice(t tgt, p offsetmap.Position) int64 {
	n := m.count(t, p.Target)
	for _, d := range m.doubts {
		if d.to > t && (d.to <= p.Target || m.belowTarget(p.Target) == m.belowTarget(d.to)) {
			n += d.n
		}
	}
	return n
}

func (h *history) verifyDamaged(n int) {
	if err := h.m.Check(); err != nil {
		h.t.Fatal(err)
	}
	missing := h.m.Missing()
	h.hidden = h.hidden || len(missing) > 0 && len(h.model.doubts) > 0
	var last tgt
	for _, c := range h.queries(n) {
		got, truth := h.m.Next(c), h.model.nextPosition(c)
		switch {
		case got.Target > truth.Target || got.Lost > truth.Lost:
			h.t.Fatalf("late: Next(%d) = %+v, truth is %+v", c, got, truth)
		case got.Kind == offsetmap.Bounded:
			if n := max(h.model.readTwice(got.Target, truth), truth.N); n > got.N {
				h.t.Fatalf("Next(%d) = %+v, but from there to %+v are %d records", c, got, truth, n)
			}
			if truth.Kind != offsetmap.Bounded && !h.mayBeBounded(c) {
				h.t.Fatalf("Next(%d) = %+v, but no missing block is there (missing %v, truth %+v)", c, got, missing, truth)
			}
		case got.Kind != truth.Kind:
			h.t.Fatalf("Next(%d) = %+v, truth is %+v", c, got, truth)
		case got.Kind == offsetmap.Trimmed:
			if got.N > truth.N || got.N < 0 {
				h.t.Fatalf("Next(%d) = %+v, truth is %+v", c, got, truth)
			}
		case got.N != truth.N || !h.model.onlyMarkers(got.Target, truth.Target):
			h.t.Fatalf("Next(%d) = %+v, truth is %+v", c, got, truth)
		}
		if got.Kind != offsetmap.Trimmed {
			if got.Target < last {
				h.t.Fatalf("OM10: Next(%d) = %+v after %d", c, got, last)
			}
			last = got.Target
		}
		h.verifyInverse(got.Target, truth.Target)
	}
}

func (h *history) verifyInverse(a, b tgt) {
	for _, t := range []tgt{a, b, b + 1} {
		s, k := h.m.Source(t)
		ws, wk := h.model.source(t)
		if s > ws || k != wk && k != offsetmap.Bounded || k == offsetmap.Exact && s != ws {
			h.t.Fatalf("Source(%d) = %d, %v, truth is %d, %v", t, s, k, ws, wk)
		}
	}
	from := tgt(rapid.Int64Range(0, int64(h.m.TargetEnd())+1).Draw(h.t, "from"))
	if got, want := h.m.Count(from, b), h.model.count(from, b); got < want {
		h.t.Fatalf("Count(%d, %d) = %d, truth is %d", from, b, got, want)
	}
}

func TestDamagedMapIsNeverLate(t *testing.T) {
	bounded := 0
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(2, 10).Draw(t, "chapters") {
			for range rapid.IntRange(10, 80).Draw(t, "steps") {
				h.step()
				if h.damaged {
					h.verifyDamaged(1)
				}
			}
			h.damage()
			bounded += len(h.m.Missing())
			h.verifyDamaged(20)
		}
	})
	if bounded == 0 {
		t.Fatal("no block was missing in any history")
	}
}
