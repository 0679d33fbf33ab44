package offsetmap

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A lookup costs what its cache misses cost, so the runs of a segment are cut
// into chunks that fill one cache line of 64 bytes each, with the decoding
// state in front of them. Rejected were states in an array of their own (two
// misses a lookup instead of one) and an index over every run (8 bytes a run).
const (
	chunkRuns = 48 // bytes of runs in a chunk
	lanes     = 8  // short runs that are decoded at once
)

// chunk is a number of runs that follow each other. A run is never split
// between two chunks, so some bytes at the end can be unused.
type chunk struct {
	// One past the run before the chunk, and the records in front of it, as
	// differences to the segment's start; see segment.wide.
	source, target, records uint32
	used                    uint8 // bytes of runs
	form                    form
	runs                    [chunkRuns]byte
}

// form says how regular the runs of a chunk are. A chunk that was begun with its
// state in segment.wide counts as mixed.
type form uint8

const (
	mixed form = iota
	short      // 48 short runs
	equal      // 48 equal short runs, as of transactions of one size
)

// state is where decoding stands in front of a run.
type state struct {
	at      point // one past the run before
	records int64 // records of the segment in front of it
}

// state returns the state in front of chunk i.
func (g *segment) state(i int) state {
	if len(g.wide) > 0 {
		return g.wide[i]
	}
	k := &g.chunks[i]
	at := point{g.from.source + SourceOffset(k.source), g.from.target + TargetOffset(k.target)}
	return state{at, int64(k.records)}
}

// addChunk begins a chunk at the end of the segment.
func (g *segment) addChunk() {
	if n := float64(len(g.chunks)); n > 0 {
		g.perSource = n / float64(g.to.source-g.from.source)
		g.perTarget = n / float64(g.to.target-g.from.target)
	}
	s := state{g.to, g.records}
	source, target := uint64(s.at.source-g.from.source), uint64(s.at.target-g.from.target)
	if max(source, target, uint64(s.records)) > math.MaxUint32 && len(g.wide) == 0 {
		g.widen()
	}
	if len(g.wide) > 0 {
		g.wide = append(g.wide, s)
		g.chunks = append(g.chunks, chunk{})
		return
	}
	g.chunks = append(g.chunks, chunk{source: uint32(source), target: uint32(target), records: uint32(s.records)})
}

// widen moves all states to g.wide, since one does not fit into 32 bits: the
// segment spans more than 4 G offsets, so it is one of long runs and few.
func (g *segment) widen() {
	wide := make([]state, len(g.chunks), 2*len(g.chunks)+1)
	for i := range g.chunks {
		wide[i] = g.state(i)
	}
	g.wide = wide
}

// formOf returns the form of a chunk whose state fits into it.
func (k *chunk) formOf() form {
	var all, differ uint64
	first := uint64(k.runs[0]) * eachByte
	for i := 0; i < chunkRuns; i += lanes {
		x := binary.LittleEndian.Uint64(k.runs[i:])
		all |= x
		differ |= x ^ first
	}
	switch {
	case k.used < chunkRuns || all&(longForm*eachByte) != 0:
		return mixed
	case differ != 0:
		return short
	}
	return equal
}

// chunkBelow returns the chunk that holds c or the hole before one of its runs:
// the last one whose state is at or below c.
func (g *segment) chunkBelow(c SourceOffset) int {
	n, guess := len(g.chunks), g.guess(c)
	if len(g.wide) > 0 {
		return lastBelow(n, guess, func(i int) bool { return g.wide[i].at.source <= c })
	}
	d := uint32(min(int64(c-g.from.source), math.MaxUint32))
	return lastBelow(n, guess, func(i int) bool { return g.chunks[i].source <= d })
}

// chunkBelowTarget is chunkBelow for a target offset.
func (g *segment) chunkBelowTarget(t TargetOffset) int {
	n, guess := len(g.chunks), g.guessTarget(t)
	if len(g.wide) > 0 {
		return lastBelow(n, guess, func(i int) bool { return g.wide[i].at.target <= t })
	}
	d := uint32(min(int64(t-g.from.target), math.MaxUint32))
	return lastBelow(n, guess, func(i int) bool { return g.chunks[i].target <= d })
}

// guess returns the chunk that holds c if offsets grow evenly.
func (g *segment) guess(c SourceOffset) int {
	return min(int(float64(c-g.from.source)*g.perSource), len(g.chunks)-1)
}

// guessTarget is guess for a target offset.
func (g *segment) guessTarget(t TargetOffset) int {
	return min(int(float64(t-g.from.target)*g.perTarget), len(g.chunks)-1)
}

// eight is eight short runs in a row. Byte i of each number belongs to run i
// and counts from the end of the run before the first one. No byte overflows,
// since eight short runs span at most 8 * (7 + 16) source offsets.
type eight struct {
	starts, ends uint64 // source offsets
	targets      uint64 // target offsets of the ends, and as many records
}

