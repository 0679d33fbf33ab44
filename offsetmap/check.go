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
	w := &holes{lost: m.lost, markers: m.markers, doubts: m.doubts}
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
		return fmt.Errorf("OM3: open run %v overlaps a lost stretch, marker or doubt", m.open)
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
	below := m.floor.target
	for i, d := range m.doubts {
		if d.from < below || d.to <= d.from || d.to > m.targetEnd || d.records < 0 || d.records > int64(d.to-d.from) {
			return fmt.Errorf("OM3: doubt %d %+v after %d", i, d, below)
		}
		below = d.to
	}
	if !disjoint(m.markers, m.doubts) {
		return fmt.Errorf("OM3: a doubt overlaps a marker")
	}
	if len(m.Missing()) == 0 && m.hidden != 0 || m.hidden < 0 {
		return fmt.Errorf("OM3: %d hidden copies, missing blocks %v", m.hidden, m.Missing())
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
		if !g.from.atOrBelow(g.to) || g.runs != 0 || len(g.chunks) != 0 || g.records != int64(g.to.target-g.from.target) {
			return fmt.Errorf("OM5: missing stretch from %v to %v, %d records", g.from, g.to, g.records)
		}
		return nil
	}
	if err := g.checkChunks(); err != nil {
		return err
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
			return fmt.Errorf("OM3: run %v overlaps a lost stretch, marker or doubt", r)
		}
		n, at, records = n+1, r.end(), records+r.Count
	}
	if n != g.runs || at != g.to || records != g.records {
		return fmt.Errorf("OM8: %d runs with %d records up to %v, kept are %d, %d, %v", n, records, at, g.runs, g.records, g.to)
	}
	return nil
}

// checkChunks compares the kept states with what decoding gives.
func (g *segment) checkChunks() error {
	at, size := state{at: g.from}, 0
	if len(g.wide) > 0 && len(g.wide) != len(g.chunks) {
		return fmt.Errorf("OM8: %d wide states of %d chunks", len(g.wide), len(g.chunks))
	}
	for i := range g.chunks {
		k := &g.chunks[i]
		if g.state(i) != at {
			return fmt.Errorf("OM8: state %+v kept at chunk %d, not %+v", g.state(i), i, at)
		}
		if k.used == 0 || k.used > chunkRuns {
			return fmt.Errorf("OM8: chunk %d uses %d bytes", i, k.used)
		}
		if f := k.formOf(); k.form != f && (k.form != mixed || len(g.wide) == 0) {
			return fmt.Errorf("OM8: chunk %d has form %d, not %d", i, k.form, f)
		}
		pos := 0
		for pos < int(k.used) {
			var r Run
			r, pos = k.runAt(pos, at.at)
			at = state{r.end(), at.records + r.Count}
		}
		if pos != int(k.used) {
			return fmt.Errorf("OM8: a run ends at byte %d of chunk %d, which uses %d", pos, i, k.used)
		}
		size += pos
	}
	if size != g.size {
		return fmt.Errorf("OM8: %d bytes of runs, kept is %d", size, g.size)
	}
	return nil
}
