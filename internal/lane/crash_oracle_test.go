package lane

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/offsetmap"
)

// passed checks LN4 as the world sees it: what a map says is accounted for, and the source still holds, is on the target.
func (w *crashWorld) passed(p *crashPair, m *offsetmap.Map) {
	if o := m.Origin(); o.Incarnation != p.origin.Incarnation || o.Incarnation > 0 && o != p.origin {
		return // that map is not in the ledger yet, no more, or of an owner that is fenced
	}
	if through := int64(m.Through()); through > p.least {
		p.least = through
	}
	w.checkLoss(p)
}

// checkLoss looks at what was not looked at before: what is on the target once was there, and what is gone from the source
// was judged when the map passed it.
func (w *crashWorld) checkLoss(p *crashPair) {
	if p.checked >= p.least {
		return
	}
	p.source.each(func(r crashRec) {
		if r.offset >= p.checked && r.offset < p.least && !p.skipped[r.offset] && !p.target.copied(r.offset, -1) {
			w.fail("LOSS: record %d of %s is not on the target, mirrored is up to %d", r.offset, p.source.name, p.least)
		}
	})
	p.checked = p.least
}

// check is the oracle at the end, when the owner has caught up: nothing lost, order kept, no record twice beyond what was
// announced, and positions right in both directions.
func (w *crashWorld) check(o *crashOwner) {
	var twice int64
	for _, p := range w.pairs {
		p.least = p.source.end
		w.checkLoss(p)
		w.checkOrder(p)
		twice += p.target.twice
	}
	if twice > w.reported {
		w.fail("DUPLICATES: %d records stand twice, announced were %d", twice, w.reported)
	}
	for _, p := range o.parts {
		if !p.core.Opened() {
			w.fail("%s never got %s open: %s", o.name, p.target.name, p.core.Reason())
			continue
		}
		m := p.core.Map()
		if err := m.Check(); err != nil {
			w.fail("map of %s: %v", p.target.name, err)
		}
		for c := int64(m.Origin().SourceStart); c <= int64(m.Through()); c++ {
			if err := p.checkNext(m, c); err != nil {
				w.fail("position %d of %s: %v", c, p.source.name, err)
			}
		}
		for t := p.target.start; t <= int64(m.TargetEnd()); t++ {
			if err := p.checkBack(m, t); err != nil {
				w.fail("position %d of %s: %v", t, p.target.name, err)
			}
		}
	}
}

// checkOrder: each record's first copy stands behind the first copies of all records before it.
func (w *crashWorld) checkOrder(p *crashPair) {
	most := int64(-1)
	seen := map[int64]bool{}
	for _, r := range p.target.ever {
		if r.from < 0 || seen[r.from] {
			continue
		}
		if r.from < most {
			w.fail("ORDER: record %d of %s stands behind %d", r.from, p.source.name, most)
		}
		seen[r.from], most = true, max(most, r.from)
	}
}

// checkNext follows a reader who has read the source below c and goes on, on the target, where the map says. He never
// misses a record, and reads no more again than the position says. After an alignment that was not exact a record that was
// mirrored, is gone from the source and stands in doubt below his place counts as gone for him too: the source would not give
// it to him either.
func (p *crashPart) checkNext(m *offsetmap.Map, c int64) error {
	pos := m.Next(offsetmap.SourceOffset(c))
	at := map[int64]bool{} // which records he finds
	var again int64
	for _, r := range p.target.ever {
		if r.from < 0 || r.offset < int64(pos.Target) {
			continue
		}
		at[r.from] = true
		if r.from < c && p.target.holds(r.offset) {
			again++
		}
	}
	for _, r := range p.target.ever {
		if r.from >= c && !at[r.from] && p.target.holds(r.offset) && !p.skipped[r.from] && !(p.inexact && p.source.lost(r.from)) {
			return fmt.Errorf("LATE: goes on at %d (%v), record %d stands at %d", pos.Target, pos.Kind, r.from, r.offset)
		}
	}
	switch pos.Kind {
	case offsetmap.Exact, offsetmap.AtEnd, offsetmap.BeforeStart:
		if again > 0 && !p.doubled(int64(pos.Target)) {
			return fmt.Errorf("goes on at %d (%v) and reads %d records again", pos.Target, pos.Kind, again)
		}
	case offsetmap.Bounded:
		if again > pos.N {
			return fmt.Errorf("goes on at %d and reads %d records again, said were %d at most", pos.Target, again, pos.N)
		}
	default: // below what is kept, or nothing mirrored
	}
	return nil
}

// lost says that the source does not hold a record any more.
func (s *crashSource) lost(offset int64) bool {
	lost := true
	s.each(func(r crashRec) { lost = lost && r.offset != offset })
	return lost
}

// doubled says that records stand twice at or above the offset: their second copies are read again from anywhere.
func (p *crashPart) doubled(from int64) bool {
	seen := map[int64]bool{}
	for _, r := range p.target.ever {
		if r.from >= 0 && seen[r.from] && r.offset >= from {
			return true
		}
		seen[r.from] = true
	}
	return false
}

// checkBack follows a reader who has read the target below t and goes back to the source. In front of the first run
// that is the first run's start: what was mirrored below it and then removed on the target he would not have got there
// either.
func (p *crashPart) checkBack(m *offsetmap.Map, t int64) error {
	back, kind := m.Source(offsetmap.TargetOffset(t))
	read := map[int64]bool{}
	for _, r := range p.target.ever {
		if r.offset < t || kind == offsetmap.BeforeStart && !p.target.holds(r.offset) {
			read[r.from] = true
		}
	}
	var err error
	p.source.each(func(r crashRec) {
		if r.offset < int64(back) && r.offset >= int64(m.Origin().SourceStart) && !read[r.offset] && !p.skipped[r.offset] {
			err = fmt.Errorf("LATE: goes back to %d (%v), record %d was not read", back, kind, r.offset)
		}
	})
	return err
}

// tell is the story of a failed history.
func (w *crashWorld) tell() string {
	var b strings.Builder
	story := w.story
	if len(story) > 600 { // a lane that does not get to its end says the same over and over
		story = slices.Concat(story[:500], []string{"..."}, story[len(story)-100:])
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(story, "\n"))
	for _, p := range w.pairs {
		fmt.Fprintf(&b, "%s from %d:", p.source.name, p.source.start)
		for _, s := range p.source.batches {
			fmt.Fprintf(&b, " [%d-%d", s.base, s.next)
			switch {
			case s.removed:
				b.WriteString(" removed")
			case s.blank:
				b.WriteString(" blank")
			default:
				for i, r := range s.recs {
					if !s.gone[i] {
						fmt.Fprintf(&b, " %d:%d/%d", r.offset, r.key, r.hash)
					}
				}
			}
			b.WriteString("]")
		}
		fmt.Fprintf(&b, "\n%s from %d to %d:", p.target.name, p.target.start, p.target.end)
		for _, s := range p.target.batches {
			if fmt.Fprintf(&b, " [%d-%d epoch %d", s.base, s.end, s.epoch); s.marker {
				b.WriteString(" marker")
			}
			for _, r := range s.recs {
				fmt.Fprintf(&b, " %d=%d", r.offset, r.from)
			}
			b.WriteString("]")
		}
		b.WriteString("\n")
	}
	return b.String()
}
