package translate

import (
	"fmt"
	"time"

	"tidemark/offsetmap"
)

// Unknown stands for an offset that nobody has told us.
const Unknown = -1

// uncertain is why a position is bounded.
const uncertain = "a part of the offset map is missing, or an unclean stop left open what follows"

// A Map is what Judge asks of an offset map; *offsetmap.Map is one.
type Map interface {
	Next(c offsetmap.SourceOffset) offsetmap.Position
	Count(a, b offsetmap.TargetOffset) int64
	TargetEnd() offsetmap.TargetOffset
}

// A Refusal says why something is not done; the zero value is none.
type Refusal struct {
	Reason string
	Final  bool // it cannot change by itself
}

// A Transaction is the oldest open one of a source partition.
type Transaction struct {
	ProducerID int64
	Age        time.Duration
}

// An Input is what is known about one position. Offsets that are not known are
// Unknown, not 0.
type Input struct {
	// GroupFiltered and TopicFiltered are the rules that exclude group or topic,
	// "" if none does.
	GroupFiltered, TopicFiltered string
	// NotMirrored says why the topic has no copy.
	NotMirrored Refusal
	// Denied is the access right that is missing, "" if none: "DESCRIBE on group billing".
	Denied string

	// Committed is the group's committed source offset, the next record to read;
	// Unknown if there is none.
	Committed offsetmap.SourceOffset

	// Stopped is why the mirror stopped the partition, "" if it did not.
	Stopped string
	// Map is the partition's offset map, nil (not a nil *offsetmap.Map) while
	// nobody owns it; Absent then says why.
	Map    Map
	Absent string

	// SourceStart is the source's log start now, LastStable its last stable offset.
	// LastStable stays Unknown where the mirror reads read_uncommitted.
	SourceStart, LastStable offsetmap.SourceOffset
	// Open is the transaction that holds the last stable offset, if known.
	Open *Transaction
	// TargetStart and TargetEnd are the ends of the target's log now.
	TargetStart, TargetEnd offsetmap.TargetOffset

	// Earliest: where records are missing below a position, the user wants the
	// target's log start rather than no position.
	Earliest bool
	// BeganAtLogStart: mirroring began at the source's log start, so what lies below it did not exist any more. A position
	// there (its group was trimmed away on the source too) goes on at the first record that there was to mirror.
	BeganAtLogStart bool
	// StartByChoice: what lies below the place where mirroring began was left out
	// on purpose (the flow was told to begin at the end), so waiting for it is idle.
	StartByChoice bool
}

// Judge gives the verdict. The reasons against a position are asked from the
// outside in: what the user configured, what the cluster refuses, what the group
// did, what the mirror is doing.
func Judge(in Input) Verdict {
	none := func(k Kind, reason string) Verdict { return Verdict{Kind: k, Target: NoPosition, Reason: reason} }
	switch {
	case in.GroupFiltered != "":
		return none(GroupFiltered, in.GroupFiltered)
	case in.TopicFiltered != "":
		return none(TopicFiltered, in.TopicFiltered)
	case in.NotMirrored.Reason != "":
		v := none(TopicNotMirrored, in.NotMirrored.Reason)
		v.Settled = in.NotMirrored.Final
		return v
	case in.Denied != "":
		return none(PermissionMissing, in.Denied)
	case in.Committed == Unknown:
		return none(NeverCommitted, "")
	case in.Committed < 0:
		// Brokers accept any number (an admin's mistake); it is no offset.
		return none(NeverCommitted, fmt.Sprintf("the committed number %d is no offset", in.Committed))
	case in.Stopped != "":
		return none(PartitionStopped, in.Stopped)
	case in.Map == nil:
		return none(Pending, in.Absent)
	}
	return in.within(in.position())
}

