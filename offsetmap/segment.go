package offsetmap

import (
	"encoding/binary"
	"iter"
	"math"
)

// segment is a sealed block, the tail, or a stretch of missing blocks. What a
// lookup needs comes first, so that it lies in two cache lines.
type segment struct {
	from point  // one past the last run before the segment
	to   point  // one past its last run
	data []byte // encoded runs
	// missing: the blocks' content is unknown and all that is known is that
	// their runs lie between from and to. Each target offset counts as a record.
	missing  bool
	restarts restarts

	first   point // start of the first run; unset while there is none
	runs    int
	records int64
	// before is the number of records in front of the segment, counted from
	// an arbitrary but common zero.
	before  int64
	numbers []uint32 // block numbers: one for a block, several for a missing stretch
}

// add appends a run after g.to.
func (g *segment) add(r Run) {
	if g.runs == 0 {
		g.first = r.start()
	}
	if g.runs%restartEvery == 0 {
		g.restarts.add(restart{at: g.to, records: g.records, pos: len(g.data)})
	}
	g.data = appendRun(g.data, g.to, r)
	g.runs++
	g.records += r.Count
	g.to = r.end()
}

// all yields the segment's runs in order.
func (g *segment) all() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		at := g.from
		for pos := 0; pos < len(g.data); {
			var r Run
			r, pos = runAt(g.data, pos, at)
			if !yield(r) {
				return
			}
			at = r.end()
		}
	}
}

// belowSource returns the last run that starts below c, and the start of the
// run after it (math.MaxInt64 if the segment holds none). Without such a run
// the returned run is empty and ends at g.from. c must be above g.from.source.
func (g *segment) belowSource(c SourceOffset) (last Run, next SourceOffset) {
	n := g.restarts.len()
	if n == 0 {
		return Run{Source: g.from.source, Target: g.from.target}, math.MaxInt64
	}
	i := lastBelow(n, share(int64(c-g.from.source), int64(g.to.source-g.from.source), n), func(i int) bool {
		return g.restarts.source(i) < c
	})
	at := g.restarts.at(i)
	last = Run{Source: at.at.source, Target: at.at.target}
	data := g.data
	for pos := at.pos; pos < len(data); {
		var r Run
		if h := data[pos]; h < longForm { // as in runAt, which is not inlined
			pos++
			end := last.end()
			r = Run{end.source + SourceOffset(h>>4), end.target, int64(h&15) + 1}
		} else {
			r, pos = runAt(data, pos, last.end())
		}
		if r.Source >= c {
			return last, r.Source
		}
		last = r
	}
	return last, math.MaxInt64
}

// belowTarget returns the last run that starts below t and the records of the
// segment in front of it. Without such a run the returned run is empty and
// ends at g.from. t must be above g.from.target.
func (g *segment) belowTarget(t TargetOffset) (last Run, records int64) {
	n := g.restarts.len()
	if n == 0 {
		return Run{Source: g.from.source, Target: g.from.target}, 0
	}
	i := lastBelow(n, share(int64(t-g.from.target), int64(g.to.target-g.from.target), n), func(i int) bool {
		return g.restarts.target(i) < t
	})
	at := g.restarts.at(i)
	last, records = Run{Source: at.at.source, Target: at.at.target}, at.records
	for pos := at.pos; pos < len(g.data); {
		var r Run
		r, pos = runAt(g.data, pos, last.end())
		if r.Target >= t {
			break
		}
		records += last.Count
		last = r
	}
	return last, records
}

// Run encoding, see the package documentation.
const (
	longForm  = 0x80
	targetGap = 0x40
	escape    = 7
)

// emptySegment returns a segment without runs.
func emptySegment(from point, before int64) segment {
	return segment{from: from, to: from, before: before, restarts: restarts{from: from}}
}

// appendRun encodes r, which starts at or after at, one past the run before.
func appendRun(dst []byte, at point, r Run) []byte {
	s, t, n := uint64(r.Source-at.source), uint64(r.Target-at.target), uint64(r.Count)
	if t == 0 && s < 8 && n <= 16 {
		return append(dst, byte(s<<4|(n-1)))
	}
	h := byte(longForm | min(s, escape)<<3 | min(n-1, escape))
	if t > 0 {
		h |= targetGap
	}
	dst = append(dst, h)
	if s >= escape {
		dst = binary.AppendUvarint(dst, s-escape)
	}
	if t > 0 {
		dst = binary.AppendUvarint(dst, t-1)
	}
	if n > escape {
		dst = binary.AppendUvarint(dst, n-1-escape)
	}
	return dst
}

// runAt decodes the run at pos of data that was encoded here or has passed
// the checks of decoder.run; it returns where the next one is.
func runAt(data []byte, pos int, at point) (Run, int) {
	h := data[pos]
	pos++
	if h < longForm {
		return Run{at.source + SourceOffset(h>>4), at.target, int64(h&15) + 1}, pos
	}
	s, t, n := uint64(h>>3&7), uint64(0), uint64(h&7)+1
	if s == escape {
		v, next := uvarintAt(data, pos)
		s, pos = s+v, next
	}
	if h&targetGap != 0 {
		v, next := uvarintAt(data, pos)
		t, pos = v+1, next
	}
	if n == escape+1 {
		v, next := uvarintAt(data, pos)
		n, pos = n+v, next
	}
	return Run{at.source + SourceOffset(s), at.target + TargetOffset(t), int64(n)}, pos
}

func uvarintAt(data []byte, pos int) (v uint64, next int) {
	if b := data[pos]; b < 0x80 {
		return uint64(b), pos + 1
	}
	v, n := binary.Uvarint(data[pos:])
	return v, pos + n
}
