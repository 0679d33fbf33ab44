package lane

import (
	"fmt"
	"strings"

	"tidemark/offsetmap"
)

// Event is something that happened to a partition. Its String is its line in a transcript.
//
// FenceDone and Looked must be the answers to the last FencePart and the last Look, and FenceFailed to the last of both: the
// caller drops those to earlier ones. A stop begins a fence anew, and nothing in them tells which one they are about.
type Event interface {
	fmt.Stringer
	isEvent()
}

type (
	// Named says that the flow mirrors the partition, and this is what it knows of it.
	Named struct{ Facts }

	// Absent says that the flow does not name the partition any more.
	Absent struct{}

	// Decided says what people have decided and is in force from now on.
	Decided struct{ Controls }

	// LookEnded is the answer to LookAtEnds.
	LookEnded struct {
		Map         *offsetmap.Map // settled to its end; nil where nothing may be mirrored
		Epoch       int16          // in which the partition is written from now on
		SourceStart offsetmap.SourceOffset
		TargetStart offsetmap.TargetOffset
		Twice       int64  // records at most that will stand twice on the target, since their place was not certain
		Lost        int64  // source offsets that were removed before they were mirrored, at most
		Reason      string // it must not be mirrored, and why; Map is as it was
		Err         string // it could not be found out; tried again
		Passes      bool   // with Err: it is of a kind that passes by itself
	}

	// LookProgress says how far a look at the target has come, as numbers of offsets, for people: of an Opening or of a Look.
	LookProgress struct{ Read, Of int64 }

	// HeadAcked says that the head with that number, and so all before it, is in the ledger.
	HeadAcked struct{ N int }

	// Fetched is what one answer of the source brought. It must begin at Next, and end where Controls.Until says.
	Fetched struct {
		Offset  offsetmap.SourceOffset // that was asked for
		Source  Seen                   // as the answer has it, -1 what it does not say; the target's are -1
		Pieces  []Piece
		Bad     string // what stands behind Pieces cannot be mirrored, and why
		Partial bool   // reading has to begin anew behind Pieces
	}

	// ReadFailed says that the source refuses the read.
	ReadFailed struct {
		Reason string
		Front  bool // what stands in front of the offset was read well, and goes to the target first
		Now    bool // both ends are looked at at once: the log is another one than it was
		Final  bool // only other facts change that
	}

	// Unheard says that the source does not answer for the partition now. Reading goes on by itself once it does.
	Unheard struct{}

	// Prepared is the answer to Prepare: the outputs that the first N queued pieces became.
	Prepared struct {
		N    int
		Outs []Output
	}

	// Unprepared is the other answer to Prepare: the pieces could not be made an output.
	Unprepared struct {
		N      int
		Reason string
	}

	// Answered is what came back for a unit.
	Answered struct {
		Unit   *Unit
		Result Result
	}

	// FenceDone says that the partition's own fence is complete, and it is written in Epoch from now on.
	FenceDone struct{ Epoch int16 }

	// FenceFailed says that the fence, or the look behind it, did not succeed.
	FenceFailed struct{ Reason string }

	// Looked is the answer to Look: what stands on the target from the asked offset to End, in order.
	Looked struct {
		Landed []Landed
		End    offsetmap.TargetOffset
	}

	// Stop is something outside of the partition that ends it.
	Stop struct {
		Reason string
		Final  bool // until other facts are Named; otherwise it is tried again
	}

	// TargetStart is the target's log start.
	TargetStart struct{ Offset offsetmap.TargetOffset }

	// Hold says that the lane's ledger takes nothing. What is in flight is settled; nothing else is begun, and no bytes are kept that
	// other lanes need.
	Hold struct{}

	// GoOn says that the ledger takes records again.
	GoOn struct{}

	// Drain says that the lane is to be released. As Hold, for good.
	Drain struct{}

	// Tick says that time has passed.
	Tick struct{}
)

// Landed is a stretch of the target's log as its batch headers tell it.
type Landed struct {
	Base     offsetmap.TargetOffset
	Count    int64 // offsets that it takes
	Ours     bool  // data in this lane's producer id
	Marker   bool  // a transaction marker of this lane's producer id
	Epoch    int16 // with Ours
	Sequence int32 // with Ours
}

