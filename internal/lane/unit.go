package lane

import (
	"fmt"

	"tidemark/internal/batch"
	"tidemark/offsetmap"
)

// Piece is one source batch that waits to be mirrored, or a stretch of source offsets that holds nothing to mirror.
type Piece struct {
	ID           uint64                 // the caller's name for the fetched bytes
	First        offsetmap.SourceOffset // first source offset that it accounts for
	Next         offsetmap.SourceOffset // source offset after it
	Size         int                    // bytes on the wire
	Count        int32                  // records
	MaxTimestamp int64                  // newest record timestamp, ms since the epoch; -1 none
	Base         offsetmap.SourceOffset // first offset of the batch, which can be below First
	LeaderEpoch  int32                  // of the source when the batch was written; -1 unknown
	Kind         uint8                  // pieces of one Kind may be merged; see Group
	Alone        bool                   // never merged
	Skip         bool                   // control batch, aborted, empty, or below the wanted offset: nothing to send, and no bytes are held for it
}

// String is the piece in a transcript: its source offsets.
func (pc Piece) String() string {
	s := fmt.Sprintf("%d[%d,%d)", pc.ID, pc.First, pc.Next)
	if pc.Skip {
		s += "-"
	}
	return s
}

// Output is one batch that the caller prepared from pieces, ready to be stamped and sent.
type Output struct {
	ID           uint64 // the caller's name for the bytes
	Count        int32
	Size         int
	Spans        []batch.Span           // of its records, in order; their offsets are the source's, in plain numbers as the bytes had them
	Next         offsetmap.SourceOffset // source offset accounted for once it is acknowledged
	MaxTimestamp int64
}

// First is the source offset of the output's first record.
func (o *Output) First() offsetmap.SourceOffset { return offsetmap.SourceOffset(o.Spans[0].Offset) }

// Last is the source offset of the output's last record.
func (o *Output) Last() offsetmap.SourceOffset {
	last := o.Spans[len(o.Spans)-1]
	return offsetmap.SourceOffset(last.Offset + int64(last.Count) - 1)
}

// Unit is a stamped batch on its way. Its bytes do not change until it is settled.
type Unit struct {
	Output
	Epoch    int16
	Sequence int32
	sent     bool // handed to the transport at least once
	inFlight bool
	doubt    bool // may be on the target although no acknowledgement came
	attempts int
}

// Attempts is how often the unit was handed to the transport.
func (u *Unit) Attempts() int { return u.attempts }

// String is the unit in a transcript: its sequence and its source offsets.
func (u *Unit) String() string {
	return fmt.Sprintf("unit %d (epoch %d sequence %d, %d records before %d)", u.ID, u.Epoch, u.Sequence, u.Count, u.Next)
}

// Answer classifies what came back for a unit.
type Answer uint8

// The answers.
const (
	Acked    Answer = iota
	NotSaved        // surely not appended (not leader, not enough replicas): send again
	InDoubt         // may be appended (time-out, connection lost, not enough replicas after append)
	Sequence        // OUT_OF_ORDER_SEQUENCE_NUMBER or UNKNOWN_PRODUCER_ID
	Fenced          // a newer epoch exists: the lane has another owner
	Refused         // will be refused again: too large, invalid, denied, topic gone
)

// String names the answer.
func (a Answer) String() string {
	return [...]string{"acked", "not saved", "in doubt", "sequence refused", "fenced", "refused"}[a]
}

// Result is an answer with its details.
type Result struct {
	Answer     Answer
	BaseOffset offsetmap.TargetOffset
	LogStart   offsetmap.TargetOffset // of the target's partition, with Acked; -1 or 0 where the answer does not say
	Reason     string                 // for people, with Refused and Fenced
}

// String is the answer with what it says.
func (r Result) String() string {
	switch {
	case r.Answer == Acked:
		return fmt.Sprintf("acked at %d", r.BaseOffset)
	case r.Reason != "":
		return r.Answer.String() + ": " + r.Reason
	}
	return r.Answer.String()
}
