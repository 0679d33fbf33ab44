package offsetmap

import (
	"fmt"
	"math"
	"slices"
)

// Load rebuilds a map from the bytes of AppendTail and the sealed blocks
// found, in any order; of several with one number the last counts. Blocks that
// the tail does not name are ignored, but their numbers are not used again.
// A block that the tail names and that is absent, undecodable, of another
// incarnation or does not fit to its neighbours is missing (see
// [Map.Missing]); Load does not fail for it. The error is about the tail and
// is ErrCorrupt or ErrVersion. Nothing of tail and blocks is kept.
func Load(tail []byte, blocks []Block) (*Map, error) {
	m, numbers, err := loadTail(tail)
	if err != nil {
		return nil, fmt.Errorf("load tail: %w", err)
	}
	data := make(map[uint32][]byte, len(blocks))
	for _, b := range blocks {
		data[b.Number] = b.Data
		if b.Number >= m.next && b.Number < math.MaxUint32 {
			m.next = b.Number + 1
		}
	}
	if len(numbers.list) == 0 {
		return m, nil
	}
	m.loadSegments(numbers, data)
	return m, nil
}

// named is what the tail says of its blocks.
type named struct {
	list   []uint32
	first  point // where a reader begins: at or below the first run of the first block
	doubts int64 // copies in doubt in all blocks
}

// loadTail decodes all but the segments.
func loadTail(tail []byte) (*Map, named, error) {
	d := &decoder{data: tail}
	m := &Map{}
	d.version(tailVersion)
	m.origin.SourceCluster = string(d.bytes(d.uvarint(math.MaxInt32)))
	copy(m.origin.SourceTopicID[:], d.bytes(16))
	copy(m.origin.TargetTopicID[:], d.bytes(16))
	m.origin.Incarnation = uint32(d.uvarint(math.MaxUint32))
	begin, end := d.point(), d.point()
	m.origin.SourceStart, m.origin.Base = begin.source, begin.target
	m.through, m.targetEnd = end.source, end.target
	flags := d.byte()
	m.trimmed = flags&flagTrimmed != 0
	m.floor = d.point()
	numbers := d.numbers(m)
	lowest := m.floor
	if len(numbers.list) > 0 {
		numbers.first = d.point()
		numbers.doubts = int64(d.uvarint(math.MaxInt64))
		lowest = numbers.first
	}
	d.epochs(m)

	g, h := d.segment()
	switch {
	case d.err != nil:
		return nil, named{}, d.err
	case flags&^flagTrimmed != 0 || !m.trimmed && m.floor != begin:
		d.fail("unknown flags or floor")
	case !begin.atOrBelow(m.floor) || !m.floor.atOrBelow(lowest) || !lowest.atOrBelow(g.from) || !g.to.atOrBelow(end):
		d.fail("offsets out of order")
	case len(numbers.list) == 0 && g.from != m.floor:
		d.fail("tail does not start at the floor")
	case !room(lowest, g.from, len(numbers.list)):
		d.fail("more blocks than offsets")
	case h.beyond(end):
		d.fail("lost stretch, marker or doubt beyond the end")
	}
	if d.err != nil {
		return nil, named{}, d.err
	}
	m.lost, m.markers, m.doubts = h.lost, h.markers, h.doubts
	m.tail = emptySegment(g.from, 0)
	for r := range g.all() {
		m.push(r)
	}
	return m, numbers, nil
}

func (d *decoder) numbers(m *Map) named {
	m.next = uint32(d.uvarint(math.MaxUint32))
	var out named
	at := uint64(0)
	for range d.count(2) {
		from := at + d.uvarint(math.MaxUint32)
		n := d.uvarint(maxBlocks)
		if n == 0 || from+n > uint64(m.next) || uint64(len(out.list))+n > maxBlocks {
			d.fail("block numbers out of order")
			return named{}
		}
		for i := range n {
			out.list = append(out.list, uint32(from+i))
		}
		at = from + n
	}
	return out
}

