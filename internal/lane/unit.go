package lane

import "tidemark/internal/batch"

// Piece is one source batch that waits to be mirrored, or a stretch of source offsets that holds nothing to mirror.
type Piece struct {
	ID           uint64 // the caller's name for the fetched bytes
	First        int64  // first source offset that it accounts for
	Next         int64  // source offset after it
	Size         int    // bytes on the wire
	Count        int32  // records
	MaxTimestamp int64  // newest record timestamp, ms since the epoch; -1 none
	Kind         uint8  // pieces of one Kind may be merged; see Group
	Alone        bool   // never merged
	Skip         bool   // control batch, aborted, empty, or below the wanted offset: nothing to send
}

// Output is one batch that the caller prepared from pieces, ready to be stamped and sent.
type Output struct {
	ID           uint64 // the caller's name for the bytes
	Count        int32
	Size         int
	Spans        []batch.Span // source offsets of its records, in order
	Next         int64        // source offset accounted for once it is acknowledged
	MaxTimestamp int64
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

// Result is an answer with its details.
type Result struct {
	Answer     Answer
	BaseOffset int64
	Reason     string // for people, with Refused and Fenced
}

// Action is what the caller has to do next.
type Action interface{ isAction() }

// Prepare asks for the outputs made of these pieces, which go as one; answer with Part.Prepared at once.
type Prepare struct{ Pieces []uint64 }

// Send asks to stamp the output's bytes with (epoch, sequence) unless Again, and hand them to the transport.
type Send struct {
	Unit  *Unit
	Again bool // bytes are stamped already and must stay identical
	// NotAfter (ms since the epoch; 0 never) is when young data becomes old: it must not be written later, but come back
	// to be judged anew.
	NotAfter int64
}

// Settled says that a unit needs its bytes no longer.
type Settled struct{ Unit *Unit }

// Skipped says that a piece held nothing to mirror and needs its bytes no longer.
type Skipped struct{ ID uint64 }

// FencePart asks for the partition's own fence: raise the epoch, an empty aborted transaction on it alone, and wait
// until that is complete. Answer with Part.Fenced or Part.FenceFailed.
type FencePart struct{}

// Look asks what stands on the target from From to its log end. Answer with Part.Looked.
type Look struct{ From int64 }

// Halt says that the partition stopped: drop every byte held for it, show the reason, and call Part.Restart when
// RetryAt comes (ms since the epoch).
type Halt struct {
	Reason  string
	RetryAt int64
}

// GiveUp says that the lane belongs to another owner: send nothing more in this identity.
type GiveUp struct{ Reason string }

func (Prepare) isAction()   {}
func (Send) isAction()      {}
func (Settled) isAction()   {}
func (Skipped) isAction()   {}
func (FencePart) isAction() {}
func (Look) isAction()      {}
func (Halt) isAction()      {}
func (GiveUp) isAction()    {}
