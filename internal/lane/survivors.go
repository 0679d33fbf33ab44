package lane

import "tidemark/offsetmap"

// SourceBatch is a batch of the source as its header tells it.
type SourceBatch struct {
	Base, Next  offsetmap.SourceOffset // its first offset, and the one after its last
	LeaderEpoch int32
	Count       int32 // records that compaction has left in it
	Blank       bool  // a control batch, or one of an aborted transaction: its offsets never held a record to mirror
}

// Survivors collects what the source still holds from a map's end on, as far as it can have been mirrored, for [Align].
type Survivors struct {
	from    offsetmap.SourceOffset // the first offset that counts
	most    int64                  // records that can have been mirrored
	still   bool                   // no record can have vanished, so blank offsets are of no use
	records int64
	next    offsetmap.SourceOffset // the offset after what was taken
	holed   bool
	out     []SourceRecord
	epochs  []offsetmap.EpochStart
}

// NewSurvivors begins a collection for an alignment of which everything is known but Source.
func NewSurvivors(in AlignInput) *Survivors {
	s := &Survivors{from: max(in.Through, in.SourceStart), most: in.Count, still: in.SourceStill}
	s.next = s.from
	if in.Count < 0 {
		s.most = int64(in.TargetEnd - in.Target)
	}
	return s
}

// From is the source offset to read from.
func (s *Survivors) From() offsetmap.SourceOffset { return s.from }

// Batch takes the next batch; wanted says that its records are to be read and given to Record. One that compaction has
// emptied is not blank: its records were mirrored or not, and are gone.
func (s *Survivors) Batch(b SourceBatch) (wanted bool) {
	if n := len(s.epochs); n == 0 || s.epochs[n-1].Epoch != b.LeaderEpoch {
		s.epochs = append(s.epochs, offsetmap.EpochStart{Epoch: b.LeaderEpoch, Start: max(b.Base, s.from)})
	}
	s.holed = s.holed || b.Base > s.next || int64(b.Count) < int64(b.Next-b.Base)
	s.next = b.Next
	if !b.Blank {
		return b.Count > 0
	}
	for o := max(b.Base, s.from); !s.still && o < b.Next; o++ {
		s.out = append(s.out, SourceRecord{Offset: o, Blank: true})
	}
	return false
}

// Record takes a record; those in front of From are passed over.
func (s *Survivors) Record(r SourceRecord) {
	if r.Offset < s.from {
		return
	}
	s.holed = s.holed || r.Offset > s.next
	s.next = max(s.next, r.Offset+1)
	s.records++
	s.out = append(s.out, r)
}

// Enough says that no more than what was taken can have been mirrored.
func (s *Survivors) Enough() bool { return s.records > s.most }

// Revise gives the question as what was taken shows it. Offsets that nothing stands on are a log cleaner's work, whatever the
// topic's cleanup.policy is by now; again says that survivors have to be collected once more, since their blanks count then.
func (s *Survivors) Revise(in AlignInput) (revised AlignInput, again bool) {
	if in.SourceCompacts || !s.holed && (s.Enough() || s.next >= in.SourceEnd) {
		return in, false
	}
	in.SourceStill, in.SourceCompacts = false, true
	return in, true
}

// Records are those taken, in order.
func (s *Survivors) Records() []SourceRecord { return s.out }

// Epochs are the leader epochs of the batches taken, and where each begins.
func (s *Survivors) Epochs() []offsetmap.EpochStart { return s.epochs }
