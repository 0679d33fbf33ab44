package offsetmap

import (
	"fmt"
	"math"
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
	// Trimmed: inside blocks dropped by TrimTarget. The target
	// is the start of the first run that is kept, or of doubts in front of it.
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
// record below c it is the start of the first run, or where mirroring began,
// over markers, with no run at all or with doubts in front of the first run.
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
		p := Position{Target: m.overMarkers(end.target), Kind: AtEnd, Lost: m.lostBetween(c, math.MaxInt64)}
		return m.doubtful(p, c, end.source)
	case m.open.Count > 0 && c > m.open.Source:
		return Position{Target: m.open.Target + TargetOffset(c-m.open.Source), Kind: Exact}
	}
	g := m.segmentBelow(c)
	if g.missing {
		return m.nextInMissing(g, c)
	}
	next := m.open.Source
	end = g.to // of the hole before the open run
	if c < g.to.source {
		end, next = g.belowSource(c)
	}
	if c < end.source {
		return Position{Target: end.target - TargetOffset(end.source-c), Kind: Exact}
	}
	p := Position{Target: m.overMarkers(end.target), Kind: Exact, Lost: m.lostBetween(c, next)}
	return m.doubtful(p, c, end.source)
}

// nextInMissing is Next for c in the stretch g of missing blocks, or at its
// start. Each record that is repeated has its own target offset, and but for
// copies its own source offset between the start and c.
func (m *Map) nextInMissing(g *segment, c SourceOffset) Position {
	copies := min(m.hidden, g.records)
	p := Position{Target: g.from.target, Kind: Bounded}
	p.N = copies + min(g.records-copies, int64(c-g.from.source))
	if c == g.from.source && copies == 0 {
		p.Kind = Exact // nothing in the missing blocks is below c
	}
	return p
}

// nextOfNone is Next for c <= through of a map without runs.
func (m *Map) nextOfNone(c SourceOffset) Position {
	p := Position{Target: m.overMarkers(m.floor.target), Kind: AtEnd, Lost: m.lostBetween(c, math.MaxInt64)}
	if c < m.floor.source {
		p.Kind, p.N = NotMirrored, distance(c, m.floor.source)
		if m.trimmed {
			p.Kind = Trimmed
		}
		return p
	}
	return m.doubtful(p, c, m.floor.source)
}

// nextBelowFirst is Next for c at or below the start of the first kept run.
func (m *Map) nextBelowFirst(c SourceOffset) Position {
	first, run := m.first(), m.firstRun()
	p := Position{Target: m.overMarkers(first.target), Lost: m.lostBetween(c, run.source)}
	switch {
	case m.trimmed && c < m.floor.source:
		p.Kind, p.N = Trimmed, distance(c, run.source)
		return p
	case m.trimmed && first != m.floor:
		p.Target, p.Kind = m.overMarkers(m.floor.target), Exact
	case c < m.origin.SourceStart:
		p.Kind, p.N = NotMirrored, distance(c, m.origin.SourceStart)
		return p
	case c < first.source:
		p.Kind = BeforeStart
	case m.hidden > 0 && first == m.floor && len(m.segs) > 0 && m.segs[0].missing:
		return m.nextInMissing(&m.segs[0], c)
	default:
		p.Kind = Exact
	}
	return m.doubtful(p, c, m.floor.source)
}

// Source is the inverse of [Map.Next]: the source offset at which to go on for
// a reader whose next record on the target is t. It is one past the last
// mirrored record whose target offset is below t; holes on the source are not
// skipped, since a filtered or skipped record may still be there to be read.
// Without a mirrored record below t it is the first offset to mirror. Behind records in doubt, up to the next run, the kind is Bounded: what
// was read of them is read again on the source.
func (m *Map) Source(t TargetOffset) (SourceOffset, Kind) {
	end := m.last()
	switch {
	case t > m.targetEnd:
		return end.source, BeyondMirrored
	case m.empty() && t >= m.floor.target:
		return m.floor.source, m.afterDoubt(AtEnd, m.floor.target, t)
	case m.empty() || t <= m.first().target:
		return m.sourceBelowFirst(t)
	case t >= end.target:
		return end.source, m.afterDoubt(AtEnd, end.target, t)
	case m.open.Count > 0 && t > m.open.Target:
		return m.open.Source + SourceOffset(t-m.open.Target), Exact
	}
	g := m.segmentBelowTarget(t)
	if g.missing && t == g.from.target {
		return g.from.source, Exact
	}
	if g.missing {
		return g.from.source, Bounded
	}
	end = g.to // of the hole before the open run
	if t < g.to.target {
		end, _ = g.belowTarget(t)
	}
	if t < end.target {
		return end.source - SourceOffset(end.target-t), Exact
	}
	return end.source, m.afterDoubt(Exact, end.target, t)
}