// position is the map's answer as a verdict, before the target's log is looked at.
func (in Input) position() Verdict {
	p := in.Map.Next(in.Committed)
	v := Verdict{Target: p.Target, N: p.N, Lost: p.Lost}
	switch p.Kind {
	case offsetmap.Exact:
		v.Kind = Exact
	case offsetmap.AtEnd:
		v.Kind, v.N = AtEnd, int64(in.Map.TargetEnd()-p.Target)
	case offsetmap.BeforeStart:
		v.Kind = FirstMirrored
	case offsetmap.BeyondMirrored:
		v.Kind = Ahead
		if in.LastStable != Unknown && in.Committed > in.LastStable {
			v.Kind, v.Reason = HeldByTransaction, in.openTransaction()
		}
	case offsetmap.Bounded:
		v.Kind, v.Reason = Bounded, uncertain
	case offsetmap.NotMirrored:
		if in.BeganAtLogStart {
			v.Kind, v.N = FirstMirrored, 0
			break
		}
		v.Kind, v.Settled, v.Reason = NotMirrored, in.StartByChoice, in.leftBehind(p.N)
	case offsetmap.Trimmed:
		v.Kind, v.Reason = Trimmed, "the offset map was trimmed there"
	default:
		// A kind of a newer map: no position rather than a guess.
		return Verdict{Kind: Pending, Target: NoPosition, Reason: fmt.Sprintf("the offset map answered %q", p.Kind)}
	}
	if v.Lost > 0 && (v.Kind == Exact || v.Kind == AtEnd || v.Kind == FirstMirrored) {
		v.Kind, v.N = ExactLost, 0
	}
	return v
}

func (in Input) openTransaction() string {
	if in.Open == nil {
		return ""
	}
	return fmt.Sprintf("producer %d, open for %s", in.Open.ProducerID, in.Open.Age.Round(time.Second))
}

// leftBehind says whether the n records that were never mirrored are still there.
func (in Input) leftBehind(n int64) string {
	switch end := in.Committed + offsetmap.SourceOffset(n); {
	case in.SourceStart == Unknown:
		return ""
	case in.SourceStart <= in.Committed:
		return "the source still holds them"
	case in.SourceStart >= end:
		return "the source no longer holds them either"
	default:
		return fmt.Sprintf("the source still holds those from offset %d on", in.SourceStart)
	}
}

// within fits a position to what the target's log holds.
func (in Input) within(v Verdict) Verdict {
	switch v.Kind {
	case NotMirrored, Trimmed:
		return in.earliest(v)
	case Pending:
		return v
	default:
	}
	if v.Target < in.TargetStart {
		// In a missing part of the map each offset counts as a record. Some may be
		// read already; whether one is missing is not known, and a position would
		// skip it in silence.
		n := in.Map.Count(v.Target, in.TargetStart)
		if v.Kind == Bounded {
			n = max(n, min(v.N, int64(in.TargetStart-v.Target))) // records in doubt are not counted, and one of them may be the only copy
		}
		if n > 0 {
			return in.earliest(Verdict{Kind: Trimmed, N: n})
		}
		v.Target = in.TargetStart // only markers and records of others were there
	}
	if in.TargetEnd != Unknown && v.Target > in.TargetEnd {
		// The log was truncated, or it was looked at before the last acks: in both
		// cases its end is early, never late.
		if n := in.Map.Count(in.TargetEnd, v.Target); n > 0 && v.Kind != HeldByTransaction && v.Kind != Bounded {
			if v.Kind != Ahead {
				v.N = 0
			}
			v.Kind, v.N, v.Reason = Ahead, v.N+n, "the target's log ends below what was mirrored"
		} else {
			v.N += n
		}
		v.Target = in.TargetEnd
	}
	return v
}

// earliest is for verdicts that have no position unless the user chose the
// target's log start.
func (in Input) earliest(v Verdict) Verdict {
	v.Target = NoPosition
	if in.Earliest && in.TargetStart != Unknown {
		v.Target, v.Earliest = in.TargetStart, true
	}
	return v
}
