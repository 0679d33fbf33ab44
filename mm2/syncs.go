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
	syncs []OffsetSync
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
		t.syncs = append(t.syncs, s)
		return
	}
	last := t.syncs[n-1]
	switch {
	case s.Upstream == last.Upstream && s.Downstream == last.Downstream:
	case s.Upstream == last.Upstream && s.Downstream > last.Downstream:
		t.syncs[n-1] = s // copied twice: the later copy is what the next syncs go on from
	case s.Upstream <= last.Upstream || s.Downstream <= last.Downstream:
		t.syncs = append(t.syncs[:0], s)
	default:
		t.syncs = append(t.syncs, s)
	}
}

// Len is how many syncs there are.
func (t *SyncTable) Len() int { return len(t.syncs) }

// Oldest is the first sync; ok is false where there is none.
func (t *SyncTable) Oldest() (s OffsetSync, ok bool) {
	if len(t.syncs) == 0 {
		return OffsetSync{}, false
	}
	return t.syncs[0], true
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
	used = t.syncs[i]
	if used.Upstream == upstream {
		return used.Downstream, used, true
	}
	return used.Downstream + 1, used, true
}

// Back gives the source offset of a target offset, both the next one to read, by the same rule the other way round:
// from the newest sync at or below it, the same place if they are equal, otherwise one past it. MirrorMaker 2 itself has no
// such way. A reader that moves back and goes on there misses nothing; it reads at most replays records again, for each
// target offset between can have been one. Records that MirrorMaker 2 copied twice without a sync in between are not
// counted. ok is false where every sync is above downstream.
func (t *SyncTable) Back(downstream int64) (upstream, replays int64, used OffsetSync, ok bool) {
	i := sort.Search(len(t.syncs), func(i int) bool { return t.syncs[i].Downstream > downstream }) - 1
	if i < 0 {
		return 0, 0, OffsetSync{}, false
	}
	used = t.syncs[i]
	if used.Downstream == downstream {
		return used.Upstream, 0, used, true
	}
	return used.Upstream + 1, downstream - used.Downstream - 1, used, true
}

// Newest is the last sync; ok is false where there is none.
func (t *SyncTable) Newest() (s OffsetSync, ok bool) {
	if len(t.syncs) == 0 {
		return OffsetSync{}, false
	}
	return t.syncs[len(t.syncs)-1], true
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