const (
	eachByte = 0x0101010101010101
	lowHalf  = 0x0f * eachByte
)

// decodeEight decodes eight short runs. A multiplication by 0x0101... makes
// byte i the sum of bytes 0 to i.
func decodeEight(x uint64) eight {
	counts := x&lowHalf + eachByte
	ends := (x>>4&lowHalf + counts) * eachByte
	return eight{starts: ends - counts, ends: ends, targets: counts * eachByte}
}

// lane returns byte i of x, and 0 for i = -1 and i = 8.
func lane(x uint64, i int) int64 { return int64(x >> uint64(8*i) & 0xff) }

// countBelow returns how many bytes of x, which do not decrease, are below d,
// 0 <= d < 256. Every second byte is compared at a time, so that there is room
// for the borrow.
func countBelow(x uint64, d int64) int {
	const (
		second = 0x0001000100010001
		bytes  = 0x00ff * second
		borrow = 0x8000 * second
	)
	ds := uint64(d) * second
	even := (x&bytes | borrow) - ds // keeps the borrow bit if the byte is not below d
	odd := (x>>8&bytes | borrow) - ds
	return lanes - bits.OnesCount64(even&borrow|odd&borrow>>1)
}

// within is where a lookup in a chunk ended: the end of the last run that starts
// below the offset looked up, and the source offset at which the run after it
// starts (of no meaning if the offset is in the run before), as differences to
// the chunk's state.
type within struct {
	source, target int64 // of the end; target is also the records up to there
	next           int64
}

// lookupSource looks up the source offset d above the chunk's state. It returns
// false if the chunk does not hold d or is mixed.
func (k *chunk) lookupSource(d int64) (within, bool) {
	if k.form != equal {
		return k.lookupShort(d)
	}
	gap, count := int64(k.runs[0]>>4), int64(k.runs[0]&15)+1
	step := gap + count
	if d < 0 || d >= chunkRuns*step {
		return within{}, false
	}
	n := (d + count - 1) / step // runs that start below d
	return within{n * step, n * count, n*step + gap}, true
}

// lookupTarget is lookupSource for the target offset d above the state.
func (k *chunk) lookupTarget(d int64) (within, bool) {
	if k.form != equal {
		return k.lookupShortTarget(d)
	}
	gap, count := int64(k.runs[0]>>4), int64(k.runs[0]&15)+1
	if d < 0 || d >= chunkRuns*count {
		return within{}, false
	}
	n := (d + count - 1) / count // a short run starts where the one before it ends
	return within{n * (gap + count), n * count, n*(gap+count) + gap}, true
}

// lookupShort is lookupSource for a chunk of short runs. Nothing in the loop branches on
// what it reads: a branch that is guessed wrong costs as much as decoding all of
// the chunk, and keeps the processor from working ahead while it waits for memory.
func (k *chunk) lookupShort(d int64) (within, bool) {
	if k.form != short || d < 0 {
		return within{}, false
	}
	var end, pos int64
	var w within
	for i := 0; i < chunkRuns; i += lanes {
		e := decodeEight(binary.LittleEndian.Uint64(k.runs[i : i+lanes]))
		end += lane(e.ends, lanes-1)
		skip := (end - d - 1) >> 63 // all bits if these runs end at or below d, otherwise none
		pos += lanes & skip
		w.source += lane(e.ends, lanes-1) & skip
		w.target += lane(e.targets, lanes-1) & skip
	}
	if pos == chunkRuns {
		return within{}, false
	}
	e := decodeEight(binary.LittleEndian.Uint64(k.runs[pos:]))
	n := countBelow(e.starts, d-w.source)
	w.next = w.source + lane(e.starts, n)
	w.source += lane(e.ends, n-1)
	w.target += lane(e.targets, n-1)
	return w, true
}

// lookupShortTarget is lookupShort for the target offset d; next is left out.
func (k *chunk) lookupShortTarget(d int64) (within, bool) {
	if k.form != short || d < 0 {
		return within{}, false
	}
	var end, pos int64
	var w within
	for i := 0; i < chunkRuns; i += lanes {
		e := decodeEight(binary.LittleEndian.Uint64(k.runs[i : i+lanes]))
		end += lane(e.targets, lanes-1)
		skip := (end - d - 1) >> 63
		pos += lanes & skip
		w.source += lane(e.ends, lanes-1) & skip
		w.target += lane(e.targets, lanes-1) & skip
	}
	if pos == chunkRuns {
		return within{}, false
	}
	e := decodeEight(binary.LittleEndian.Uint64(k.runs[pos:]))
	n := countBelow(e.targets<<8, d-w.target)
	w.source += lane(e.ends, n-1)
	w.target += lane(e.targets, n-1)
	return w, true
}
