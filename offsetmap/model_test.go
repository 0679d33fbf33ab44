package offsetmap_test

import (
	"math"
	"sort"

	"tidemark/offsetmap"
)

type (
	src = offsetmap.SourceOffset
	tgt = offsetmap.TargetOffset
)

// pair is one mirrored record.
type pair struct {
	s src
	t tgt
}

// lostMark is one call of Lose.
type lostMark struct {
	from, to src
	n        int64
}

// sealedMark is what the model remembers of a sealed block: its number and one
// past the last record before and in it.
type sealedMark struct {
	number uint32
	from   pair
	to     pair
}

// model is the dumb oracle: every record as a pair, every marker as an offset.
// It answers from the definition, by looking at records one by one.
type model struct {
	start     src
	base      tgt
	through   src
	targetEnd tgt
	pairs     []pair
	marker    map[tgt]bool
	lost      []lostMark
	doubts    []doubtMark
	blocks    []sealedMark
	floor     pair
	trimmed   bool
	next      uint32
	epochs    []offsetmap.EpochStart
}

func newModel(o offsetmap.Origin) *model {
	return &model{
		start: o.SourceStart, base: o.Base, through: o.SourceStart, targetEnd: o.Base,
		marker: map[tgt]bool{}, floor: pair{o.SourceStart, o.Base},
	}
}

func (m *model) append(r offsetmap.Run) {
	for i := range r.Count {
		m.pairs = append(m.pairs, pair{r.Source + src(i), r.Target + tgt(i)})
	}
	m.through, m.targetEnd = r.Source+src(r.Count), r.Target+tgt(r.Count)
}

func (m *model) mark(to tgt) {
	for ; m.targetEnd < to; m.targetEnd++ {
		m.marker[m.targetEnd] = true
	}
}

func (m *model) lose(to src, n int64) {
	if n > 0 {
		m.lost = append(m.lost, lostMark{m.through, to, n})
	}
	m.through = to
}

// others counts the offsets of what is kept that are nobody's of ours.
func (m *model) others() (n int64) {
	ours := map[tgt]bool{}
	for _, p := range m.pairs {
		ours[p.t] = true
	}
	for _, d := range m.doubts {
		for t := d.from; t < d.to; t++ {
			ours[t] = true
		}
	}
	for t := m.floor.t; t < m.targetEnd; t++ {
		if !ours[t] && !m.marker[t] {
			n++
		}
	}
	return n
}

// runs merges the pairs to runs.
func (m *model) runs() []offsetmap.Run {
	var out []offsetmap.Run
	for _, p := range m.pairs {
		if n := len(out); n > 0 && out[n-1].Source+src(out[n-1].Count) == p.s && out[n-1].Target+tgt(out[n-1].Count) == p.t {
			out[n-1].Count++
			continue
		}
		out = append(out, offsetmap.Run{Source: p.s, Target: p.t, Count: 1})
	}
	return out
}

// seal says what a block sealed now would cover: all runs after the last
// block, but for the last run.
func (m *model) seal() (sealedMark, bool) {
	from := m.floor
	if n := len(m.blocks); n > 0 {
		from = m.blocks[n-1].to
	}
	var open []offsetmap.Run
	for _, r := range m.runs() {
		if r.Source >= from.s && r.Target >= from.t {
			open = append(open, r)
		}
	}
	if len(open) < 2 {
		return sealedMark{}, false
	}
	last := open[len(open)-2]
	b := sealedMark{m.next, from, pair{last.Source + src(last.Count), last.Target + tgt(last.Count)}}
	m.blocks = append(m.blocks, b)
	m.next++
	return b, true
}

func (m *model) skipMarkers(t tgt) tgt {
	for m.marker[t] {
		t++
	}
	return t
}

// lostAhead sums what is lost between c and the next record.
func (m *model) lostAhead(c src) int64 {
	next := src(math.MaxInt64)
	if i := m.below(c); i < len(m.pairs) {
		next = m.pairs[i].s
	}
	var sum int64
	for _, l := range m.lost {
		if l.to > c && l.from < next {
			sum += l.n
		}
	}
	return sum
}

// below counts the pairs with source offsets below c.
func (m *model) below(c src) int {
	return sort.Search(len(m.pairs), func(i int) bool { return m.pairs[i].s >= c })
}

// belowTarget counts the pairs with target offsets below t.
func (m *model) belowTarget(t tgt) int {
	return sort.Search(len(m.pairs), func(i int) bool { return m.pairs[i].t >= t })
}

