package lane

import (
	"fmt"

	"tidemark/internal/ledger"
)

// Identity is what InitProducerID answered for the lane's transactional id.
type Identity struct {
	ProducerID int64
	Epoch      int16
}

// Former is the claim that the ledger held before.
type Former struct {
	Identity
	Released bool
}

// Handover is how a lane is taken over.
type Handover uint8

// The ways to take a lane over.
const (
	// First: nobody ever claimed the lane, so no partition of it was ever written by one. The lane's own topics are
	// still fenced: another owner may be between its InitProducerID and its claim.
	First Handover = iota
	// Clean: the former owner released the lane with nothing unacknowledged, and nobody took it since. Heads are exact
	// and nothing needs fencing: the former owner sends no more.
	Clean
	// Crashed: the former owner may still write and its tail beyond the heads is unknown. Fence, look, align.
	Crashed
	// Expired: the transactional id was forgotten by the coordinator, so the former owner holds another producer id and
	// no fence of ours reaches it. Wait out its lease first, then as Crashed.
	Expired
)

// String names the handover for logs and status.
func (h Handover) String() string {
	return [...]string{"first owner", "clean hand-over", "former owner ended without release", "former owner's identity expired"}[h]
}

// Judge says how the lane is taken over, given the former claim (nil when there is none) and our new identity. A claim
// that says "released" counts only if nobody called InitProducerID in between: exactly one epoch lies between them, or the
// identity expired and ours is the first epoch of its successor.
func Judge(former *Former, now Identity) Handover {
	switch {
	case former == nil:
		return First
	case former.ProducerID != now.ProducerID:
		switch {
		case !former.Released:
			return Expired
		case now.Epoch == 0:
			return Clean // released with nothing in doubt: whoever holds the old id sends no more, and nobody had the new one
		}
		return Crashed // somebody had the new id before us, and may write
	case former.Released && now.Epoch == former.Epoch+1:
		return Clean
	}
	return Crashed
}

// Step is what is to be done next while a lane is taken over. The lease is checked before each.
type Step uint8

// The steps, in the order in which they come. Not every take-over has them all.
const (
	// ReadLedger: read the lane's ledger partition to its end; Takeover.Read takes the answer.
	ReadLedger Step = iota
	// ReadTails: the former owner read the source with another isolation. Look at what stands on the target beyond each head;
	// Takeover.Tail takes each, then Done. It comes before the fences and behind them: until those a former owner could append.
	ReadTails
	// Identify: InitProducerID; Takeover.Identified.
	Identify
	// WaitLease: whoever has the lane cannot be fenced, so one session time-out is waited out; Takeover.Done.
	WaitLease
	// FenceOwn: fence the ledger partition and the verdicts partitions; Takeover.Done. ReadLedger follows once more: what
	// a former owner wrote until then counts.
	FenceOwn
	// FenceHeads: fence every partition that has a head; Takeover.Done.
	FenceHeads
	// ReadControls: read what people have decided to its end; Takeover.Done. Behind the fences: what was decided before a former
	// owner was fenced is seen, and nothing is written before.
	ReadControls
	// Adopt: write the claim, then open the partitions one by one.
	Adopt
)

// String is what the lane is about during the step, for people.
func (s Step) String() string {
	return [...]string{
		"reading its ledger partition", "looking for what was written with another isolation", "asking the target for its producer id", "waiting until the former owner's lease has run out",
		"fencing its ledger partition", "fencing the remote partitions", "reading what people have decided", "writing its claim",
	}[s]
}

// Claimed is what a ledger says about who has the lane.
type Claimed struct {
	Former *Former          // nil: no claim
	Lost   bool             // the claim is damaged or gone, so whose identity it was is not known
	Under  string           // transactional id of the claim's owner; the lane's plain one where there is no claim
	Reads  ledger.Isolation // what that owner read of the source
}

// Takeover decides the steps of a take-over (docs/design.md, Taking a lane over). It begins with ReadLedger.
type Takeover struct {
	Reads  ledger.Isolation // what we read of the source
	step   Step
	then   Step // behind ReadTails
	was    Claimed
	under  string
	fenced bool // the ledger stands still
	how    Handover
}

// Next is what to do.
func (t *Takeover) Next() Step { return t.step }

// Under is the transactional id to ask for an identity with.
func (t *Takeover) Under() string { return t.was.Under }

// How the lane is taken over, as far as it is known: from Identify on, and finally at Adopt.
func (t *Takeover) How() Handover { return t.how }

// Read takes what the ledger says. An error means that the lane moved on to another identity between two looks, which this
// one does not fence: the take-over begins anew.
func (t *Takeover) Read(c Claimed) error {
	if !t.fenced {
		t.was = c
		t.to(Identify)
		return nil
	}
	if c.Under != t.was.Under {
		return fmt.Errorf("the lane went on under transactional id %s meanwhile", c.Under)
	}
	if t.how == First && (c.Former != nil || c.Lost) {
		t.how = Crashed // somebody claimed it between our first look and the fence
	}
	t.was.Reads = c.Reads
	if t.how == First {
		t.to(ReadControls)
	} else {
		t.step = FenceHeads
	}
	return nil
}

// to goes on with a step that must not come before tails are looked at, where the isolation is another one now.
func (t *Takeover) to(next Step) {
	if t.step = next; otherReading(t.was.Reads, t.Reads) {
		t.step, t.then = ReadTails, next
	}
}

// Tail takes what stands on the target beyond the head of a partition that is known there by a name. An error means that the
// lane cannot be taken with this isolation.
func (t *Takeover) Tail(remote string, landed []Landed) error {
	return refuseTail(t.was.Reads, t.Reads, remote, landed)
}

// Identified takes the identity, and the transactional id that it was given under: another one than Under where that hangs.
func (t *Takeover) Identified(id Identity, under string) {
	t.under = under
	t.how = Judge(t.was.Former, id)
	switch {
	case t.was.Lost:
		t.how = Crashed
	case under != t.was.Under && t.how != First:
		// Also where the claim says "released": somebody was on the way to the next one when the identity began to hang.
		t.how = Expired
	}
	switch {
	case t.Unfenced():
		t.step = WaitLease
	case t.how == Clean:
		t.to(ReadControls)
	default:
		t.step = FenceOwn
	}
}

// Unfenced says that somebody may hold an identity that no fence of ours reaches.
func (t *Takeover) Unfenced() bool {
	return t.was.Lost || t.how == Expired || t.under != t.was.Under
}

// Done says that the step is done, one of those without an answer.
func (t *Takeover) Done() {
	switch t.step {
	case WaitLease:
		t.step = FenceOwn
	case FenceOwn:
		t.step, t.fenced = ReadLedger, true
	case FenceHeads:
		t.to(ReadControls)
	case ReadControls:
		t.step = Adopt
	case ReadTails:
		t.step = t.then
	case ReadLedger, Identify, Adopt:
	}
}
