package offsetmap_test

import "tidemark/offsetmap"

// doubtMark is one call of Doubt.
type doubtMark struct {
	from, to tgt
	n        int64
}

func (m *model) doubt(to tgt, n int64) {
	if to > m.targetEnd {
		m.doubts = append(m.doubts, doubtMark{m.targetEnd, to, n})
	}
	m.targetEnd = to
}

// doubtsAhead returns the doubts that are read from t on before any record
// whose source offset is known.
func (m *model) doubtsAhead(t tgt) (out []doubtMark) {
	for _, d := range m.doubts {
		if d.to > t && m.belowTarget(t) == m.belowTarget(d.to) {
			out = append(out, d)
		}
	}
	return out
}

// doubtInFront says that a doubt is in front of the first record.
func (m *model) doubtInFront() bool {
	return len(m.doubts) > 0 && (len(m.pairs) == 0 || m.doubts[0].from < m.pairs[0].t)
}

// bounded makes p, the place of c behind the last record below it, Bounded if
// records in doubt are read from there first. Read twice are the copies, and
// those of the others that have one of the source offsets [end, c).
func (m *model) bounded(p offsetmap.Position, c, end src) offsetmap.Position {
	copies, others := int64(0), int64(0)
	for _, d := range m.doubtsAhead(p.Target) {
		copies += d.n
		others += int64(d.to-d.from) - d.n
	}
	if n := copies + min(others, int64(c-end)); n > 0 {
		p.Kind, p.N = offsetmap.Bounded, n
	}
	return p
}