// sourceBelowFirst answers in front of the first run. What the source has between the first offset to mirror and that run
// may still be read: the target's compaction can have taken away what stood for it here before the map knew.
func (m *Map) sourceBelowFirst(t TargetOffset) (SourceOffset, Kind) {
	first := m.floor.target
	if !m.empty() {
		first = m.first().target
	}
	switch {
	case m.trimmed && t < m.floor.target:
		return m.floor.source, Trimmed
	case m.trimmed:
		return m.floor.source, Exact
	case t < m.origin.Base:
		return m.floor.source, NotMirrored
	case t < first:
		return m.floor.source, BeforeStart
	}
	return m.floor.source, Exact
}

// Count returns how many mirrored records have target offsets in [a, b): the
// records that a reader moved back from b to a reads again. Trimmed records
// and records in doubt are not counted; inside missing blocks every offset
// counts as a record.
func (m *Map) Count(a, b TargetOffset) int64 {
	if b <= a {
		return 0
	}
	return m.recordsBelow(b) - m.recordsBelow(a)
}

// Others returns how many target offsets of what is kept others have written:
// they are neither mirrored records, nor our markers, nor in doubt. Inside
// missing blocks every offset counts as a record of ours.
func (m *Map) Others() int64 {
	from := m.floor.target
	n := int64(m.targetEnd-from) - m.Count(from, m.targetEnd)
	for _, s := range m.markers {
		n -= int64(s.to - max(s.from, from))
	}
	for _, d := range m.doubts {
		n -= int64(d.to - max(d.from, from))
	}
	return max(n, 0) // also where a damaged map holds more than its offsets
}

// recordsBelow counts the records below t from an arbitrary zero.
func (m *Map) recordsBelow(t TargetOffset) int64 {
	if m.open.Count > 0 && t > m.open.Target {
		return m.tail.before + m.tail.records + min(int64(t-m.open.Target), m.open.Count)
	}
	g := m.segmentBelowTarget(t)
	switch {
	case t < g.from.target: // below the first segment
		return g.before
	case g.missing:
		return g.before + min(int64(t-g.from.target), g.records)
	case t >= g.to.target: // in the hole before the open run
		return g.before + g.records
	}
	end, records := g.belowTarget(t)
	return g.before + records - max(int64(end.target-t), 0)
}

// segmentBelow returns the segment that holds c or the hole before one of its
// runs: the last one that starts at or below c, or the first one.
func (m *Map) segmentBelow(c SourceOffset) *segment {
	if len(m.segs) == 0 || m.tail.from.source <= c {
		return &m.tail
	}
	if m.segs[0].from.source > c {
		return &m.segs[0]
	}
	from := m.segs[0].from.source
	guess := share(int64(c-from), int64(m.tail.from.source-from), len(m.segs))
	if g := &m.segs[guess]; g.from.source <= c && c < g.to.source {
		return g
	}
	return &m.segs[lastBelow(len(m.segs), guess, func(i int) bool { return m.segs[i].from.source <= c })]
}

// segmentBelowTarget is segmentBelow for a target offset.
func (m *Map) segmentBelowTarget(t TargetOffset) *segment {
	if len(m.segs) == 0 || m.tail.from.target <= t {
		return &m.tail
	}
	if m.segs[0].from.target > t {
		return &m.segs[0]
	}
	from := m.segs[0].from.target
	guess := share(int64(t-from), int64(m.tail.from.target-from), len(m.segs))
	if g := &m.segs[guess]; g.from.target <= t && t < g.to.target {
		return g
	}
	return &m.segs[lastBelow(len(m.segs), guess, func(i int) bool { return m.segs[i].from.target <= t })]
}

// lostBetween sums the losses of all stretches that end above c and start below to.
func (m *Map) lostBetween(c, to SourceOffset) int64 {
	if len(m.lost) == 0 {
		return 0
	}
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
