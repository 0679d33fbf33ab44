package offsetmap

import "fmt"

// doubt is a stretch [from, to) of target offsets whose records are ours or
// may be, at unknown source offsets; at most records of them are copies.
type doubt struct {
	from, to TargetOffset
	records  int64
}

// Doubt says that the target offsets [TargetEnd, t) hold records of ours whose
// source offsets are unknown, at most n of which may be copies of records that
// are mirrored elsewhere, before or after it. This is what a resume leaves
// behind that had to choose among several places to go on from. The stretch is
// read like foreign records, never skipped, also in front of the first run,
// and a position in front of it is [Bounded] if anything is read twice from
// there. Its records are in the order of the source, so those that are no copies
// lie between the runs around it. n may be 0: then none is a copy. The error is
// ErrOrder if t is below TargetEnd and ErrRange if n cannot be.
func (m *Map) Doubt(t TargetOffset, n int64) error {
	if t < m.targetEnd {
		return fmt.Errorf("doubt up to target %d below %d: %w", t, m.targetEnd, ErrOrder)
	}
	if n < 0 || n > int64(t-m.targetEnd) {
		return fmt.Errorf("doubt about %d records in target [%d, %d): %w", n, m.targetEnd, t, ErrRange)
	}
	if t > m.targetEnd {
		m.doubts = append(m.doubts, doubt{m.targetEnd, t, n})
	}
	m.targetEnd = t
	return nil
}

// Doubts returns how many copies all doubts that are kept add up to at most.
func (m *Map) Doubts() int64 { return sumDoubts(m.doubts) + m.hidden }

func sumDoubts(doubts []doubt) (sum int64) {
	for _, d := range doubts {
		sum += d.records
	}
	return sum
}

// afterDoubt is the kind of an inverse answer for t in the hole that begins at
// end: Bounded if records in doubt lie between, otherwise kind.
func (m *Map) afterDoubt(kind Kind, end, t TargetOffset) Kind {
	if len(m.doubts) == 0 {
		return kind
	}
	if i := m.doubtAbove(end); i < len(m.doubts) && m.doubts[i].from < t {
		return Bounded
	}
	return kind
}

// doubtful completes p, the place of c in a hole, if records in doubt are read
// from there before the next run. end is one past the last mirrored record
// below c. What is repeated then: the copies, and of the records that are no
// copies those with source offsets in [end, c), which the reader has read.
func (m *Map) doubtful(p Position, c, end SourceOffset) Position {
	if len(m.doubts) == 0 {
		return p
	}
	var length, copies int64
	for i := m.doubtAbove(p.Target); i < len(m.doubts) && m.Count(p.Target, m.doubts[i].to) == 0; i++ {
		length += int64(m.doubts[i].to - m.doubts[i].from)
		copies += m.doubts[i].records
	}
	if n := copies + min(int64(c-end), length-copies); n > 0 {
		p.Kind, p.N = Bounded, n
	}
	return p
}

// sealedDoubts returns how many copies the doubts of all known blocks hold.
func (m *Map) sealedDoubts() int64 {
	return sumDoubts(m.doubts[:m.doubtAbove(m.tail.from.target)])
}

// hide sets how many copies the missing blocks hold at most: n, as far as they
// have room for them.
func (m *Map) hide(n int64) {
	var room int64
	for i := range m.segs {
		if m.segs[i].missing {
			room += m.segs[i].records
		}
	}
	m.hidden = min(max(n, 0), room)
}

// disjoint says that no marker overlaps a doubt.
func disjoint(markers []span, doubts []doubt) bool {
	i := 0
	for _, d := range doubts {
		for i < len(markers) && markers[i].to <= d.from {
			i++
		}
		if i < len(markers) && markers[i].from < d.to {
			return false
		}
	}
	return true
}
