package lane

import (
	"fmt"

	"tidemark/offsetmap"
)

// Action is what the caller has to do next. Its String is its line in a transcript.
type Action interface {
	fmt.Stringer
	isAction()
}

type (
	// LookAtEnds asks for the ends of both logs, the partition's own fence where it could not be fenced with the others, and
	// what stands on the target beyond the map. Answer with LookEnded; until then the map belongs to the look. Again: only
	// the source's side is new, the lane has written since it owns the partition.
	LookAtEnds struct{ Again bool }

	// WriteHead asks for the partition's head in the ledger. Answer with HeadAcked.
	WriteHead struct {
		N       int
		Opened  bool   // the map and the anchor are the core's; otherwise only state and reason change in the former head
		Reason  string // the partition is stopped, or tried again after it was; empty: it runs
		Epoch   int16  // of the anchor, with Opened
		Seq     int32
		Looking bool // with Reason: it is not stopped but being looked at
	}

	// WriteBlock asks for a sealed block of runs in the ledger, ahead of the heads that name it.
	WriteBlock struct {
		Number uint32
		Data   []byte
	}

	// DropBlocks asks for blocks of an incarnation to be deleted from the ledger: no head names them any more.
	DropBlocks struct {
		Incarnation uint32
		Numbers     []uint32
	}

	// Read asks for the source's records from an offset on; bytes fetched before are stale. Epoch is the leader epoch of what
	// stands in front of it, -1 unknown.
	Read struct {
		Offset offsetmap.SourceOffset
		Epoch  int32
	}

	// StopReading ends reading until the next Read.
	StopReading struct{}

	// Prepare asks for the outputs made of these pieces, which go as one; answer with Prepared or Unprepared at once. It is
	// always the last action.
	Prepare struct {
		N      int      // queued pieces that it covers, those without data too
		Pieces []uint64 // those with data
	}

	// Send asks to stamp the output's bytes with (epoch, sequence) unless Again, and hand them to the transport.
	Send struct {
		Unit  *Unit
		Again bool // bytes are stamped already and must stay identical
		// NotAfter (ms since the epoch; 0 never) is when young data becomes old: it must not be written later, but come back
		// to be judged anew.
		NotAfter int64
	}

	// Mirrored says that a unit's records are on the target from Base on. Base is -1 where they are gone already.
	Mirrored struct {
		Unit *Unit
		Base offsetmap.TargetOffset
	}

	// Settled says that a unit needs its bytes no longer.
	Settled struct{ Unit *Unit }

	// Dropped says that a piece needs its bytes no longer: it held nothing to mirror, or is read again later.
	Dropped struct{ ID uint64 }

	// FencePart asks for the partition's own fence: raise the epoch, an empty aborted transaction on it alone, and wait
	// until that is complete. Answer with FenceDone or FenceFailed.
	FencePart struct{}

	// Look asks what stands on the target from From to its log end. Answer with Looked or FenceFailed.
	Look struct{ From offsetmap.TargetOffset }

	// Rejudge says that what can be said of the partition's positions has changed.
	Rejudge struct{}

	// GiveUp says that the lane belongs to another owner: send nothing more in this identity.
	GiveUp struct{ Reason string }

	// Said is something that people should know; see News.
	Said struct{ News }
)

// News is what happened to a partition, for people.
type News struct {
	What NewsKind
	Why  string // reason, or details
	N    int64  // by kind: records, offsets as a count, a time, or with NewsReadAgain the source offset that is read next
}

// NewsKind says what News are about.
type NewsKind uint8

