package mm2

import (
	"math"
	"sort"
)

// A SyncTable is the offset syncs of one partition that are left in their topic,
// and what MirrorMaker 2 makes of them. The zero value has none.
//
// MirrorMaker 2 keeps 64 of them in memory and forgets the rest; a table keeps all
// that it is given, so that its answers are never earlier than MirrorMaker's, and
// by the same rule (see Translate) never later than the right ones.
type SyncTable struct {
	// syncs strictly increase in Upstream and in Downstream.
	syncs []placed
}

// placed is a sync and what the ones before it tell.
type placed struct {
	OffsetSync

	// reach is the source offset below which records can have been copied in front
	// of the sync. It is above Upstream where the target has more offsets between
	// two syncs than the source: each is the end marker of a transaction, or a
	// record that was copied twice after a crash, and nothing tells which. Second
	// copies in the place of gaps of the source do not show.
	reach int64
}

// after gives a sync its reach behind another one of the same target log.
func (p placed) after(s OffsetSync) placed {
	copied := s.Downstream - p.Downstream
	if copied > math.MaxInt64-p.Upstream {
		return placed{s, math.MaxInt64}
	}
	return placed{s, max(s.Upstream, p.reach, p.Upstream+copied)}
}

// Add takes the next sync in the order of their topic. One that does not go on
// from the last is the beginning of another history: the source topic was made
// anew, records were copied again after a crash, or the target topic was made anew.
// What was known is forgotten then, as in MirrorMaker 2, for nothing tells a
// harmless repetition from a topic of the same name with other records. (It does
// not notice a target topic made anew, KAFKA-13659; here a downstream offset that
// goes back counts as well.)
func (t *SyncTable) Add(s OffsetSync) {
	if s.Upstream < 0 || s.Downstream < 0 || s.Upstream == math.MaxInt64 || s.Downstream == math.MaxInt64 {
		return // no record is there, whoever wrote it
	}
	n := len(t.syncs)
	if n == 0 {
		t.syncs = append(t.syncs, placed{s, s.Upstream})
		return
	}
	last := t.syncs[n-1]
	switch {
	case s.Upstream == last.Upstream && s.Downstream == last.Downstream:
	case s.Downstream <= last.Downstream:
		t.syncs = append(t.syncs[:0], placed{s, s.Upstream})
	case s.Upstream == last.Upstream:
		t.syncs[n-1] = last.after(s) // copied twice: the later copy is what the next syncs go on from
	case s.Upstream < last.Upstream:
		t.syncs = append(t.syncs[:0], last.after(s))
	default:
		t.syncs = append(t.syncs, last.after(s))
	}
}

// Len is how many syncs there are.
func (t *SyncTable) Len() int { return len(t.syncs) }

// Oldest is the first sync; ok is false where there is none.
func (t *SyncTable) Oldest() (s OffsetSync, ok bool) {
	if len(t.syncs) == 0 {
		return OffsetSync{}, false
	}
	return t.syncs[0].OffsetSync, true
}

// at is the index of the newest sync at or below a source offset, -1 if there is
// none.
func (t *SyncTable) at(upstream int64) int {
	return sort.Search(len(t.syncs), func(i int) bool { return t.syncs[i].Upstream > upstream }) - 1
}

// Translate gives the target offset of a source offset, both the next one to read,
// by MirrorMaker 2's rule (its OffsetSyncStore.translateDownstream): from the
// newest sync at or below it, the same place if they are equal, otherwise one past
// it. That record is known to be there and nothing is assumed about the next ones,
// so the answer can be early and is not late. used is the sync; ok is false where
// every sync is above upstream, and MirrorMaker 2 writes no checkpoint.
func (t *SyncTable) Translate(upstream int64) (downstream int64, used OffsetSync, ok bool) {
	i := t.at(upstream)
	if i < 0 {
		return 0, OffsetSync{}, false
	}
	used = t.syncs[i].OffsetSync
	if used.Upstream == upstream {
		return used.Downstream, used, true
	}
	return used.Downstream + 1, used, true
}

// Back gives the source offset of a target offset, both the next one to read, by the same rule the other way round:
// from the newest sync at or below it, the same place if they are equal, otherwise one past it. MirrorMaker 2 itself has no
// such way. A reader that moves back and goes on there misses nothing.
//
// replays is how many records it reads again at most. Each target offset past the sync can have been one, and so can what
// was copied above the sync's source offset before it: whoever is killed copies again from further below. That shows where
// the target has more offsets between two syncs than the source, and makes replays more than the target offsets past the
// sync. It does not show in front of the oldest sync, nor where the source has gaps. ok is false where every sync is above
// downstream.
func (t *SyncTable) Back(downstream int64) (upstream, replays int64, used OffsetSync, ok bool) {
	i := sort.Search(len(t.syncs), func(i int) bool { return t.syncs[i].Downstream > downstream }) - 1
	if i < 0 {
		return 0, 0, OffsetSync{}, false
	}
	at := t.syncs[i]
	if at.Downstream == downstream {
		return at.Upstream, at.reach - at.Upstream, at.OffsetSync, true
	}
	return at.Upstream + 1, max(downstream-at.Downstream, at.reach-at.Upstream) - 1, at.OffsetSync, true
}

// Newest is the last sync; ok is false where there is none.
func (t *SyncTable) Newest() (s OffsetSync, ok bool) {
	if len(t.syncs) == 0 {
		return OffsetSync{}, false
	}
	return t.syncs[len(t.syncs)-1].OffsetSync, true
}

// NoEnd stands for a log end that nobody asked for.
const NoEnd = -1

// Replays is how many records at most a group reads again that resumes at target
// offset downstream and had read everything below source offset upstream. end is
// the target's log end, or NoEnd. Records that MirrorMaker 2 copied twice without
// a sync in between are not counted.
func (t *SyncTable) Replays(upstream, downstream, end int64) int64 {
	best := upstream // it has read no more
	if end != NoEnd {
		best = min(best, end-downstream)
	}
	// The record of the newest sync below upstream was read, and at most every
	// offset from it to upstream was a record.
	i := t.at(upstream - 1)
	if i >= 0 {
		s := t.syncs[i]
		best = min(best, max(s.Downstream+1-downstream, 0)+upstream-s.Upstream-1)
	}
	// The record of the next sync was not read.
	if i+1 < len(t.syncs) {
		best = min(best, t.syncs[i+1].Downstream-downstream)
	}
	return max(best, 0)
}