func (m *model) nextPosition(c src) offsetmap.Position {
	end := m.floor.t
	if n := len(m.pairs); n > 0 {
		end = m.pairs[n-1].t + 1
	}
	i := m.below(c)
	p := offsetmap.Position{Lost: m.lostAhead(c)}
	switch {
	case c > m.through:
		p.Kind, p.N, p.Lost = offsetmap.BeyondMirrored, int64(c-m.through), 0
		p.Target = m.skipMarkers(end)
	case c < m.floor.s:
		p.Kind, p.N, p.Target = offsetmap.NotMirrored, int64(m.floor.s-c), m.skipMarkers(end)
		if m.trimmed {
			p.Kind = offsetmap.Trimmed
		}
		if len(m.pairs) > 0 {
			p.Target = m.pairs[0].t
			if m.doubtInFront() {
				p.Target = m.skipMarkers(m.floor.t)
			}
			if m.trimmed {
				p.N = int64(m.pairs[0].s - c)
			}
		}
	case len(m.pairs) == 0:
		p.Kind, p.Target = offsetmap.AtEnd, m.skipMarkers(end)
		p = m.bounded(p, c, m.floor.s)
	case i == len(m.pairs):
		p.Kind, p.Target = offsetmap.AtEnd, m.skipMarkers(end)
		p = m.bounded(p, c, m.pairs[i-1].s+1)
	case i > 0:
		p.Kind, p.Target = offsetmap.Exact, m.skipMarkers(m.pairs[i-1].t+1)
		p = m.bounded(p, c, m.pairs[i-1].s+1)
	case m.trimmed || m.doubtInFront():
		p.Kind, p.Target = offsetmap.Exact, m.skipMarkers(m.floor.t)
		p = m.bounded(p, c, m.floor.s)
	case c < m.pairs[0].s:
		p.Kind, p.Target = offsetmap.BeforeStart, m.pairs[0].t
	default:
		p.Kind, p.Target = offsetmap.Exact, m.pairs[0].t
	}
	return p
}

func (m *model) source(t tgt) (src, offsetmap.Kind) {
	first, last := m.floor, m.floor
	n := len(m.pairs)
	if n > 0 {
		first, last = m.pairs[0], pair{m.pairs[n-1].s + 1, m.pairs[n-1].t + 1}
	}
	if m.doubtInFront() {
		first = m.floor
	}
	behind := func(end tgt, k offsetmap.Kind) offsetmap.Kind {
		for _, d := range m.doubts {
			if d.to > end && d.from < t {
				return offsetmap.Bounded
			}
		}
		return k
	}
	i := m.belowTarget(t)
	switch {
	case t > m.targetEnd:
		return last.s, offsetmap.BeyondMirrored
	case t < m.floor.t && m.trimmed:
		return m.floor.s, offsetmap.Trimmed
	case t < m.floor.t:
		return m.floor.s, offsetmap.NotMirrored
	case i == n:
		return last.s, behind(last.t, offsetmap.AtEnd)
	case i > 0:
		return m.pairs[i-1].s + 1, behind(m.pairs[i-1].t+1, offsetmap.Exact)
	case m.trimmed || m.doubtInFront():
		return m.floor.s, behind(m.floor.t, offsetmap.Exact)
	case t < first.t:
		return m.floor.s, offsetmap.BeforeStart
	}
	return m.floor.s, offsetmap.Exact
}

func (m *model) count(a, b tgt) (n int64) {
	for _, p := range m.pairs {
		if p.t >= a && p.t < b {
			n++
		}
	}
	return n
}

func (m *model) keepEpochs(keep func(i int) bool) {
	var kept []offsetmap.EpochStart
	for i, e := range m.epochs {
		if keep(i) {
			kept = append(kept, e)
		}
	}
	m.epochs = kept
}

func (m *model) noteEpoch(epoch int32, at src) {
	for _, e := range m.epochs {
		if e.Epoch == epoch && e == m.epochs[len(m.epochs)-1] {
			return
		}
	}
	m.keepEpochs(func(i int) bool { return m.epochs[i].Epoch < epoch && m.epochs[i].Start < at })
	m.epochs = append(m.epochs, offsetmap.EpochStart{Epoch: epoch, Start: at})
}

// trim drops whole blocks that end at or below the given place on one side.
func (m *model) trim(below func(to pair) bool) (dropped []uint32) {
	for len(m.blocks) > 0 && below(m.blocks[0].to) {
		dropped = append(dropped, m.blocks[0].number)
		m.floor, m.trimmed = m.blocks[0].to, true
		m.blocks = m.blocks[1:]
	}
	for len(m.pairs) > 0 && m.pairs[0].s < m.floor.s {
		m.pairs = m.pairs[1:]
	}
	for len(m.lost) > 0 && m.lost[0].to <= m.floor.s {
		m.lost = m.lost[1:]
	}
	for len(m.doubts) > 0 && m.doubts[0].to <= m.floor.t {
		m.doubts = m.doubts[1:]
	}
	return dropped
}
