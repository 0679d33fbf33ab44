package lane

import (
	"slices"

	"tidemark/offsetmap"
)

// result reads the answer off the feasible paths.
func (a *aligner) result() Alignment {
	out := Alignment{Place: a.place(), Mirrored: int64(a.least), Duplicates: int64(a.last - a.first)}
	var certain bool
	out.Runs, certain = a.runs(out.Place)
	out.Exact = certain && out.Duplicates == 0
	return out
}

// place is the smallest feasible place: in the row found, with as few slots as possible above the last survivor.
func (a *aligner) place() int64 {
	most := 0 // the greatest entry that is not above the least number of slots
	for _, s := range a.entries.row(a.first) {
		if s.lo <= a.most && s.hi >= a.least {
			most = a.least // nothing is left over
			break
		}
		if s.hi < a.least {
			most = s.hi
		}
	}
	if most < a.least {
		return a.free(a.first, a.least-most-1) + 1
	}
	if a.first == 0 {
		return a.in.Through
	}
	return a.survivor(a.first).Offset + 1
}

// runs gives the tail records on whose place every feasible path agrees, in the order of the log, and whether that is
// each of them at exactly one offset.
//
// A path is in row r before a slot if r survivors have their slots below it. Where the least and the greatest such
// row agree before and after a slot, the slot is either that of survivor r+1 or lost in row r, on every path. All
// other records are left out: a position then stays before them, in either direction of translation. The rejected
// alternative, to give each record the highest offset it can have, is never late from source to target, but late from
// target to source.
func (a *aligner) runs(place int64) (runs []offsetmap.Run, certain bool) {
	certain = true
	low, high := a.last, a.first // rows as of the slot looked at
	rows := func(slot int) (least, most int, one bool) {
		for low > 0 && a.low[low] > slot {
			low--
		}
		for high > 0 && a.high[high] > slot {
			high--
		}
		return high, low, high == low
	}
	for i := len(a.slots) - 1; i >= 0; i-- {
		slot := a.slots[i]
		after, _, one := rows(slot + 1)
		before, _, both := rows(slot)
		source, exact := place, true
		switch {
		case !one || !both:
		case after > before:
			source = a.survivor(after).Offset
		default:
			source, exact = a.lost(before, slot)
		}
		if source >= place {
			certain = false
			continue
		}
		certain = certain && exact
		target := a.in.Tail[a.ours[i]].Target
		if n := len(runs); n > 0 && int64(runs[n-1].Source)-1 == source && int64(runs[n-1].Target)-1 == target {
			runs[n-1] = offsetmap.Run{Source: offsetmap.SourceOffset(source), Target: offsetmap.TargetOffset(target), Count: runs[n-1].Count + 1}
			continue
		}
		runs = append(runs, offsetmap.Run{Source: offsetmap.SourceOffset(source), Target: offsetmap.TargetOffset(target), Count: 1})
	}
	slices.Reverse(runs)
	return runs, certain
}

// lost is the highest offset that a slot can have had which every path loses in row r, and whether it is the only one.
func (a *aligner) lost(r, slot int) (source int64, exact bool) {
	end := a.least // slots below it and from slot on are lost in row r on every path
	if r < a.last {
		end = min(end, a.low[r+1]-1)
	}
	highest := a.room(r) - (end - slot)
	return a.free(r, highest), highest == slot-a.high[r]
}
