package status

// Look is what is seen of a partition at one moment.
type Look struct {
	MirroredTo int64 // source offset below which everything is accounted for, by the ledger
	Visible    int64 // the source's end, as far as the flow reads: not beyond an open transaction with read_committed
	MapEnd     int64 // target offset at which the ledger's offset map ends
	TargetEnd  int64 // log end of the remote partition
}

// Waiting is how many source offsets at least are not on the target, though the mirror could read them. What was written since
// the ledger's record stands behind the map's end, and counts as mirrored: a record of the ledger follows the data by a second
// or more. 0 where something is not known.
func (l Look) Waiting() int64 {
	if l.MirroredTo < 0 || l.Visible < 0 || l.MapEnd < 0 || l.TargetEnd < 0 {
		return 0
	}
	return max(0, l.Visible-l.MirroredTo-max(0, l.TargetEnd-l.MapEnd))
}

// Stands says whether a partition has not moved between two looks although records waited at the first. Computed from the
// logs and not from what an owner says: one that hangs says nothing.
func Stands(first, second Look) bool {
	return first.Waiting() > 0 && second.MirroredTo == first.MirroredTo && second.MapEnd == first.MapEnd && second.TargetEnd == first.TargetEnd
}
