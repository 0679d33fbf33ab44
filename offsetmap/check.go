package offsetmap

import "fmt"

// Check verifies the invariants named in the package documentation that can be
// seen in the map itself (OM10 is about pairs of answers), by decoding all of
// it. It is for tests and for tools that inspect a ledger; an error names the
// invariant.
func (m *Map) Check() error {
	if err := m.checkEnds(); err != nil {
		return err
	}
	at, before := m.floor, m.tail.before
	if len(m.segs) > 0 {
		before = m.segs[0].before
	}
	w := &holes{lost: m.lost, markers: m.markers}
	number := int64(-1)
	for i := range m.segs {
		g := &m.segs[i]
		if g.missing && i == 0 {
			at = g.from // the first run's start, which is known from the tail
		}
		if g.from != at || g.before != before {
			return fmt.Errorf("OM5: block %v starts at %v with %d records before it, not at %v with %d",
				g.numbers, g.from, g.before, at, before)
		}
		if err := g.check(w); err != nil {
			return fmt.Errorf("block %v: %w", g.numbers, err)
		}
		for _, n := range g.numbers {
			if int64(n) <= number || n >= m.next {
				return fmt.Errorf("OM6: block %d after %d, next is %d", n, number, m.next)
			}
			number = int64(n)
		}
		at, before = g.to, before+g.records
	}
	if m.tail.from != at || m.tail.before != before {
		return fmt.Errorf("OM5: tail starts at %v, not at %v", m.tail.from, at)
	}
	if err := m.tail.check(w); err != nil {
		return fmt.Errorf("tail: %w", err)
	}
	if m.open.Count == 0 {
		if m.tail.runs > 0 {
			return fmt.Errorf("OM4: %d encoded runs and no open one", m.tail.runs)
		}
		return nil
	}
	if m.open.Count < 0 || !m.tail.to.atOrBelow(m.open.start()) {
		return fmt.Errorf("OM1: open run %v after %v", m.open, m.tail.to)
	}
	if m.tail.runs > 0 && m.tail.to == m.open.start() {
		return fmt.Errorf("OM2: open run %v touches the run before", m.open)
	}
	if m.tail.runs == 0 && m.tail.first != m.open.start() {
		return fmt.Errorf("OM5: tail's first run is at %v, not at %v", m.tail.first, m.open.start())
	}
	if !w.clear(m.open) {
		return fmt.Errorf("OM3: open run %v overlaps a lost stretch or marker", m.open)
	}
	return nil
}

// checkEnds verifies what does not need the runs.
func (m *Map) checkEnds() error {
	end := point{m.through, m.targetEnd}
	begin := point{m.origin.SourceStart, m.origin.Base}
	if !m.last().atOrBelow(end) || !begin.atOrBelow(m.floor) || !m.trimmed && begin != m.floor {
		return fmt.Errorf("OM7: origin %v, floor %v, last run's end %v, end %v", begin, m.floor, m.last(), end)
	}
	at := m.floor
	for i, l := range m.lost {
		if l.from < at.source || l.to <= l.from || l.to > m.through || l.records <= 0 || l.records > int64(l.to-l.from) {
			return fmt.Errorf("OM3: lost stretch %d %+v after %d", i, l, at.source)
		}
		at.source = l.to
	}
	for i, s := range m.markers {
		if s.from < at.target || i > 0 && s.from == at.target || s.to <= s.from || s.to > m.targetEnd {
			return fmt.Errorf("OM3: marker %d %+v after %d", i, s, at.target)
		}
		at.target = s.to
	}
	last := EpochStart{-1, -1}
	for _, e := range m.epochs {
		if e.Epoch <= last.Epoch || e.Start <= last.Start {
			return fmt.Errorf("OM9: epoch %+v after %+v", e, last)
		}
		last = e
	}
	return nil
}

// check decodes a segment; w moves along over the map's hole lists.
func (g *segment) check(w *holes) error {
	if g.missing {
		if !g.from.atOrBelow(g.to) || g.runs != 0 || g.records != int64(g.to.target-g.from.target) {
			return fmt.Errorf("OM5: missing stretch from %v to %v, %d records", g.from, g.to, g.records)
		}
		return nil
	}
	n, at, records := 0, g.from, int64(0)
	for r := range g.all() {
		if r.Count < 1 || !at.atOrBelow(r.start()) {
			return fmt.Errorf("OM1: run %v after %v", r, at)
		}
		if n > 0 && r.start() == at {
			return fmt.Errorf("OM2: run %v touches the run before", r)
		}
		if n == 0 && g.first != r.start() {
			return fmt.Errorf("OM5: first run at %v, not at %v", r.start(), g.first)
		}
		if !w.clear(r) {
			return fmt.Errorf("OM3: run %v overlaps a lost stretch or marker", r)
		}
		if n%restartEvery == 0 {
			if i := n / restartEvery; i >= g.restarts.len() || !g.restartFits(i, at, records, r) {
				return fmt.Errorf("OM8: no or wrong state kept at run %d", n)
			}
		}
		n, at, records = n+1, r.end(), records+r.Count
	}
	if n != g.runs || at != g.to || records != g.records || g.restarts.len() != (n+restartEvery-1)/restartEvery {
		return fmt.Errorf("OM8: %d runs with %d records up to %v, kept are %d, %d, %v", n, records, at, g.runs, g.records, g.to)
	}
	return nil
}

func (g *segment) restartFits(i int, at point, records int64, r Run) bool {
	k := g.restarts.at(i)
	if k.at != at || k.records != records || k.pos < 0 || k.pos >= len(g.data) {
		return false
	}
	got, _ := runAt(g.data, k.pos, at)
	return got == r
}
