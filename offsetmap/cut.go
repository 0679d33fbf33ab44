package offsetmap

import "slices"

// Cut tells what a truncation dropped from a map.
type Cut struct {
	// Through and TargetEnd are the map's ends afterwards.
	Through   SourceOffset
	TargetEnd TargetOffset
	// Records counts the mirrored records dropped; each target offset of a
	// missing block counts as one.
	Records int64
	// Retired are the numbers of sealed blocks that the map no longer needs.
	// Delete them once a head written after the cut is acknowledged. A block
	// that the cut went through is among them: what is left of it is in the
	// tail again and will be sealed under a new number.
	Retired []uint32
	// Unknown says that the cut went into missing blocks. Then Through went
	// back to the last known record below them: records above are mirrored
	// again although the target may hold them, which is entered as a doubt.
	Unknown bool
}

// CutSource drops the records with source offsets at or above s: the source
// log was truncated there. The target offsets of what is dropped stay known
// and count as foreign (their records were read by nobody who stands at s),
// markers and doubts among them stay what they are. Through goes back to s at
// most.
func (m *Map) CutSource(s SourceOffset) Cut {
	s = max(s, 0)
	if s >= m.through {
		m.cutEpochs(s)
		return Cut{Through: m.through, TargetEnd: m.targetEnd}
	}
	c, dropped := m.cut(func(r Run) int64 { return int64(s - r.Source) })
	m.through = s
	if c.Unknown {
		m.through = min(s, dropped)
	}
	if s < m.floor.source {
		m.floor.source = s
		m.tail = emptySegment(m.floor, m.tail.before)
	}
	m.origin.SourceStart = min(m.origin.SourceStart, s)
	return m.endCut(c)
}

// CutTarget drops what is known of target offsets at or above t: the target
// log was truncated there. Through goes back to the source offset of the first
// record dropped, so that it is mirrored again. If that may be one in doubt it
// goes back to the end of the run below, and what is left of doubts behind that
// run is mirrored again as a whole.
func (m *Map) CutTarget(t TargetOffset) Cut {
	t = max(t, 0)
	if t >= m.targetEnd {
		return Cut{Through: m.through, TargetEnd: m.targetEnd}
	}
	i := m.doubtAbove(t)
	inDoubt := i < len(m.doubts) && m.Count(t, m.doubts[i].to) == 0
	c, dropped := m.cut(func(r Run) int64 { return int64(t - r.Target) })
	if inDoubt {
		dropped = min(dropped, m.last().source)
	}
	m.through = min(m.through, dropped)
	m.targetEnd = t
	m.cutDoubts(t, inDoubt)
	if t < m.floor.target {
		// What was trimmed is not mirrored again: it is gone at one side.
		m.floor.target = t
		m.tail = emptySegment(m.floor, m.tail.before)
	}
	m.origin.Base = min(m.origin.Base, t)
	n := m.markerAbove(t)
	if n < len(m.markers) && m.markers[n].from < t {
		m.markers[n].to = t
		n++
	}
	m.markers = m.markers[:n]
	return m.endCut(c)
}

// endCut clips what hangs on Through and completes c.
func (m *Map) endCut(c Cut) Cut {
	n := m.lostAbove(m.through)
	if n < len(m.lost) && m.lost[n].from < m.through {
		l := &m.lost[n]
		l.to = m.through
		l.records = min(l.records, int64(l.to-l.from))
		n++
	}
	m.lost = m.lost[:n]
	m.cutEpochs(m.through)
	m.hide(m.hidden)
	c.Through, c.TargetEnd = m.through, m.targetEnd
	return c
}

// cutEpochs forgets leader epochs that began at or above s.
func (m *Map) cutEpochs(s SourceOffset) {
	n := len(m.epochs)
	for n > 0 && m.epochs[n-1].Start >= s {
		n--
	}
	m.epochs = m.epochs[:n]
}

// noRecord is above every source offset.
const noRecord SourceOffset = 1<<63 - 1