// The kinds of news.
const (
	NewsStopped   NewsKind = iota // Why
	NewsGoesOn                    // Why: what it was stopped for
	NewsTwice                     // resume is not exact: at most N records will stand twice
	NewsUncertain                 // what stood on the target was gone before the look: at most N records may be written twice, all such looks of this owner together
	NewsLost                      // N source offsets at most were removed before they were mirrored
	NewsOthers                    // others wrote N offsets of the remote partition
	NewsReadAgain                 // reading started again although that should not be needed, Why
	NewsFenced                    // the partition was fenced to settle what is in doubt; N is the epoch
	NewsLasts                     // the partition has been in its state for long, Why
	NewsSkipped                   // N source offsets at most were passed over by choice
	NewsAnew                      // it is copied anew by choice, from source offset N on
)

func (LookAtEnds) isAction()  {}
func (WriteHead) isAction()   {}
func (WriteBlock) isAction()  {}
func (DropBlocks) isAction()  {}
func (Read) isAction()        {}
func (StopReading) isAction() {}
func (Prepare) isAction()     {}
func (Send) isAction()        {}
func (Mirrored) isAction()    {}
func (Settled) isAction()     {}
func (Dropped) isAction()     {}
func (FencePart) isAction()   {}
func (Look) isAction()        {}
func (Rejudge) isAction()     {}
func (GiveUp) isAction()      {}
func (Said) isAction()        {}

func (a LookAtEnds) String() string {
	if a.Again {
		return "look at the source's end again"
	}
	return "look at both ends"
}

func (a WriteHead) String() string {
	s := fmt.Sprintf("write head %d", a.N)
	if a.Opened {
		s += fmt.Sprintf(", anchor epoch %d sequence %d", a.Epoch, a.Seq)
	}
	switch {
	case a.Looking:
		s += ", looking: " + a.Reason
	case a.Reason != "":
		s += ", stopped: " + a.Reason
	}
	return s
}
func (a WriteBlock) String() string { return fmt.Sprintf("write block %d", a.Number) }
func (a DropBlocks) String() string { return fmt.Sprintf("delete blocks %d", a.Numbers) }
func (a Read) String() string       { return fmt.Sprintf("read from %d", a.Offset) }
func (StopReading) String() string  { return "stop reading" }
func (a Prepare) String() string    { return fmt.Sprintf("prepare pieces %d", a.Pieces) }
func (a Send) String() string {
	how := "send "
	if a.Again {
		how = "send again, identical bytes, "
	}
	return how + a.Unit.String()
}
func (a Mirrored) String() string { return fmt.Sprintf("mirrored %s at %d", a.Unit, a.Base) }
func (a Settled) String() string  { return "settled " + a.Unit.String() }
func (a Dropped) String() string  { return fmt.Sprintf("drop piece %d", a.ID) }
func (FencePart) String() string  { return "fence this partition" }
func (a Look) String() string     { return fmt.Sprintf("look at the target from %d", a.From) }
func (Rejudge) String() string    { return "judge positions anew" }
func (a GiveUp) String() string   { return "give the lane up: " + a.Reason }
func (a Said) String() string     { return "say: " + a.News.String() }

// String is the news as a clause.
func (n News) String() string {
	switch n.What {
	case NewsStopped:
		return "stopped: " + n.Why
	case NewsGoesOn:
		return "goes on; was: " + n.Why
	case NewsTwice:
		return fmt.Sprintf("resume is not exact, at most %d records will stand twice", n.N)
	case NewsUncertain:
		return fmt.Sprintf("what stood on the target was gone before the look, at most %d records may be written twice", n.N)
	case NewsLost:
		return fmt.Sprintf("the source removed at most %d records before they were mirrored", n.N)
	case NewsOthers:
		return fmt.Sprintf("others wrote %d offsets of the remote partition", n.N)
	case NewsReadAgain:
		return "reading starts again: " + n.Why
	case NewsFenced:
		return fmt.Sprintf("fenced to settle what is in doubt, epoch %d", n.N)
	case NewsLasts:
		return "lasts: " + n.Why
	case NewsSkipped:
		return fmt.Sprintf("passed over %d source offsets by choice", n.N)
	case NewsAnew:
		return fmt.Sprintf("copied anew by choice from source offset %d on", n.N)
	}
	return "?"
}
