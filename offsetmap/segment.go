package offsetmap

import (
	"encoding/binary"
	"iter"
)

// segment is a sealed block, the tail, or a stretch of missing blocks. What a
// lookup needs comes first, so that it lies in one cache line.
type segment struct {
	from   point // one past the last run before the segment
	chunks []chunk
	// Full chunks per offset, in the part that they cover.
	perSource, perTarget float64
	// missing: the blocks' content is unknown and all that is known is that
	// their runs lie between from and to. Each target offset counts as a record.
	missing bool

	to    point   // one past the last run
	wide  []state // states of the chunks, if one does not fit into its chunk
	first point   // start of the first run; unset while there is none
	runs  int
	size  int // bytes of the encoded runs
	// before is the number of records in front of the segment, counted from
	// an arbitrary but common zero.
	before, records int64
	numbers         []uint32 // block numbers: one for a block, several for a missing stretch
}

// emptySegment returns a segment without runs.
func emptySegment(from point, before int64) segment {
	return segment{from: from, to: from, before: before}
}

// add appends a run after g.to.
func (g *segment) add(r Run) {
	if g.runs == 0 {
		g.first = r.start()
	}
	if b, ok := shortRun(g.to, r); ok {
		k := g.chunkFor(1)
		k.runs[k.used] = b
		k.used++
		g.size++
		if k.used == chunkRuns && len(g.wide) == 0 {
			k.form = k.formOf()
		}
	} else {
		var buf [maxRun]byte
		encoded := appendRun(buf[:0], g.to, r)
		k := g.chunkFor(len(encoded))
		k.used += uint8(copy(k.runs[k.used:], encoded))
		g.size += len(encoded)
	}
	g.runs++
	g.records += r.Count
	g.to = r.end()
}

// chunkFor returns the last chunk, or a new one if it has no n bytes left.
func (g *segment) chunkFor(n int) *chunk {
	if l := len(g.chunks); l == 0 || int(g.chunks[l-1].used)+n > chunkRuns {
		g.addChunk()
	}
	return &g.chunks[len(g.chunks)-1]
}

// appendRuns appends the encoded runs.
func (g *segment) appendRuns(dst []byte) []byte {
	for i := range g.chunks {
		k := &g.chunks[i]
		dst = append(dst, k.runs[:k.used]...)
	}
	return dst
}

// all yields the segment's runs in order.
func (g *segment) all() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		at := g.from
		for i := range g.chunks {
			k := &g.chunks[i]
			for pos := 0; pos < int(k.used); {
				var r Run
				r, pos = k.runAt(pos, at)
				if !yield(r) {
					return
				}
				at = r.end()
			}
		}
	}
}

// belowSource returns the end of the last run that starts below c, and the
// start of the run after it, which is of no meaning if c is below that end. c
// must be in the segment: at or above from.source, below to.source.
func (g *segment) belowSource(c SourceOffset) (end point, next SourceOffset) {
	if k := &g.chunks[g.guess(c)]; k.form != mixed {
		at := point{g.from.source + SourceOffset(k.source), g.from.target + TargetOffset(k.target)}
		if w, ok := k.lookupSource(int64(c - at.source)); ok {
			end = point{at.source + SourceOffset(w.source), at.target + TargetOffset(w.target)}
			return end, at.source + SourceOffset(w.next)
		}
	}
	i := g.chunkBelow(c)
	k, at := &g.chunks[i], g.state(i).at
	for pos := 0; ; {
		var r Run
		r, pos = k.runAt(pos, at)
		if c <= r.Source {
			return at, r.Source
		}
		at = r.end()
		if c < at.source {
			return at, at.source
		}
	}
}

// belowTarget returns the end of the last run that starts below t, and the
// records of the segment up to there. t must be in the segment: at or above
// from.target, below to.target.
func (g *segment) belowTarget(t TargetOffset) (end point, records int64) {
	if k := &g.chunks[g.guessTarget(t)]; k.form != mixed {
		at := point{g.from.source + SourceOffset(k.source), g.from.target + TargetOffset(k.target)}
		if w, ok := k.lookupTarget(int64(t - at.target)); ok {
			end = point{at.source + SourceOffset(w.source), at.target + TargetOffset(w.target)}
			return end, int64(k.records) + w.target
		}
	}
	i := g.chunkBelowTarget(t)
	k, s := &g.chunks[i], g.state(i)
	for pos := 0; ; {
		var r Run
		r, pos = k.runAt(pos, s.at)
		if t <= r.Target {
			return s.at, s.records
		}
		s = state{r.end(), s.records + r.Count}
		if t < s.at.target {
			return s.at, s.records
		}
	}
}

// Run encoding, see the package documentation.
const (
	longForm  = 0x80
	targetGap = 0x40
	escape    = 7
	maxRun    = 1 + 3*binary.MaxVarintLen64
)

// shortRun encodes r, which starts at or after at, one past the run before, if
// it fits into one byte.
func shortRun(at point, r Run) (byte, bool) {
	s, n := uint64(r.Source-at.source), uint64(r.Count)
	return byte(s<<4 | (n - 1)), r.Target == at.target && s < 8 && n <= 16
}

// appendRun encodes r, which starts at or after at.
func appendRun(dst []byte, at point, r Run) []byte {
	if b, ok := shortRun(at, r); ok {
		return append(dst, b)
	}
	s, t, n := uint64(r.Source-at.source), uint64(r.Target-at.target), uint64(r.Count)
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

// runAt decodes the run at pos; it returns where the next one is. What is in a
// chunk was encoded here, so its numbers are good.
func (k *chunk) runAt(pos int, at point) (Run, int) {
	h := k.runs[pos]
	pos++
	if h < longForm {
		return Run{at.source + SourceOffset(h>>4), at.target, int64(h&15) + 1}, pos
	}
	s, t, n := uint64(h>>3&7), uint64(0), uint64(h&7)+1
	if s == escape {
		v, next := k.uvarintAt(pos)
		s, pos = s+v, next
	}
	if h&targetGap != 0 {
		v, next := k.uvarintAt(pos)
		t, pos = v+1, next
	}
	if n == escape+1 {
		v, next := k.uvarintAt(pos)
		n, pos = n+v, next
	}
	return Run{at.source + SourceOffset(s), at.target + TargetOffset(t), int64(n)}, pos
}

func (k *chunk) uvarintAt(pos int) (v uint64, next int) {
	if b := k.runs[pos]; b < 0x80 {
		return uint64(b), pos + 1
	}
	v, n := binary.Uvarint(k.runs[pos:])
	return v, pos + n
}
