package lane

// forward finds every entry that can be reached from the anchor, row by row, and the rows in which all slots can have
// been used. An error tells where source and tail part.
func (a *aligner) forward() *Mismatch {
	a.first, a.last = -1, -1
	var wide []alignSpan
	row := []alignSpan{{0, 0}}
	for r := 0; ; r++ {
		a.entries.add(row)
		wide = a.widen(wide[:0], r, row)
		if a.complete(wide) {
			if a.first < 0 {
				a.first = r
			}
			a.last = r
		}
		if r == len(a.survivors) {
			break
		}
		if row = a.match(row[:0], r, wide); len(row) == 0 {
			break
		}
	}
	if a.first < 0 {
		return a.parting(wide)
	}
	return nil
}

// complete tells whether all slots can be used up within a widened row. No entry is above most.
func (a *aligner) complete(wide []alignSpan) bool { return alignFrom(wide, a.least) < len(wide) }

// widen adds to the entries of row r what can be reached by slots whose records the source has lost there. From the
// highest entry of a span one gets furthest, so the others need no look.
func (a *aligner) widen(out []alignSpan, r int, row []alignSpan) []alignSpan {
	room := a.room(r)
	for _, s := range row {
		if end := min(a.kept(r, s.hi), a.most); end > s.hi && room > 0 {
			s.hi = min(end, s.hi+room)
		}
		out = alignAdd(out, s)
	}
	return out
}

// kept is the first slot at or after slot that the source cannot have lost in row r.
func (a *aligner) kept(r, slot int) int {
	if r == 0 {
		// The first slots lie as low as they can, on Through, Through+1, ...: below the log start anything may go.
		slot = max(slot, a.trim)
	}
	if !a.in.SourceCompacts {
		return slot
	}
	if i := a.limits.next(a.from(slot), int32(r)); i < len(a.slots) {
		return a.slots[i]
	}
	return a.most
}

// match gives the entries of row r+1: one more than each slot in wide that can hold the survivor above row r.
func (a *aligner) match(out []alignSpan, r int, wide []alignSpan) []alignSpan {
	s := a.survivor(r + 1)
	limit := a.hidden(s)
	var seen []alignSpan
	for _, w := range wide {
		if w.hi-w.lo < alignDirect {
			for slot := w.lo; slot <= w.hi && len(out) <= a.pieces; slot++ {
				if a.holds(slot, s.Hash, limit) {
					out = alignAdd(out, alignSpan{slot + 1, slot + 1})
				}
			}
		} else {
			if seen == nil {
				seen = a.index().of(s.Hash)
			}
			out = a.matchSpan(out, w, seen, limit)
		}
		if len(out) > a.pieces {
			out = out[:a.pieces]
			out[a.pieces-1].hi = min(wide[len(wide)-1].hi, a.most-1) + 1
			return out
		}
	}
	return out
}

// holds tells whether a slot can hold a record with the content hash, a missing slot only below limit.
func (a *aligner) holds(slot int, hash uint64, limit int) bool {
	if i := a.from(slot); i < len(a.slots) && a.slots[i] == slot {
		return a.in.Tail[a.ours[i]].Hash == hash
	}
	return slot < min(limit, a.most)
}

// matchSpan adds the matches within a wide span: the known slots of the content and the missing slots below limit,
// two sorted lists without a common slot. It stops one piece above the bound.
func (a *aligner) matchSpan(out []alignSpan, w alignSpan, seen []alignSpan, limit int) []alignSpan {
	i, j := alignFrom(seen, w.lo), alignFrom(a.gaps, w.lo)
	for len(out) <= a.pieces {
		next := alignSpan{w.hi + 1, w.hi}
		if i < len(seen) && seen[i].lo <= w.hi {
			next = seen[i]
		}
		if j < len(a.gaps) && a.gaps[j].lo < min(next.lo, limit) {
			next = alignSpan{a.gaps[j].lo, min(a.gaps[j].hi, limit-1)}
			j++
		} else {
			i++
		}
		if next.lo > w.hi {
			break
		}
		if lo, hi := max(next.lo, w.lo), min(next.hi, w.hi); lo <= hi {
			out = alignAdd(out, alignSpan{lo + 1, hi + 1})
		}
	}
	return out
}

// parting describes how far the two logs agree, after a forward pass that found no place.
func (a *aligner) parting(wide []alignSpan) *Mismatch {
	m := &Mismatch{Source: -1, Target: -1, Reason: "no place on the source explains the target's tail"}
	if r := len(a.entries.ends) - 1; r < len(a.survivors) {
		m.Source = a.survivor(r + 1).Offset
	}
	if i := a.from(wide[len(wide)-1].hi); i < len(a.slots) {
		m.Target = a.in.Tail[a.ours[i]].Target
	}
	return m
}

// backward keeps of the entries what lies on a feasible path, and notes the least and the greatest of each row.
func (a *aligner) backward() {
	a.low, a.high = make([]int, a.last+1), make([]int, a.last+1)
	var alive, wide, ends, goals, reach []alignSpan
	for r := a.last; r >= 0; r-- {
		for i := range alive { // slots used when row r is left by a match
			alive[i].lo, alive[i].hi = alive[i].lo-1, alive[i].hi-1
		}
		ends = ends[:0]
		if r >= a.first {
			wide = a.widen(wide[:0], r, a.entries.row(r))
			ends = alignMeet(ends, wide, []alignSpan{{a.least, a.most}})
		}
		goals = alignUnion(goals[:0], alive, ends)
		reach = a.widenBack(reach[:0], r, goals)
		alive = alignMeet(alive[:0], a.entries.row(r), reach)
		a.low[r], a.high[r] = alive[0].lo, alive[len(alive)-1].hi
	}
}

// alignUnion appends the union of two sorted lists to out.
func alignUnion(out, x, y []alignSpan) []alignSpan {
	for len(x) > 0 || len(y) > 0 {
		if len(y) == 0 || len(x) > 0 && x[0].lo <= y[0].lo {
			out, x = alignAdd(out, x[0]), x[1:]
		} else {
			out, y = alignAdd(out, y[0]), y[1:]
		}
	}
	return out
}

// widenBack is widen in the other direction: the counts in row r from which one of goals can be reached.
func (a *aligner) widenBack(out []alignSpan, r int, goals []alignSpan) []alignSpan {
	room := a.room(r)
	for _, s := range goals {
		lo := s.lo
		switch {
		case r == 0:
			lo = 0 // the only entry there is; forward has found the way
		case a.in.SourceCompacts && room > 0:
			lo = max(s.lo-room, 0)
			if i := a.limits.prev(a.from(s.lo), int32(r)); i >= 0 {
				lo = max(lo, a.slots[i]+1)
			}
		}
		out = alignAddBack(out, alignSpan{lo, s.hi})
	}
	return out
}

// alignAddBack appends a span that ends above the last one's end but may begin below it.
func alignAddBack(out []alignSpan, s alignSpan) []alignSpan {
	for n := len(out); n > 0 && out[n-1].hi+1 >= s.lo; n = len(out) {
		s.lo = min(s.lo, out[n-1].lo)
		out = out[:n-1]
	}
	return append(out, s)
}
