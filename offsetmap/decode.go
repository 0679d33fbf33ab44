package offsetmap

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// decoder reads an encoding that may be anything. The first error sticks and
// everything read after it is zero.
type decoder struct {
	data []byte // what is left
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, what)
		d.data = nil
	}
}

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		d.fail("cut short")
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.fail("cut short")
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

// uvarint reads a number of at most limit.
func (d *decoder) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail("bad varint")
		return 0
	}
	d.data = d.data[n:]
	if v > limit {
		d.fail("number out of range")
		return 0
	}
	return v
}

// above reads a distance from at and returns the sum.
func (d *decoder) above(at int64) int64 {
	return at + int64(d.uvarint(uint64(math.MaxInt64-at)))
}

// count reads how many items of at least size bytes each follow, so that a
// wrong number cannot cause a large allocation.
func (d *decoder) count(size int) int {
	return int(d.uvarint(uint64(len(d.data) / size)))
}

func (d *decoder) point() point {
	return point{SourceOffset(d.above(0)), TargetOffset(d.above(0))}
}

func (d *decoder) version(known byte) {
	if v := d.byte(); d.err == nil && v != known {
		d.err = fmt.Errorf("%w: %d", ErrVersion, v)
		d.data = nil
	}
}

func (d *decoder) lost(at SourceOffset) []lostSpan {
	n := d.count(3)
	if n == 0 {
		return nil
	}
	out := make([]lostSpan, n)
	for i := range out {
		l := &out[i]
		l.from = SourceOffset(d.above(int64(at)))
		l.to = SourceOffset(d.above(int64(l.from)))
		l.records = int64(d.uvarint(uint64(l.to - l.from)))
		if l.records == 0 {
			d.fail("empty lost stretch")
		}
		at = l.to
	}
	return out
}

func (d *decoder) markers(at TargetOffset) []span {
	n := d.count(2)
	if n == 0 {
		return nil
	}
	out := make([]span, n)
	for i := range out {
		s := &out[i]
		s.from = TargetOffset(d.above(int64(at)))
		s.to = TargetOffset(d.above(int64(s.from)))
		if s.to == s.from || i > 0 && s.from == at {
			d.fail("empty or touching marker stretches")
		}
		at = s.to
	}
	return out
}

func (d *decoder) doubts(at TargetOffset) []doubt {
	n := d.count(3)
	if n == 0 {
		return nil
	}
	out := make([]doubt, n)
	for i := range out {
		o := &out[i]
		o.from = TargetOffset(d.above(int64(at)))
		o.to = TargetOffset(d.above(int64(o.from)))
		o.records = int64(d.uvarint(uint64(o.to - o.from)))
		if o.to == o.from {
			d.fail("empty doubt")
		}
		at = o.to
	}
	return out
}

// holes are the lists of one segment; clear checks that runs keep clear of them.
type holes struct {
	lost    []lostSpan
	markers []span
	doubts  []doubt
	l, s, d int // the first stretch that is not below the runs seen so far
}

func (h *holes) clear(r Run) bool {
	end := r.end()
	for h.l < len(h.lost) && h.lost[h.l].to <= r.Source {
		h.l++
	}
	for h.s < len(h.markers) && h.markers[h.s].to <= r.Target {
		h.s++
	}
	for h.d < len(h.doubts) && h.doubts[h.d].to <= r.Target {
		h.d++
	}
	return (h.l == len(h.lost) || h.lost[h.l].from >= end.source) &&
		(h.s == len(h.markers) || h.markers[h.s].from >= end.target) &&
		(h.d == len(h.doubts) || h.doubts[h.d].from >= end.target)
}

// beyond says that a stretch ends above p.
func (h *holes) beyond(p point) bool {
	return len(h.lost) > 0 && h.lost[len(h.lost)-1].to > p.source ||
		len(h.markers) > 0 && h.markers[len(h.markers)-1].to > p.target ||
		len(h.doubts) > 0 && h.doubts[len(h.doubts)-1].to > p.target
}

// segment reads what appendSegment wrote, up to the end of the data.
func (d *decoder) segment() (segment, holes) {
	from := d.point()
	h := holes{lost: d.lost(from.source), markers: d.markers(from.target), doubts: d.doubts(from.target)}
	if !disjoint(h.markers, h.doubts) {
		d.fail("doubt in a marker")
	}
	runs := d.count(1)
	g := emptySegment(from, 0)
	g.chunks = make([]chunk, 0, len(d.data)/chunkRuns+1) // fits if no byte is left unused
	for i := 0; i < runs && d.err == nil; i++ {
		r := d.run(g.to)
		if d.err != nil {
			break
		}
		if i > 0 && r.start() == g.to {
			d.fail("touching runs")
		}
		if !h.clear(r) {
			d.fail("run in a hole")
		}
		g.add(r)
	}
	g.chunks = slices.Clone(g.chunks) // without the spare room
	if len(d.data) > 0 {
		d.fail("bytes left over")
	}
	return g, h
}

// run decodes one run that starts at or after at.
func (d *decoder) run(at point) Run {
	h := d.byte()
	s, t, n := uint64(h>>4&7), uint64(0), uint64(h&15)+1
	if h >= longForm {
		s, n = uint64(h>>3&7), uint64(h&7)+1
		if s == escape {
			s += d.uvarint(math.MaxInt64 - escape)
		}
		if h&targetGap != 0 {
			t = 1 + d.uvarint(math.MaxInt64-1)
		}
		if n == escape+1 {
			n += d.uvarint(math.MaxInt64 - escape - 1)
		}
	}
	if s > uint64(math.MaxInt64-at.source) || t > uint64(math.MaxInt64-at.target) {
		d.fail("offset overflow")
		return Run{}
	}
	r := Run{at.source + SourceOffset(s), at.target + TargetOffset(t), int64(n)}
	if int64(r.Source) > math.MaxInt64-r.Count || int64(r.Target) > math.MaxInt64-r.Count {
		d.fail("offset overflow")
		return Run{}
	}
	return r
}