func (d *decoder) epochs(m *Map) {
	last := EpochStart{-1, -1}
	for range d.count(2) {
		e := EpochStart{int32(d.uvarint(math.MaxInt32)), SourceOffset(d.above(0))}
		if e.Epoch <= last.Epoch || e.Start <= last.Start {
			d.fail("leader epochs out of order")
			return
		}
		m.epochs = append(m.epochs, e)
		last = e
	}
}

// loadSegments fills m.segs and the hole lists from the blocks that fit. It
// goes backwards: the tail is what we trust, so a block must end where its
// successor begins, or at or below the next one known if that is missing.
func (m *Map) loadSegments(numbers named, data map[uint32][]byte) {
	n := len(numbers.list)
	segs := make([]segment, 0, min(n, len(data)+1))
	lists := make([]holes, 0, cap(segs))
	next, absent := m.tail.from, 0 // where the next known successor begins, and how many are missing in front of it
	for i := n - 1; i >= 0; i-- {
		number := numbers.list[i]
		g, h := m.loadBlock(number, data[number])
		fits := g.runs > 0 && room(g.to, next, absent) && (absent > 0 || g.to == next)
		if i == 0 {
			// The tail knows less than the block if the block was missing
			// when its predecessor was trimmed.
			fits = fits && g.from == m.floor && numbers.first.atOrBelow(g.first)
		} else {
			fits = fits && room(numbers.first, g.from, i)
		}
		if fits {
			g.numbers = numbers.list[i : i+1 : i+1]
			segs, lists = append(segs, g), append(lists, h)
			next, absent = g.from, 0
			continue
		}
		absent++
		if l := len(segs); l > 0 && segs[l-1].missing {
			segs[l-1].numbers = numbers.list[i : i+1+len(segs[l-1].numbers)]
			continue
		}
		segs = append(segs, segment{missing: true, numbers: numbers.list[i : i+1], to: next})
		lists = append(lists, holes{})
	}
	slices.Reverse(segs)
	slices.Reverse(lists)
	m.join(segs, lists, numbers.first)
	m.hide(numbers.doubts - m.sealedDoubts())
}

// room says whether n blocks have room between two points: each holds a record at least. Without it the answers in front of
// a missing stretch and in it would be about the same target offset, in any order (OM10).
func room(from, to point, n int) bool {
	return int64(to.source-from.source) >= int64(n) && int64(to.target-from.target) >= int64(n)
}

// loadBlock decodes a block. A damaged one, or one that is another than asked
// for, comes back without runs.
func (m *Map) loadBlock(number uint32, data []byte) (segment, holes) {
	if len(data) == 0 {
		return segment{}, holes{} // a few bytes can name a million that are absent: no error is made for each
	}
	d := &decoder{data: data}
	d.version(blockVersion)
	incarnation, own := d.uvarint(math.MaxUint32), d.uvarint(math.MaxUint32)
	g, h := d.segment()
	if d.err != nil || incarnation != uint64(m.origin.Incarnation) || own != uint64(number) || h.beyond(g.to) {
		return segment{}, holes{}
	}
	return g, h
}

// join completes the missing stretches and the running numbers, and puts the
// hole lists of the segments in front of the tail's.
func (m *Map) join(segs []segment, lists []holes, first point) {
	var lost []lostSpan
	var markers []span
	var doubts []doubt
	at, before := first, int64(0)
	for i := range segs {
		g := &segs[i]
		if g.missing {
			g.from, g.first = at, at
			g.records = int64(g.to.target - at.target)
		}
		g.before = before
		before += g.records
		at = g.to
		lost = append(lost, lists[i].lost...)
		markers = append(markers, lists[i].markers...)
		doubts = append(doubts, lists[i].doubts...)
	}
	m.segs = segs
	m.tail.before = before
	m.lost = append(lost, m.lost...)
	m.markers = append(markers, m.markers...)
	m.doubts = append(doubts, m.doubts...)
}
