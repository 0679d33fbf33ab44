package lane

// walk is Align for a source that has lost nothing: slot i is source record i, and contents are only verified. It
// stops at the first contradiction instead of looking for another reading.
func (a *aligner) walk() (Alignment, *Mismatch) {
	if len(a.survivors) < a.least {
		return Alignment{}, &Mismatch{Source: a.in.SourceEnd, Target: -1, Reason: "the source holds fewer records than were mirrored"}
	}
	out := Alignment{Place: a.in.Through, Mirrored: int64(a.least), Exact: true}
	for i, slot := range a.slots {
		s, t := a.in.Source[a.survivors[slot]], a.in.Tail[a.ours[i]]
		if s.Hash != t.Hash {
			return Alignment{}, &Mismatch{Source: s.Offset, Target: t.Target, Reason: "the target holds another record than the source"}
		}
		out.Runs = alignAppend(out.Runs, s.Offset, t.Target)
	}
	if a.least > 0 {
		out.Place = a.survivor(a.least).Offset + 1
	}
	for _, g := range a.gaps {
		for slot := g.lo; slot <= g.hi && slot < len(a.survivors); slot++ {
			if s := a.survivor(slot + 1); slot >= a.hidden(s) {
				if slot >= a.least { // the number of slots is not known, and this is as far as it can be
					return out, nil
				}
				return Alignment{}, &Mismatch{Source: s.Offset, Target: a.targetAfter(slot), Reason: "a record of ours is missing on the target, and nothing there replaces it"}
			}
			if slot >= a.least {
				out.Duplicates, out.Exact = out.Duplicates+1, false
			}
		}
	}
	return out, nil
}
