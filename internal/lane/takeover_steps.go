package lane

import "fmt"

// Step is what is to be done next while a lane is taken over. The lease is checked before each.
type Step uint8

// The steps, in the order in which they come. Not every take-over has them all.
const (
	// ReadLedger: read the lane's ledger partition to its end; Takeover.Read takes the answer.
	ReadLedger Step = iota
	// Identify: InitProducerID; Takeover.Identified.
	Identify
	// WaitLease: whoever has the lane cannot be fenced, so one session time-out is waited out; Takeover.Done.
	WaitLease
	// FenceOwn: fence the ledger partition and the verdicts partitions; Takeover.Done. ReadLedger follows once more: what
	// a former owner wrote until then counts.
	FenceOwn
	// FenceHeads: fence every partition that has a head; Takeover.Done.
	FenceHeads
	// Adopt: write the claim, then open the partitions one by one.
	Adopt
)

// Claimed is what a ledger says about who has the lane.
type Claimed struct {
	Former *Former // nil: no claim
	Lost   bool    // the claim is damaged or gone, so whose identity it was is not known
	Under  string  // transactional id of the claim's owner; the lane's plain one where there is no claim
}

// Takeover decides the steps of a take-over (design of a lane, steps 1 and 2). It begins with ReadLedger.
type Takeover struct {
	step   Step
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
		t.was, t.step = c, Identify
		return nil
	}
	if c.Under != t.was.Under {
		return fmt.Errorf("the lane went on under transactional id %s meanwhile", c.Under)
	}
	if t.how == First && (c.Former != nil || c.Lost) {
		t.how = Crashed // somebody claimed it between our first look and the fence
	}
	t.step = Adopt
	if t.how != First {
		t.step = FenceHeads
	}
	return nil
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
		t.step = Adopt
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
		t.step = Adopt
	case ReadLedger, Identify, Adopt:
	}
}
