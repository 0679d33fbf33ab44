package lane

import (
	"fmt"

	"tidemark/offsetmap"
)

// Tail is what stands on the target beyond a head's anchor, put together from its batch headers in order: whose each batch
// is, and how many records of ours there were.
type Tail struct {
	anchor, end offsetmap.TargetOffset
	epoch       int16
	sequence    int32
	landed      []Landed
	records     []TailRecord
	last        int64 // records of ours up to and including the last batch seen, by sequence
	holes       bool  // offsets behind our last batch without a header: whose they were is unknown
	next        offsetmap.TargetOffset
}

// NewTail begins a tail from the head's anchor to the target's log end. epoch and sequence are those that the next batch at
// the anchor would have had.
func NewTail(anchor, end offsetmap.TargetOffset, epoch int16, sequence int32) *Tail {
	return &Tail{anchor: anchor, end: end, epoch: epoch, sequence: sequence, next: anchor}
}

// Add takes the next batch, whole, even where it begins below the anchor. Of a batch of ours index is the number of its
// first offset among the records since the anchor; its records follow by Record. An error is a batch of ours in another
// epoch: the head in the new epoch is acknowledged before anything is written in it (MR1), so there can be none.
func (t *Tail) Add(l Landed) (index int64, err error) {
	base, next := l.Base, l.next()
	l.Base = max(base, t.anchor)
	l.Count = int64(next - l.Base)
	t.holes = t.holes || l.Base > t.next
	t.next = next
	t.landed = append(t.landed, l)
	if !l.Ours {
		return 0, nil
	}
	if l.Epoch != t.epoch {
		return 0, fmt.Errorf("target offset %d holds a batch of ours in epoch %d, the ledger's head is in epoch %d", base, l.Epoch, t.epoch)
	}
	index = int64(uint32(l.Sequence-t.sequence) & 0x7fffffff)
	t.last = index + int64(next-base)
	t.holes = false // its sequence numbers count what stood in front of it
	return index, nil
}

// Record takes a record of ours.
func (t *Tail) Record(r TailRecord) { t.records = append(t.records, r) }

// Records are those taken.
func (t *Tail) Records() []TailRecord { return t.records }

// Count is how many records of ours were written beyond the anchor, -1 if headers that would tell are gone. start is the
// target's log start.
func (t *Tail) Count(start offsetmap.TargetOffset) int64 {
	switch {
	case len(t.landed) == 0, start > t.anchor, t.next < t.end:
		return -1
	case t.holes: // also in front of our own marker: records of ours can have stood there
		return -1
	}
	return t.last
}

// Input is the question for [Align] about this tail, all but Source, which is not needed where Count is 0: no record of
// ours was written beyond the anchor.
func (t *Tail) Input(m *offsetmap.Map, e Ends, sourceCompacts, targetCompacts bool) AlignInput {
	through := m.Through()
	return AlignInput{
		Through: through, SourceStart: e.SourceStart, SourceEnd: e.SourceEnd, SourceStill: e.SourceStart <= through && !sourceCompacts,
		SourceCompacts: sourceCompacts, TargetCompacts: targetCompacts || t.cleaned(e.TargetStart),
		TargetStart: e.TargetStart, TargetEnd: t.end, Target: t.anchor, Count: t.Count(e.TargetStart), Tail: t.records,
	}
}

// cleaned says that a log cleaner has been there, whatever the topic's cleanup.policy is by now: only it leaves offsets from
// start on that nothing stands on.
func (t *Tail) cleaned(start offsetmap.TargetOffset) bool {
	next, ours := max(t.anchor, start), int64(0)
	for _, l := range t.landed {
		if l.Base > next {
			return true
		}
		next = l.next()
		if l.Ours {
			ours += l.Count
		}
	}
	return next < t.end || ours > int64(len(t.records))
}

// Settle aligns the tail with the source and writes it into the map. With a Mismatch the map is as it was. epochs are the
// source's leader epochs from the map's end on: what the dead owner mirrored beyond its last head carried them too, and
// without them the next check for truncation would compare with an epoch that ended before.
func (t *Tail) Settle(m *offsetmap.Map, in AlignInput, epochs []offsetmap.EpochStart) (Alignment, error) {
	a := Alignment{Place: in.Through, Exact: true}
	if in.Count != 0 {
		a = Align(in)
	}
	if a.Mismatch != nil {
		return a, nil
	}
	if err := t.Replay(m, a.Runs, a.Duplicates); err != nil {
		return a, err
	}
	if a.Place > m.Through() {
		if err := m.Advance(a.Place); err != nil {
			return a, err
		}
	}
	for _, e := range epochs {
		if e.Start < m.Through() {
			m.NoteEpoch(e.Epoch, e.Start)
		}
	}
	return a, nil
}

// Replay writes the tail into the map, in target order: runs, which Align found, as records, markers as markers, records of
// ours whose source offset is not certain as in doubt, of which so many at most will be there a second time, and everything
// else as foreign.
func (t *Tail) Replay(m *offsetmap.Map, runs []offsetmap.Run, twice int64) error {
	for _, r := range runs {
		if err := t.fill(m, r.Target, twice); err != nil {
			return err
		}
		if err := m.Append(r); err != nil {
			return err
		}
	}
	return t.fill(m, t.end, twice)
}

// fill writes what is no run, up to an offset.
func (t *Tail) fill(m *offsetmap.Map, to offsetmap.TargetOffset, twice int64) error {
	for _, l := range t.landed {
		begin, end := max(l.Base, m.TargetEnd()), min(l.next(), to)
		if end <= begin {
			continue
		}
		if begin > m.TargetEnd() {
			if err := m.Foreign(begin); err != nil {
				return err
			}
		}
		var err error
		switch {
		case l.Marker:
			err = m.Marker(end)
		case l.Ours:
			err = m.Doubt(end, min(int64(end-begin), twice))
		default:
			err = m.Foreign(end)
		}
		if err != nil {
			return err
		}
	}
	if to > m.TargetEnd() {
		return m.Foreign(to)
	}
	return nil
}
