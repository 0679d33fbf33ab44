package offsetmap

import (
	"encoding/binary"
	"math"
	"slices"
)

// Format versions. NB: they are stored on target clusters; a change of the
// layout needs a new number and a decoder that still reads the released ones.
const (
	blockVersion = 2 // 1 had no doubts and was never released
	tailVersion  = 2
)

// BlockSize is the OpenSize at which sealing pays: 16 KiB are some 16,000
// one-record transactions, so that the index of 100 M runs has 6,000 entries,
// and an open tail of that size is still cheap to write with every head.
const BlockSize = 16 << 10

// maxBlocks bounds the blocks of one map: what Load allocates before it has
// seen them. 1 M blocks hold some 16 G runs.
const maxBlocks = 1 << 20

// Block is a sealed part of a map, stored once under its number.
type Block struct {
	Number uint32
	Data   []byte
}

// OpenSize returns how many bytes the next sealed block would have at most,
// apart from its header of less than 64 bytes.
func (m *Map) OpenSize() int {
	n := m.tail.size
	if m.open.Count > 0 {
		var buf [maxRun]byte
		n += len(appendRun(buf[:0], m.tail.to, m.open))
	}
	for i := m.lostAbove(m.tail.from.source); i < len(m.lost); i++ {
		l := m.lost[i]
		n += uvarintLen(uint64(l.to-l.from)) + uvarintLen(uint64(l.records)) + 2
	}
	for i := m.markerAbove(m.tail.from.target); i < len(m.markers); i++ {
		n += uvarintLen(uint64(m.markers[i].to-m.markers[i].from)) + 2
	}
	for i := m.doubtAbove(m.tail.from.target); i < len(m.doubts); i++ {
		d := m.doubts[i]
		n += uvarintLen(uint64(d.to-d.from)) + uvarintLen(uint64(d.records)) + 2
	}
	return n
}

// Seal turns the runs of the tail, but for the last one, which may still grow,
// into a block. It returns false and changes nothing if there are none, or if
// the map has a million blocks already. When to seal is the caller's choice;
// see [BlockSize] and, for the order of writes, the package documentation.
func (m *Map) Seal() (Block, bool) {
	g := &m.tail
	if g.runs == 0 || len(m.segs) >= maxBlocks || m.next == math.MaxUint32 {
		return Block{}, false
	}
	h := holes{
		lost:    m.lost[m.lostAbove(g.from.source):m.lostAbove(g.to.source)],
		markers: m.markers[m.markerAbove(g.from.target):m.markerAbove(g.to.target)],
		doubts:  m.doubts[m.doubtAbove(g.from.target):m.doubtAbove(g.to.target)],
	}
	data := make([]byte, 0, g.size+64+16*len(h.lost)+8*len(h.markers)+16*len(h.doubts))
	data = append(data, blockVersion)
	data = binary.AppendUvarint(data, uint64(m.origin.Incarnation))
	data = binary.AppendUvarint(data, uint64(m.next))
	data = appendSegment(data, g, h, Run{})

	sealed := *g
	sealed.chunks, sealed.wide = slices.Clone(g.chunks), slices.Clone(g.wide) // without the spare room
	sealed.numbers = []uint32{m.next}
	m.segs = append(m.segs, sealed)
	m.next++
	chunks := g.chunks[:0]
	m.tail = emptySegment(sealed.to, sealed.before+sealed.records)
	m.tail.first = m.open.start()
	m.tail.chunks = chunks
	return Block{Number: sealed.numbers[0], Data: data}, true
}

// appendSegment encodes the start, the holes and the runs of g, and then the
// open run (empty if it is none).
func appendSegment(dst []byte, g *segment, h holes, open Run) []byte {
	runs := g.runs
	if open.Count > 0 {
		runs++
	}
	dst = appendPoint(dst, g.from)
	dst = appendLost(dst, g.from.source, h.lost)
	dst = appendMarkers(dst, g.from.target, h.markers)
	dst = appendDoubts(dst, g.from.target, h.doubts)
	dst = binary.AppendUvarint(dst, uint64(runs))
	dst = g.appendRuns(dst)
	if open.Count > 0 {
		dst = appendRun(dst, g.to, open)
	}
	return dst
}

