package lane

import (
	"math"
	"slices"

	"tidemark/offsetmap"
)

// aligner is one alignment being computed.
//
// Words: a slot is the number of one of our records since the anchor. Row r is the stretch of source offsets above the
// r-th surviving source record (r from 1; row 0 begins at the anchor) and below the next one. An entry into row r is
// the number of slots used up to and including that of the r-th survivor.
type aligner struct {
	in     AlignInput
	pieces int // alignPieces, except in tests

	survivors []int // places in in.Source that hold a record, in order

	ours        []int // places in in.Tail of our records, in order
	slots       []int // their slots, strictly increasing
	gaps        []alignSpan
	least, most int // how many slots there are, as a range
	expired     int // missing slots below it may have expired on the target
	vanish      int // missing slots below it leave room for a later record that is gone too
	// superseded: missing slots below the value may be older than a record of that key which is still there.
	superseded map[uint64]int

	trim      int // slots below it can lie below the source's log start, in row 0
	limits    alignTree
	same      *alignIndex // built when first needed
	near      int         // where from last found a slot
	entries   alignRows
	low, high []int // least and greatest entry of a row that is on a feasible path, by row

	first, last int // the rows of the smallest and the largest feasible place
}

// readSource takes the records between the anchor and the end, and refuses an order that no log has.
func (a *aligner) readSource() *Mismatch {
	before := a.in.Through - 1
	a.survivors = make([]int, 0, len(a.in.Source))
	for pos, s := range a.in.Source {
		if s.Offset >= a.in.SourceEnd {
			a.in.Source = a.in.Source[:pos]
			break
		}
		if s.Offset <= before {
			return &Mismatch{Source: s.Offset, Target: -1, Reason: "source records out of order or below the anchor"}
		}
		before = s.Offset
		if !s.Blank {
			a.survivors = append(a.survivors, pos)
		}
	}
	return nil
}

// readTail numbers the slots, checks that they fit between the target's offsets, and finds which slots are missing
// and how each can have gone.
func (a *aligner) readTail() *Mismatch {
	if a.in.TargetCompacts {
		a.superseded = make(map[uint64]int)
	}
	a.ours, a.slots = make([]int, 0, len(a.in.Tail)), make([]int, 0, len(a.in.Tail))
	slot, target, foreign := -1, a.in.Target-1, 0 // our last record, and what came after it
	for pos, t := range a.in.Tail {
		unseen := int(t.Target-target-1) - foreign
		if unseen < 0 || t.Target >= a.in.TargetEnd {
			return &Mismatch{Source: -1, Target: t.Target, Reason: "target records out of order or outside the tail"}
		}
		if !t.Ours {
			a.supersede(t.Key, slot+1+unseen)
			foreign++
			continue
		}
		next := int(t.Index)
		if next <= slot || next-slot-1 > unseen {
			return &Mismatch{Source: -1, Target: t.Target, Reason: "sequence numbers do not fit the target's offsets"}
		}
		a.gap(slot, next, unseen)
		a.supersede(t.Key, next)
		a.ours, a.slots = append(a.ours, pos), append(a.slots, next)
		slot, target, foreign = next, t.Target, 0
	}
	return a.countSlots(slot, int(max(0, a.in.TargetEnd-target-1))-foreign)
}

// supersede notes that missing slots below limit may be older than a record of the key.
func (a *aligner) supersede(key uint64, limit int) {
	if a.superseded != nil && key != 0 {
		a.superseded[key] = max(limit, a.superseded[key])
	}
}

// gap notes the missing slots between two slots that have unseen target offsets between them.
func (a *aligner) gap(slot, next, unseen int) {
	if next > slot+1 {
		a.gaps = append(a.gaps, alignSpan{slot + 1, next - 1})
	}
	if unseen > 0 {
		a.vanish = slot + unseen
	}
}

