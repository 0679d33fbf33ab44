package offsetmap

import (
	"errors"
	"iter"
	"sort"
)

// SourceOffset is an offset in the source partition.
type SourceOffset int64

// TargetOffset is an offset in the target partition.
type TargetOffset int64

var (
	// ErrOrder says that an update would go back behind what the map holds.
	ErrOrder = errors.New("offsets go back")
	// ErrRange says that a value is negative, empty or beyond the largest offset.
	ErrRange = errors.New("value out of range")
	// ErrCorrupt says that an encoding cannot have been written by this package.
	ErrCorrupt = errors.New("corrupt offset map")
	// ErrVersion says that an encoding was written by another version.
	ErrVersion = errors.New("unknown offset map version")
)

// Run is a stretch in which both offsets advance by one per record: record i
// (0 <= i < Count) has source offset Source+i and target offset Target+i.
type Run struct {
	Source SourceOffset
	Target TargetOffset
	Count  int64
}

func (r Run) end() point {
	return point{r.Source + SourceOffset(r.Count), r.Target + TargetOffset(r.Count)}
}

func (r Run) start() point { return point{r.Source, r.Target} }

// point is a place on both axes, usually one past the last record of a run.
type point struct {
	source SourceOffset
	target TargetOffset
}

// atOrBelow says that p is not above q on either axis.
func (p point) atOrBelow(q point) bool { return p.source <= q.source && p.target <= q.target }

// Origin says between which two logs a map translates and where mirroring
// began. A re-created topic is a new incarnation with a new map.
type Origin struct {
	SourceCluster string
	SourceTopicID [16]byte
	TargetTopicID [16]byte
	// SourceStart is the source's log start when mirroring began: the first
	// offset to mirror.
	SourceStart SourceOffset
	// Base is the target's log end when mirroring began.
	Base TargetOffset
	// Incarnation tells maps of re-created topics apart. Blocks of another
	// incarnation are never used.
	Incarnation uint32
}

// span is a stretch [from, to) of target offsets.
type span struct{ from, to TargetOffset }

// lostSpan is a stretch [from, to) of source offsets with at most records lost.
type lostSpan struct {
	from, to SourceOffset
	records  int64
}

// Map is the offset map of one partition. The zero value is not usable; see
// [New] and [Load]. Its methods must not be called concurrently.
type Map struct {
	origin Origin

	// through: everything below it is mirrored or known to hold no data or lost.
	through   SourceOffset
	targetEnd TargetOffset

	// floor is where the map begins: the origin, or after a trim one past the
	// last record of the last dropped block.
	floor   point
	trimmed bool

	segs []segment // sealed blocks and missing stretches, in order
	tail segment   // encoded runs that are not sealed
	open Run       // the last run, not encoded yet; Count 0: the map holds no run after the last segment

	lost    []lostSpan // of all segments and the tail
	markers []span     // of all segments and the tail
	doubts  []doubt    // of all segments and the tail
	hidden  int64      // copies in doubts that missing blocks hold at most

	epochs []EpochStart
	next   uint32 // number of the next sealed block
}

// New returns the map of a partition of which nothing is mirrored yet.
// Negative offsets in o, which no broker reports, count as 0.
func New(o Origin) *Map {
	o.SourceStart, o.Base = max(o.SourceStart, 0), max(o.Base, 0)
	at := point{o.SourceStart, o.Base}
	return &Map{
		origin:    o,
		through:   at.source,
		targetEnd: at.target,
		floor:     at,
		tail:      emptySegment(at, 0),
	}
}

// Origin returns what the map was made with, lowered by cuts below it.
func (m *Map) Origin() Origin { return m.origin }

// Through returns the source offset below which everything is accounted for:
// mirrored, or known to hold no data, or lost. It is where mirroring goes on.
func (m *Map) Through() SourceOffset { return m.through }

// TargetEnd returns one past the last target offset that the map knows of,
// record of ours, marker or foreign.
func (m *Map) TargetEnd() TargetOffset { return m.targetEnd }

// empty says that the map holds no run, known or missing.
func (m *Map) empty() bool { return m.open.Count == 0 && len(m.segs) == 0 }

// firstRun returns the start of the first run that is kept. If that is in a
// missing block it is a point at or below it. The map must not be empty.
func (m *Map) firstRun() point {
	if len(m.segs) > 0 {
		return m.segs[0].first
	}
	return m.tail.first
}

// first returns where a reader of all that is kept begins: at the first run, or
// at the floor if there are doubts in front of that, since their records may
// have any source offset from there on. The map must not be empty.
func (m *Map) first() point {
	first := m.firstRun()
	if len(m.doubts) > 0 && m.doubts[0].from < first.target {
		return m.floor
	}
	return first
}

// last returns one past the last mirrored record, or the floor if there is none.
func (m *Map) last() point {
	if m.open.Count > 0 {
		return m.open.end()
	}
	return m.tail.from
}

// Missing lists the block numbers that [Load] was not given or could not use,
// in increasing order. Positions inside them are [Bounded].
func (m *Map) Missing() []uint32 {
	var out []uint32
	for i := range m.segs {
		if m.segs[i].missing {
			out = append(out, m.segs[i].numbers...)
		}
	}
	return out
}

// Blocks lists the numbers of all sealed blocks that the map needs, missing
// ones too, in increasing order. A stored block with any other number may be
// deleted once a head with this tail is acknowledged.
func (m *Map) Blocks() []uint32 {
	out := make([]uint32, 0, len(m.segs))
	for i := range m.segs {
		out = append(out, m.segs[i].numbers...)
	}
	return out
}

// Runs yields the kept runs in order. Runs in missing blocks are left out.
// The map must not be changed meanwhile.
func (m *Map) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for i := range m.segs {
			for r := range m.segs[i].all() {
				if !yield(r) {
					return
				}
			}
		}
		for r := range m.tail.all() {
			if !yield(r) {
				return
			}
		}
		if m.open.Count > 0 {
			yield(m.open)
		}
	}
}

// firstAbove returns the index of the first stretch that ends above at. The
// stretches are in order and do not overlap.
func firstAbove[S any, O SourceOffset | TargetOffset](stretches []S, at O, end func(S) O) int {
	return sort.Search(len(stretches), func(i int) bool { return end(stretches[i]) > at })
}

func (m *Map) lostAbove(c SourceOffset) int {
	return firstAbove(m.lost, c, func(l lostSpan) SourceOffset { return l.to })
}

func (m *Map) markerAbove(t TargetOffset) int {
	return firstAbove(m.markers, t, func(s span) TargetOffset { return s.to })
}

func (m *Map) doubtAbove(t TargetOffset) int {
	return firstAbove(m.doubts, t, func(d doubt) TargetOffset { return d.to })
}

// overMarkers moves t over the marker stretch that starts at or holds it.
func (m *Map) overMarkers(t TargetOffset) TargetOffset {
	if len(m.markers) == 0 {
		return t
	}
	if i := m.markerAbove(t); i < len(m.markers) && m.markers[i].from <= t {
		return m.markers[i].to
	}
	return t
}