func appendPoint(dst []byte, p point) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.source))
	return binary.AppendUvarint(dst, uint64(p.target))
}

func appendLost(dst []byte, at SourceOffset, lost []lostSpan) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(lost)))
	for _, l := range lost {
		dst = binary.AppendUvarint(dst, uint64(l.from-at))
		dst = binary.AppendUvarint(dst, uint64(l.to-l.from))
		dst = binary.AppendUvarint(dst, uint64(l.records))
		at = l.to
	}
	return dst
}

func appendMarkers(dst []byte, at TargetOffset, markers []span) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(markers)))
	for _, s := range markers {
		dst = binary.AppendUvarint(dst, uint64(s.from-at))
		dst = binary.AppendUvarint(dst, uint64(s.to-s.from))
		at = s.to
	}
	return dst
}

func appendDoubts(dst []byte, at TargetOffset, doubts []doubt) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(doubts)))
	for _, d := range doubts {
		dst = binary.AppendUvarint(dst, uint64(d.from-at))
		dst = binary.AppendUvarint(dst, uint64(d.to-d.from))
		dst = binary.AppendUvarint(dst, uint64(d.records))
		at = d.to
	}
	return dst
}

// Flags of the tail.
const (
	flagTrimmed = 1 << iota // the floor differs from the origin for good
)

// AppendTail appends everything but the sealed blocks: origin, Through,
// TargetEnd, where the map begins, leader epochs, the numbers of the blocks
// and the open tail. [Load] takes these bytes and no more.
func (m *Map) AppendTail(dst []byte) []byte {
	o := m.origin
	dst = append(dst, tailVersion)
	dst = binary.AppendUvarint(dst, uint64(len(o.SourceCluster)))
	dst = append(dst, o.SourceCluster...)
	dst = append(dst, o.SourceTopicID[:]...)
	dst = append(dst, o.TargetTopicID[:]...)
	dst = binary.AppendUvarint(dst, uint64(o.Incarnation))
	dst = appendPoint(dst, point{o.SourceStart, o.Base})
	dst = appendPoint(dst, point{m.through, m.targetEnd})
	var flags byte
	if m.trimmed {
		flags |= flagTrimmed
	}
	dst = append(dst, flags)
	dst = appendPoint(dst, m.floor)
	dst = m.appendNumbers(dst)
	if len(m.segs) > 0 {
		// Known here as well, so that it survives the loss of blocks: where a
		// reader begins, and how many copies may be in any of them.
		dst = appendPoint(dst, m.first())
		dst = binary.AppendUvarint(dst, uint64(m.sealedDoubts()+m.hidden))
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.epochs)))
	for _, e := range m.epochs {
		dst = binary.AppendUvarint(dst, uint64(e.Epoch))
		dst = binary.AppendUvarint(dst, uint64(e.Start))
	}

	g := &m.tail
	return appendSegment(dst, g, holes{
		lost:    m.lost[m.lostAbove(g.from.source):],
		markers: m.markers[m.markerAbove(g.from.target):],
		doubts:  m.doubts[m.doubtAbove(g.from.target):],
	}, m.open)
}

// appendNumbers encodes the next block number and the map's blocks as ranges:
// numbers are only missing where a block was written and the head that names it was not.
func (m *Map) appendNumbers(dst []byte) []byte {
	type numbers struct{ from, to uint32 } // to is one past
	var ranges []numbers
	for i := range m.segs {
		for _, n := range m.segs[i].numbers {
			if l := len(ranges); l > 0 && ranges[l-1].to == n {
				ranges[l-1].to++
				continue
			}
			ranges = append(ranges, numbers{n, n + 1})
		}
	}
	dst = binary.AppendUvarint(dst, uint64(m.next))
	dst = binary.AppendUvarint(dst, uint64(len(ranges)))
	at := uint32(0)
	for _, r := range ranges {
		dst = binary.AppendUvarint(dst, uint64(r.from-at))
		dst = binary.AppendUvarint(dst, uint64(r.to-r.from))
		at = r.to
	}
	return dst
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