func (Named) isEvent()        {}
func (Decided) isEvent()      {}
func (Absent) isEvent()       {}
func (LookEnded) isEvent()    {}
func (LookProgress) isEvent() {}
func (HeadAcked) isEvent()    {}
func (Fetched) isEvent()      {}
func (ReadFailed) isEvent()   {}
func (Unheard) isEvent()      {}
func (Prepared) isEvent()     {}
func (Unprepared) isEvent()   {}
func (Answered) isEvent()     {}
func (FenceDone) isEvent()    {}
func (FenceFailed) isEvent()  {}
func (Looked) isEvent()       {}
func (Stop) isEvent()         {}
func (TargetStart) isEvent()  {}
func (Hold) isEvent()         {}
func (GoOn) isEvent()         {}
func (Drain) isEvent()        {}
func (Tick) isEvent()         {}

func (e Named) String() string {
	if e.NotYet != "" {
		return fmt.Sprintf("named, not yet: %s", e.NotYet)
	}
	return "named"
}
func (Absent) String() string    { return "not named any more" }
func (e Decided) String() string { return "in force: " + e.Controls.String() }
func (e LookEnded) String() string {
	switch {
	case e.Err != "":
		return fmt.Sprintf("look failed: %s (passes %t)", e.Err, e.Passes)
	case e.Reason != "":
		return "look ended: must not be mirrored: " + e.Reason
	}
	return fmt.Sprintf("look ended: mirrored below %d, target ends at %d, epoch %d", e.Map.Through(), e.Map.TargetEnd(), e.Epoch) +
		some(", twice at most ", e.Twice) + some(", lost at most ", e.Lost)
}
func (e LookProgress) String() string { return fmt.Sprintf("look at %d of %d", e.Read, e.Of) }
func (e HeadAcked) String() string    { return fmt.Sprintf("head %d is in the ledger", e.N) }
func (e Fetched) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fetched from %d:", e.Offset)
	for _, pc := range e.Pieces {
		b.WriteString(" " + pc.String())
	}
	if len(e.Pieces) == 0 {
		b.WriteString(" nothing")
	}
	if e.Bad != "" {
		b.WriteString(", then " + e.Bad)
	}
	return b.String()
}
func (e ReadFailed) String() string { return "read failed: " + e.Reason }
func (Unheard) String() string      { return "the source does not answer" }
func (e Prepared) String() string {
	return fmt.Sprintf("prepared: %d pieces as %d outputs", e.N, len(e.Outs))
}
func (e Unprepared) String() string  { return "not prepared: " + e.Reason }
func (e Answered) String() string    { return fmt.Sprintf("answer for %s: %s", e.Unit, e.Result) }
func (e FenceDone) String() string   { return fmt.Sprintf("fenced, epoch %d", e.Epoch) }
func (e FenceFailed) String() string { return "fence failed: " + e.Reason }
func (e Looked) String() string {
	var b strings.Builder
	b.WriteString("looked:")
	for _, l := range e.Landed {
		b.WriteString(" " + l.String())
	}
	fmt.Fprintf(&b, " end %d", e.End)
	return b.String()
}
func (e Stop) String() string        { return "told to stop: " + e.Reason }
func (e TargetStart) String() string { return fmt.Sprintf("target starts at %d", e.Offset) }
func (Hold) String() string          { return "hold: the ledger takes nothing" }
func (GoOn) String() string          { return "go on: the ledger takes records" }
func (Drain) String() string         { return "drain for the release" }
func (Tick) String() string          { return "tick" }

// String is the stretch in a transcript: whose it is, and its offsets.
func (l Landed) String() string {
	who := "foreign"
	switch {
	case l.Marker:
		who = "marker"
	case l.Ours:
		who = fmt.Sprintf("ours/%d/%d", l.Epoch, l.Sequence)
	}
	return fmt.Sprintf("%s@%d+%d", who, l.Base, l.Count)
}

// next is the target offset after the stretch.
func (l Landed) next() offsetmap.TargetOffset { return l.Base + offsetmap.TargetOffset(l.Count) }

// some is a number with its words, or nothing when it is zero.
func some(words string, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s%d", words, n)
}
