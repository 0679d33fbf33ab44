package translate

import (
	"fmt"

	"tidemark/offsetmap"
)

// NoPosition is Verdict.Target where there is no position.
const NoPosition offsetmap.TargetOffset = -1

// A Verdict is all that can be said about one position right now.
type Verdict struct {
	Kind Kind `json:"kind"`
	// Target is the next target offset to read, NoPosition if there is none.
	Target offsetmap.TargetOffset `json:"target"`
	// N is counted as Kind says.
	N int64 `json:"n,omitempty"`
	// Lost is how many records at most were lost between the position and the next
	// mirrored record. It can be set beside any kind of position.
	Lost int64 `json:"lost,omitempty"`
	// Earliest: the position is the target's log start because the user chose it.
	Earliest bool `json:"earliest,omitempty"`
	// Settled makes a NotMirrored or TopicNotMirrored without a position final.
	Settled bool `json:"settled,omitempty"`
	// Reason is a clause for people: which pattern, which access right, why.
	Reason string `json:"reason,omitempty"`
}

// HasPosition says whether Target can be committed.
func (v Verdict) HasPosition() bool {
	if v.Target < 0 {
		return false
	}
	switch v.Kind {
	case Exact, AtEnd, ExactLost, Ahead, FirstMirrored, Bounded, HeldByTransaction:
		return true
	case NotMirrored, Trimmed:
		return v.Earliest
	default:
		return false
	}
}

// NothingMirrored says whether the position is offset 0 because the partition's
// copy holds nothing of what was mirrored, and not because the group is to begin
// with the first record of it.
func (v Verdict) NothingMirrored() bool {
	return v.Target == 0 && (v.Kind == AtEnd || v.Kind == Ahead || v.Kind == HeldByTransaction)
}

// Final says whether there is no position and waiting cannot bring one: filtered,
// deleted, never mirrored by choice, never committed. A verdict that has no
// position and is not final is temporary and holds its whole group.
func (v Verdict) Final() bool {
	switch v.Kind {
	case GroupFiltered, TopicFiltered, NeverCommitted:
		return true
	case TopicNotMirrored:
		return v.Settled
	case NotMirrored:
		return v.Settled && !v.Earliest
	default:
		return false
	}
}

// Temporary says whether there is no position yet.
func (v Verdict) Temporary() bool { return !v.HasPosition() && !v.Final() }

// IsExact says whether resuming at the position neither repeats nor skips a
// mirrored record.
func (v Verdict) IsExact() bool {
	switch v.Kind {
	case Exact, AtEnd, ExactLost, FirstMirrored:
		return v.HasPosition()
	default:
		return false
	}
}

// Replays is how many records at most are read again by a group that resumes at
// the position now; -1 if there is no position. For Ahead and HeldByTransaction
// these are source offsets, an upper bound, and they shrink as the mirror advances.
func (v Verdict) Replays() int64 {
	switch {
	case !v.HasPosition():
		return -1
	case v.Kind == Ahead, v.Kind == HeldByTransaction, v.Kind == Bounded:
		return v.N
	}
	return 0
}

// String is one sentence for people, without a full stop.
func (v Verdict) String() string {
	s := v.sentence()
	if v.Earliest {
		s += fmt.Sprintf("; resumes at offset %d, the target's log start, by choice", v.Target)
	}
	if v.Lost > 0 && v.Kind != ExactLost {
		s += fmt.Sprintf("; up to %s lost there", records(v.Lost))
	}
	if v.Reason != "" {
		s += ": " + v.Reason
	}
	return s
}

func (v Verdict) sentence() string {
	switch v.Kind {
	case Pending:
		return "no answer yet"
	case Exact:
		return fmt.Sprintf("exact at offset %d", v.Target)
	case AtEnd:
		if v.N > 0 {
			return fmt.Sprintf("exact at offset %d, the end of what is mirrored, with up to %s of others behind it", v.Target, records(v.N))
		}
		return fmt.Sprintf("exact at offset %d, the end of what is mirrored", v.Target)
	case ExactLost:
		return fmt.Sprintf("exact at offset %d, up to %s lost before the next one", v.Target, records(v.Lost))
	case Ahead:
		return fmt.Sprintf("ahead of the mirror by %d, held at offset %d until it catches up", v.N, v.Target)
	case FirstMirrored:
		return fmt.Sprintf("exact at offset %d, the first mirrored record", v.Target)
	case NotMirrored:
		return fmt.Sprintf("up to %s never mirrored", records(v.N))
	case Trimmed:
		return fmt.Sprintf("up to %s trimmed on the target", records(v.N))
	case Bounded:
		if v.N == 0 {
			return fmt.Sprintf("at offset %d, which replays nothing", v.Target)
		}
		return fmt.Sprintf("at offset %d, which replays at most %s", v.Target, records(v.N))
	case GroupFiltered:
		return "the group is filtered out"
	case TopicFiltered:
		return "the topic is filtered out"
	case TopicNotMirrored:
		return "the topic is not mirrored"
	case PartitionStopped:
		return "the partition is stopped"
	case NeverCommitted:
		return "the group never committed a position here"
	case PermissionMissing:
		return "a permission is missing"
	case IncarnationChanged:
		return "the topic was created anew, old positions do not carry over"
	case HeldByTransaction:
		return fmt.Sprintf("beyond the last stable offset, %d ahead of the mirror, held at offset %d until the transaction ends", v.N, v.Target)
	}
	return v.Kind.String()
}

// records is "1 record" or "n records".
func records(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}
