package lane

import "tidemark/offsetmap"

// result reads the answer off the feasible paths.
func (a *aligner) result() Alignment {
	out := Alignment{Place: a.place(), Mirrored: int64(a.least), Duplicates: int64(a.last - a.first)}
	var certain bool
	out.Runs, certain = a.runs(out.Place)
	out.Exact = certain && out.Duplicates == 0
	return out
}

// place is the smallest feasible place: in the row found, with as few slots as possible above the last survivor.
func (a *aligner) place() offsetmap.SourceOffset {
	most := 0 // the greatest entry of the row
	for _, s := range a.entries.row(a.first) {
		if s.lo <= a.least { // above it there is none: more slots than needed would have been enough a row earlier
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

// runs gives the tail records that have one source offset on every feasible path, in the order of the log, and whether
// that is each of them.
//
// A path is in row r before a slot if r survivors have their slots below it. Where the least and the greatest such
// row agree before and after a slot, the slot is either that of survivor r+1 or lost in row r, on every path. All
// other records are left out: a position then stays before them, in either direction of translation, and says how much
// is read again at most. The rejected alternative, to give each record the highest offset it can have, is never late from
// source to target, but late from target to source, and calls positions exact from which records are read again.
func (a *aligner) runs(place offsetmap.SourceOffset) (runs []offsetmap.Run, certain bool) {
	least, most := 0, 0 // the least and the greatest row before a slot
	row := func(slot int) (int, bool) {
		for least < a.first && a.high[least+1] <= slot {
			least++
		}
		for most < a.last && a.low[most+1] <= slot {
			most++
		}
		return least, least == most
	}
	certain = true
	for i, slot := range a.slots {
		before, one := row(slot)
		after, still := row(slot + 1)
		source, known := offsetmap.SourceOffset(0), false
		switch {
		case !one || !still:
		case after > before:
			source, known = a.survivor(after).Offset, true
		default:
			source, known = a.lost(before, slot)
		}
		if known = known && source < place; known {
			runs = alignAppend(runs, source, a.in.Tail[a.ours[i]].Target)
		}
		certain = certain && known
	}
	return runs, certain
}

// lost is the highest offset that a slot can have had which every path loses in row r; known says that it had no other one,
// as far as the room tells.
func (a *aligner) lost(r, slot int) (source offsetmap.SourceOffset, known bool) {
	end := a.least // slots below it and from slot on are lost in row r on every path
	if r < a.last {
		end = min(end, a.low[r+1]-1)
	}
	highest := a.room(r) - (end - slot)
	return a.free(r, highest), highest == slot-a.high[r]
}

// alignAppend adds one record to runs.
func alignAppend(runs []offsetmap.Run, source offsetmap.SourceOffset, target offsetmap.TargetOffset) []offsetmap.Run {
	if n := len(runs); n > 0 {
		last := &runs[n-1]
		if last.Source+offsetmap.SourceOffset(last.Count) == source && last.Target+offsetmap.TargetOffset(last.Count) == target {
			last.Count++
			return runs
		}
	}
	return append(runs, offsetmap.Run{Source: source, Target: target, Count: 1})
}
