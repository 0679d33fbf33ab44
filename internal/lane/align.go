package lane

import (
	"fmt"

	"tidemark/offsetmap"
)

// SourceRecord is one thing found on the source at or above the anchor.
type SourceRecord struct {
	Offset offsetmap.SourceOffset
	// Hash covers key, value, headers and timestamp: everything that a mirror must not change.
	Hash uint64
	// Key is a hash of the key, 0 = no key.
	Key       uint64
	Tombstone bool
	// Blank marks an offset that holds nothing to mirror and never did: a control record or a record of an aborted
	// transaction that is still in the log. Giving them is optional, but each one is an offset less on which a lost
	// record can have been, so a compacted topic with transactions is placed exactly only with them.
	Blank bool
}

// TailRecord is one thing found on the target at or above the anchor.
type TailRecord struct {
	Target offsetmap.TargetOffset
	// Index counts our records written since the anchor before this one, from sequence numbers. Only with Ours.
	Index     int64
	Hash, Key uint64
	// Ours is false for foreign records. Control records may be given as foreign ones without a key; they then take
	// up their target offset, which leaves less room for records that were removed.
	Ours bool
}

// AlignInput is what a lane knows about one partition after an unclean stop. The target stands still (fenced).
type AlignInput struct {
	// Through and Target are the anchor: everything on the source below Through was mirrored, and the log end of the
	// target was Target then. A Target that is too small only makes the answer more careful.
	Through offsetmap.SourceOffset
	Target  offsetmap.TargetOffset
	// SourceStart is the source's log start now. SourceEnd is the end of what may have been read (last stable
	// offset, or high watermark of a read_uncommitted mirror) now; a later reading is fine, an earlier one is not.
	SourceStart, SourceEnd offsetmap.SourceOffset
	// SourceStill: nothing can have been lost on the source since the anchor. SourceCompacts and SourceStart are
	// not looked at then.
	SourceStill bool
	// SourceCompacts, TargetCompacts: a log cleaner may have run since the anchor.
	SourceCompacts, TargetCompacts bool
	// SourceKeepsTombstones, TargetKeepsTombstones: no tombstone at or above the anchor can have gone for its age
	// yet (delete.retention.ms). When in doubt false, which is the careful answer.
	SourceKeepsTombstones, TargetKeepsTombstones bool
	// TargetStart and TargetEnd are log start and log end of the target now.
	TargetStart, TargetEnd offsetmap.TargetOffset
	// Count is how many of our records were written since the anchor, by sequence numbers; -1 = unknown.
	Count int64
	// Source is everything at offsets [Through, SourceEnd), Tail everything at [Target, TargetEnd), both in order.
	// Source may end early once it holds more records (not blanks) than can have been written since the anchor, unless
	// SourceKeepsTombstones: then a later record of a key must be visible.
	Source []SourceRecord
	Tail   []TailRecord
}

// Alignment says where to go on.
type Alignment struct {
	// Place is the source offset from which to copy. It may lie below SourceStart: what was between is lost then
	// and the caller says so. With a Mismatch it is Through, the one place that can never lose a record.
	Place offsetmap.SourceOffset
	// Runs are the tail records whose source offset is known, all below Place, strictly increasing on both sides.
	// Tail records of ours that are in no run must be treated as foreign ones: read, never skipped over.
	Runs []offsetmap.Run
	// Mirrored is the number of our records written since the anchor: Count, or the least it can be.
	Mirrored int64
	// Duplicates is an upper bound of the records at or above Place that the target holds already.
	Duplicates int64
	// Exact: nothing is written twice and Runs hold every tail record of ours at the one offset it can have.
	Exact bool
	// Mismatch is not nil when the two logs contradict each other. Nothing may be copied without a decision then.
	Mismatch *Mismatch
}

// Mismatch tells where source and target contradict each other; offsets are -1 where there is none to name.
type Mismatch struct {
	Source offsetmap.SourceOffset
	Target offsetmap.TargetOffset
	Reason string
}

// String is one line for a verdict.
func (m *Mismatch) String() string {
	return fmt.Sprintf("%s (source offset %d, target offset %d)", m.Reason, m.Source, m.Target)
}

// Align finds the place on the source from which a partition has to be copied on.
//
// Our records since the anchor fill slots 0, 1, 2, ... in the order of their sequence numbers. A tail record of ours
// is a slot with known content; the other slots below the count were compacted away or expired on the target. Going
// on at p is feasible if there is a strictly increasing assignment of all slots to source offsets in [Through, p) so
// that
//
//   - every source record below p has a slot (it was there when the mirror passed, since records never come back),
//     and that slot has the same content, or its record could go: it expired below TargetStart, or TargetCompacts
//     and a later record of the key is there, or can have been there as a tombstone that is gone as well;
//   - every slot on an offset that holds no record is explained: below SourceStart, or SourceCompacts, the record has
//     a key and a later record of that key is there (or tombstones may have gone);
//   - no slot is on an offset known to be Blank.
//
// The smallest feasible place is the answer, for data and for positions. Taking the one with the best content match
// was rejected: with `a b a'`, a' equal to a, `a` mirrored and then removed from the source, it goes on after a' and b
// is never copied. The true place is always feasible, so the smallest one never lies beyond it. Each rule that is
// looser than Kafka only makes more places feasible: it costs duplicates, never a record.
//
// The price: in a stretch of the source that compaction has thinned out before the mirror read it, the whole tail may
// be an earlier identical copy of what is there now, and is copied again. It is as long as what a lane writes between
// two ledger flushes.
//
// Not covered: a leader change that brings back records which the former leader had compacted away before we read
// them. They have no slot; the answer is an earlier place or a Mismatch.
//
// Cost: SourceStill is one pass. Otherwise O((n + m) log n) time and O(n + m) memory for n tail and m source records
// where contents are mostly different; with many repetitions and much room up to alignPieces times that, after which
// sets of alternatives are widened to intervals (again: duplicates, never a record).
func Align(in AlignInput) Alignment {
	return (&aligner{in: in, pieces: alignPieces}).align()
}

func (a *aligner) align() Alignment {
	bad := a.readSource()
	if bad == nil {
		bad = a.readTail()
	}
	if bad == nil && a.in.SourceStill {
		var out Alignment
		if out, bad = a.walk(); bad == nil {
			return out
		}
	} else if bad == nil {
		a.prepare()
		if bad = a.forward(); bad == nil {
			a.backward()
			return a.result()
		}
	}
	return Alignment{Place: a.in.Through, Mirrored: int64(a.least), Mismatch: bad}
}