// countSlots ends readTail: slot is our last record, unseen the number of target offsets after it with nothing on them.
func (a *aligner) countSlots(slot, unseen int) *Mismatch {
	a.expired = int(max(0, min(a.in.TargetStart, a.in.TargetEnd)-a.in.Target))
	if len(a.slots) > 0 {
		a.expired = min(a.expired, a.slots[0])
	}
	a.least, a.most = slot+1, slot+1
	switch {
	case a.in.Count >= 0:
		a.least, a.most = int(a.in.Count), int(a.in.Count)
	case a.in.TargetCompacts:
		a.most += unseen
	case len(a.slots) == 0:
		a.most = min(a.expired, unseen)
	}
	if a.least <= slot {
		return &Mismatch{Source: -1, Target: a.in.TargetEnd, Reason: "the target holds more of our records than sequence numbers count"}
	}
	if a.most-slot-1 > unseen {
		return &Mismatch{Source: -1, Target: a.in.TargetEnd, Reason: "sequence numbers count more records than the target's offsets can hold"}
	}
	a.gap(slot, a.most, unseen)
	for _, g := range a.gaps {
		if g.hi >= a.expired && !a.in.TargetCompacts {
			return &Mismatch{Source: -1, Target: a.targetAfter(g.hi), Reason: "records of ours are missing on the target, which neither compacts nor expired them"}
		}
	}
	return nil
}

// targetAfter is the target offset of our first record after a slot, or the end.
func (a *aligner) targetAfter(slot int) offsetmap.TargetOffset {
	for i, s := range a.slots {
		if s > slot {
			return a.in.Tail[a.ours[i]].Target
		}
	}
	return a.in.TargetEnd
}

// hidden says below which slot a missing slot can have held the source record s.
func (a *aligner) hidden(s SourceRecord) int {
	if !a.in.TargetCompacts || s.Key == 0 {
		return a.expired
	}
	limit := max(a.expired, a.superseded[s.Key])
	switch {
	case a.in.TargetKeepsTombstones:
		return limit
	case s.Tombstone:
		return math.MaxInt
	default:
		return max(limit, a.vanish)
	}
}

// prepare builds what forward and backward look things up in.
func (a *aligner) prepare() {
	a.trim = int(max(0, a.in.SourceStart-a.in.Through))
	last := make(map[uint64]int32)
	if a.in.SourceCompacts && a.in.SourceKeepsTombstones {
		for row, pos := range a.survivors {
			last[a.in.Source[pos].Key] = int32(row + 1)
		}
	}
	limits := make([]int32, len(a.ours))
	for i, pos := range a.ours {
		t := a.in.Tail[pos]
		switch {
		case !a.in.SourceCompacts || t.Key == 0:
			limits[i] = 0
		case a.in.SourceKeepsTombstones:
			limits[i] = last[t.Key]
		default:
			// A later tombstone of the key can have been removed as well, so nothing visible needs to follow.
			limits[i] = math.MaxInt32
		}
	}
	a.limits = newAlignTree(limits)
}

// index finds slots by content.
func (a *aligner) index() *alignIndex {
	if a.same == nil {
		hashes := make([]uint64, len(a.ours))
		for i, pos := range a.ours {
			hashes[i] = a.in.Tail[pos].Hash
		}
		a.same = newAlignIndex(hashes, a.slots)
	}
	return a.same
}

// from is the place of the first known slot at or after slot. Questions come close to each other, so the last answer
// is looked at first.
func (a *aligner) from(slot int) int {
	for i := a.near; i < min(a.near+4, len(a.slots)); i++ {
		if a.slots[i] >= slot && (i == 0 || a.slots[i-1] < slot) {
			a.near = i
			return i
		}
	}
	a.near, _ = slices.BinarySearch(a.slots, slot)
	return a.near
}

// survivor is the record that ends row r-1 and begins row r; r from 1.
func (a *aligner) survivor(r int) SourceRecord { return a.in.Source[a.survivors[r-1]] }

// bounds are the source offsets (exclusive) around row r, and the places in in.Source of its blanks.
func (a *aligner) bounds(r int) (below, above offsetmap.SourceOffset, from, to int) {
	below, above, from, to = a.in.Through-1, a.in.SourceEnd, 0, len(a.in.Source)
	if r > 0 {
		below, from = a.survivor(r).Offset, a.survivors[r-1]+1
	}
	if r < len(a.survivors) {
		above, to = a.survivor(r+1).Offset, a.survivors[r]
	}
	return below, above, from, to
}

// room is the number of offsets in row r that may have held records.
func (a *aligner) room(r int) int {
	below, above, from, to := a.bounds(r)
	return max(0, int(above-below-1)-(to-from))
}

// free is the n-th (from 0) of these offsets.
func (a *aligner) free(r, n int) offsetmap.SourceOffset {
	below, _, from, to := a.bounds(r)
	lo, hi := 0, to-from // how many blanks lie below it
	for lo < hi {
		mid := (lo + hi) / 2
		if a.in.Source[from+mid].Offset-below-1 > offsetmap.SourceOffset(mid+n) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return below + 1 + offsetmap.SourceOffset(n+lo)
}
