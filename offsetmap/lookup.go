package offsetmap

import (
	"fmt"
	"math"
	"sort"
)

// Kind says how exact an answer is. The zero value is no kind.
type Kind uint8

const (
	// Exact: resuming there neither repeats nor skips a mirrored record.
	Exact Kind = iota + 1
	// AtEnd: exact, and no mirrored record follows.
	AtEnd
	// BeforeStart: below the first run, and nothing between the position and
	// the first run existed when mirroring began. Exact: the first run's start.
	BeforeStart
	// NotMirrored: below the place where mirroring began. The target is the
	// start of the first run; what lies between was never mirrored.
	NotMirrored
	// BeyondMirrored: above Through (TargetEnd for [Map.Source]). The target
	// is where the mirror ends; ask again when it has advanced.
	BeyondMirrored
	// Trimmed: inside blocks dropped by TrimSource or TrimTarget. The target
	// is the start of the first run that is kept.
	Trimmed
	// Bounded: inside missing blocks. The target is right after the last
	// known record below, never late.
	Bounded
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case Exact:
		return "exact"
	case AtEnd:
		return "at end"
	case BeforeStart:
		return "before start"
	case NotMirrored:
		return "not mirrored"
	case BeyondMirrored:
		return "beyond mirrored"
	case Trimmed:
		return "trimmed"
	case Bounded:
		return "bounded"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Position is a translated position.
type Position struct {
	Target TargetOffset
	Kind   Kind
	// N counts, by kind: BeyondMirrored: source offsets ahead of Through;
	// Bounded: mirrored records read again at most; NotMirrored: source offsets
	// below the first one to mirror; Trimmed: source offsets below the first
	// kept run. The two last are upper bounds of records. Otherwise 0.
	N int64
	// Lost is how many records at most were lost between the position and the
	// next mirrored record: the stretches of [Map.Lose] that end above the
	// position, in whole. The kind is not changed by it.
	Lost int64
}

// Next translates c, the source offset of the next record to read: one past
// the last mirrored record below c, then over markers. Without a mirrored
// record below c it is the start of the first run, or with no run at all where
// mirroring began, over markers.
func (m *Map) Next(c SourceOffset) Position {
	end := m.last()
	switch {
	case c > m.through:
		return Position{Target: m.overMarkers(end.target), Kind: BeyondMirrored, N: distance(m.through, c)}
	case m.empty():
		return m.nextOfNone(c)
	case c <= m.first().source:
		return m.nextBelowFirst(c)
	case c >= end.source:
		return Position{Target: m.overMarkers(end.target), Kind: AtEnd, Lost: m.lostBetween(c, math.MaxInt64)}
	case m.open.Count > 0 && c > m.open.Source:
		return Position{Target: m.open.Target + TargetOffset(c-m.open.Source), Kind: Exact}
	}
	g := m.segmentBelow(c)
	if g.missing && c < g.to.source {
		// Each repeated record has its own offset on either side.
		n := min(int64(g.to.target-g.from.target), int64(c-g.from.source))
		return Position{Target: g.from.target, Kind: Bounded, N: n}
	}
	if g.missing {
		return Position{Target: m.overMarkers(g.to.target), Kind: Exact, Lost: m.lostInHole(c, math.MaxInt64)}
	}
	run, next := g.belowSource(c)
	if in := int64(c - run.Source); in < run.Count {
		return Position{Target: run.Target + TargetOffset(in), Kind: Exact}
	}
	at := m.overMarkers(run.Target + TargetOffset(run.Count))
	return Position{Target: at, Kind: Exact, Lost: m.lostInHole(c, next)}
}

// nextOfNone is Next for c <= through of a map without runs.
func (m *Map) nextOfNone(c SourceOffset) Position {
	p := Position{Target: m.overMarkers(m.floor.target), Kind: AtEnd, Lost: m.lostBetween(c, math.MaxInt64)}
	if c < m.floor.source {
		p.Kind, p.N = NotMirrored, distance(c, m.floor.source)
		if m.trimmed {
			p.Kind = Trimmed
		}
	}
	return p
}

// nextBelowFirst is Next for c at or below the start of the first kept run.
func (m *Map) nextBelowFirst(c SourceOffset) Position {
	first := m.first()
	p := Position{Target: first.target, Lost: m.lostBetween(c, first.source)}
	switch {
	case m.trimmed && c < m.floor.source:
		p.Kind, p.N = Trimmed, distance(c, first.source)
	case m.trimmed:
		p.Target, p.Kind = m.overMarkers(m.floor.target), Exact
	case c < m.origin.SourceStart:
		p.Kind, p.N = NotMirrored, distance(c, m.origin.SourceStart)
	case c < first.source:
		p.Kind = BeforeStart
	default:
		p.Kind = Exact
	}
	return p
}

// Source is the inverse of [Map.Next]: the source offset at which to go on for
// a reader whose next record on the target is t. It is one past the last
// mirrored record whose target offset is below t; holes on the source are not
// skipped, since a filtered or skipped record may still be there to be read.
// Without a mirrored record below t it is the start of the first run, or with
// no run at all the first offset to mirror.
func (m *Map) Source(t TargetOffset) (SourceOffset, Kind) {
	end := m.last()
	switch {
	case t > m.targetEnd:
		return end.source, BeyondMirrored
	case m.empty() && t >= m.floor.target:
		return m.floor.source, AtEnd
	case m.empty() || t <= m.first().target:
		return m.sourceBelowFirst(t)
	case t >= end.target:
		return end.source, AtEnd
	case m.open.Count > 0 && t > m.open.Target:
		return m.open.Source + SourceOffset(t-m.open.Target), Exact
	}
	g := m.segmentBelowTarget(t)
	if g.missing && t < g.to.target {
		return g.from.source, Bounded
	}
	if g.missing {
		return g.to.source, Exact
	}
	run, _ := g.belowTarget(t)
	return run.Source + SourceOffset(min(int64(t-run.Target), run.Count)), Exact
}

func (m *Map) sourceBelowFirst(t TargetOffset) (SourceOffset, Kind) {
	first := m.floor
	if !m.empty() {
		first = m.first()
	}
	switch {
	case m.trimmed && t < m.floor.target:
		return first.source, Trimmed
	case m.trimmed:
		return m.floor.source, Exact
	case t < m.origin.Base:
		return first.source, NotMirrored
	case t < first.target:
		return first.source, BeforeStart
	}
	return first.source, Exact
}

// Count returns how many mirrored records have target offsets in [a, b): the
// records that a reader moved back from b to a reads again. Trimmed records
// are not counted; inside missing blocks every offset counts as a record.
func (m *Map) Count(a, b TargetOffset) int64 {
	if b <= a {
		return 0
	}
	return m.recordsBelow(b) - m.recordsBelow(a)
}

// recordsBelow counts the records below t from an arbitrary zero.
func (m *Map) recordsBelow(t TargetOffset) int64 {
	if m.open.Count > 0 && t > m.open.Target {
		return m.tail.before + m.tail.records + min(int64(t-m.open.Target), m.open.Count)
	}
	g := m.segmentBelowTarget(t)
	switch {
	case t <= g.from.target: // below the first segment
		return g.before
	case g.missing:
		return g.before + min(int64(t-g.from.target), g.records)
	}
	run, records := g.belowTarget(t)
	return g.before + records + min(int64(t-run.Target), run.Count)
}

// segmentBelow returns the last segment that starts below c, or the first one.
func (m *Map) segmentBelow(c SourceOffset) *segment {
	if len(m.segs) == 0 || m.tail.from.source < c {
		return &m.tail
	}
	if m.segs[0].from.source >= c {
		return &m.segs[0]
	}
	from := m.segs[0].from.source
	guess := share(int64(c-from), int64(m.tail.from.source-from), len(m.segs))
	return &m.segs[lastBelow(len(m.segs), guess, func(i int) bool { return m.segs[i].from.source < c })]
}

// segmentBelowTarget returns the last segment that starts below t, or the first one.
func (m *Map) segmentBelowTarget(t TargetOffset) *segment {
	if len(m.segs) == 0 || m.tail.from.target < t {
		return &m.tail
	}
	if m.segs[0].from.target >= t {
		return &m.segs[0]
	}
	from := m.segs[0].from.target
	guess := share(int64(t-from), int64(m.tail.from.target-from), len(m.segs))
	return &m.segs[lastBelow(len(m.segs), guess, func(i int) bool { return m.segs[i].from.target < t })]
}

// lostInHole sums the losses ahead of c, which is in a hole of a segment whose
// next run starts at next, or in a later segment if next is the largest offset.
func (m *Map) lostInHole(c, next SourceOffset) int64 {
	i := m.lostAbove(c)
	if i == len(m.lost) {
		return 0
	}
	if next == math.MaxInt64 {
		next = m.startAtOrAbove(c)
	}
	return m.lostBetween(c, next)
}

// startAtOrAbove returns the start of the first run that begins a segment at
// or above c; c is behind all runs of its own segment.
func (m *Map) startAtOrAbove(c SourceOffset) SourceOffset {
	i := sort.Search(len(m.segs), func(i int) bool { return m.segs[i].from.source >= c })
	if i < len(m.segs) {
		return m.segs[i].first.source
	}
	if m.tail.runs > 0 && m.tail.first.source >= c {
		return m.tail.first.source
	}
	return m.open.Source
}

// lostBetween sums the losses of all stretches that end above c and start below to.
func (m *Map) lostBetween(c, to SourceOffset) int64 {
	var sum int64
	for i := m.lostAbove(c); i < len(m.lost) && m.lost[i].from < to; i++ {
		sum += m.lost[i].records
	}
	return sum
}

// distance returns b - a for a <= b, or the largest number if it overflows.
func distance(a, b SourceOffset) int64 {
	if d := int64(b - a); d >= 0 {
		return d
	}
	return math.MaxInt64
}