// cut drops runs from the end. keep says how many records of a run are below
// the cut; it may be negative or above the run's count. The second result is
// the source offset of the first record dropped, or noRecord.
//
// The last segment with a record below the cut becomes the tail, since the
// last run must stay open (OM4). Its block is not kept as it was: a block that
// is cut and rewritten under its own number could meet the old head.
func (m *Map) cut(keep func(Run) int64) (Cut, SourceOffset) {
	c := Cut{Records: m.tail.before + m.tail.records + m.open.Count}
	tail, open := m.tail, m.open
	dropped := m.refill(&tail, open, keep)
	for m.open.Count == 0 && len(m.segs) > 0 {
		g := m.segs[len(m.segs)-1]
		if g.missing {
			end := Run{g.to.source - 1, g.to.target - 1, 1}
			if keep(end) > 0 {
				break
			}
			dropped = g.from.source
			c.Unknown = true
			if g.records > 0 {
				all := doubt{g.from.target, g.to.target, g.records}
				m.doubts = slices.Insert(m.doubts, m.doubtAbove(g.from.target), all)
			}
		} else {
			dropped = min(dropped, m.refill(&g, Run{}, keep))
		}
		m.segs = m.segs[:len(m.segs)-1]
		c.Retired = append(append([]uint32(nil), g.numbers...), c.Retired...)
		if g.missing {
			m.tail = emptySegment(g.from, g.before)
		}
	}
	if len(m.segs) == 0 && m.open.Count == 0 {
		m.tail = emptySegment(m.floor, m.tail.before) // a missing first block began above the floor
	}
	c.Records -= m.tail.before + m.tail.records + m.open.Count
	return c, dropped
}

// refill makes the tail out of the runs of g and a last one (empty if none)
// as far as they are kept, and returns the first source offset dropped.
func (m *Map) refill(g *segment, last Run, keep func(Run) int64) SourceOffset {
	dropped := noRecord
	m.tail = emptySegment(g.from, g.before)
	m.open = Run{}
	push := func(r Run) bool {
		n := min(max(keep(r), 0), r.Count)
		if n < r.Count {
			dropped = r.Source + SourceOffset(n)
		}
		if n > 0 {
			m.push(Run{r.Source, r.Target, n})
		}
		return n == r.Count
	}
	for r := range g.all() {
		if !push(r) {
			return dropped
		}
	}
	if last.Count > 0 {
		push(last)
	}
	return dropped
}

// TrimSource drops the sealed blocks that lie wholly below the source's log
// start and returns their numbers (missing ones too), to be deleted once a
// head written afterwards is acknowledged. Positions in them become [Trimmed],
// although the target may still hold the records.
func (m *Map) TrimSource(logStart SourceOffset) (dropped []uint32) {
	dropped = m.trim(func(g *segment) bool { return g.to.source <= logStart })
	n := 0
	for n+1 < len(m.epochs) && m.epochs[n+1].Start <= logStart {
		n++ // the epoch in force at logStart stays
	}
	m.epochs = m.epochs[n:]
	return dropped
}

// TrimTarget drops the sealed blocks that lie wholly below the target's log
// start and returns their numbers (missing ones too), to be deleted once a
// head written afterwards is acknowledged. Positions in them become [Trimmed].
func (m *Map) TrimTarget(logStart TargetOffset) (dropped []uint32) {
	return m.trim(func(g *segment) bool { return g.to.target <= logStart })
}

func (m *Map) trim(below func(*segment) bool) (dropped []uint32) {
	n := 0
	for n < len(m.segs) && below(&m.segs[n]) {
		dropped = append(dropped, m.segs[n].numbers...)
		m.floor = m.segs[n].to
		n++
	}
	if n == 0 {
		return nil
	}
	m.trimmed = true
	clear(m.segs[:n]) // let go of the blocks' bytes
	m.segs = m.segs[n:]
	m.lost = m.lost[m.lostAbove(m.floor.source):]
	m.markers = m.markers[m.markerAbove(m.floor.target):]
	m.doubts = m.doubts[m.doubtAbove(m.floor.target):]
	m.hide(m.hidden)
	return dropped
}
