package lane

import (
	"fmt"
	"iter"
)

// How often a lane's chores come, ms.
const (
	// judgeEvery: positions are translated again without news from the source. Those ahead of the mirror become exact as
	// it advances.
	judgeEvery = 200
	// startsEvery: the target's log starts are asked for. Retention there makes positions unusable and the map smaller, also
	// on partitions that nothing is written to.
	startsEvery = 10_000
	// rowsEvery: the fence of a verdicts partition is tried that had no leader at take-over.
	rowsEvery = 1_000
	// keepAgain: a keepalive that failed is tried again.
	keepAgain = 10_000
)

// wedgedFor is how long a lane that has work to do for its identity goes on with one that hangs, ms. Its partitions go on
// meanwhile, except those that need a fence; a leader that is missing while a marker is due looks the same, and comes back.
const wedgedFor = 5 * 60_000

// Upkeep decides what a lane does from time to time besides mirroring: which chores are due, and what their outcome means for
// the ledger's journal and for the lane. Its times are ms of a clock that is never set back.
type Upkeep struct {
	id       string // transactional id
	every    int64  // from keepalive to keepalive
	keepAt   int64  // when the last keepalive began
	holding  bool   // the ledger is held for a keepalive that has not begun
	keeping  bool   // a keepalive is under way
	fencing  bool   // the fence of a verdicts partition is under way
	rowsAt   int64
	startsAt int64
	judgedAt int64
	hangs    int64 // since when work that needs the identity has failed because it hangs; -1: it does not
}

// Chore is something that is due.
type Chore interface {
	fmt.Stringer
	chore()
}

// The chores.
type (
	// Keepalive refreshes identity and ledger state before the target forgets them: plain batches never touch the
	// coordinator, and a ledger without news would lose its producer state. It is a fence of the ledger's partition in the
	// coordinator's epoch; Kept takes the outcome.
	Keepalive struct{}
	// FenceRows fences a verdicts partition that could not be fenced at take-over: until then nothing is written to it. One
	// at a time: the coordinator takes no more. RowsFenced takes the outcome.
	FenceRows struct{ N int32 }
	// AskStarts asks for the log starts of remote partitions: TargetStart.
	AskStarts struct{}
	// JudgeAgain translates positions again that were not exact.
	JudgeAgain struct{}
)

func (Keepalive) chore()  {}
func (FenceRows) chore()  {}
func (AskStarts) chore()  {}
func (JudgeAgain) chore() {}

func (Keepalive) String() string   { return "refresh the identity by a fence of the ledger" }
func (c FenceRows) String() string { return fmt.Sprintf("fence verdicts partition %d", c.N) }
func (AskStarts) String() string   { return "ask for the target's log starts" }
func (JudgeAgain) String() string  { return "judge positions anew" }

// Outcome is how work in the lane's identity ended.
type Outcome struct {
	Err    string // empty: well
	Fenced bool   // another owner has the lane
	Hangs  bool   // a transaction of the identity does not end
}

// NewUpkeep begins at a take-over, which has refreshed all.
func NewUpkeep(id string, keepEvery, now int64) *Upkeep {
	return &Upkeep{id: id, every: keepEvery, keepAt: now, startsAt: now - startsEvery, rowsAt: now - rowsEvery, judgedAt: now - judgeEvery, hangs: -1}
}

// Due says what to do now. rows are the journals of the verdicts topic by partition. A lane that is being given up does
// nothing of it.
func (u *Upkeep) Due(ledger *Journal, rows iter.Seq2[int32, *Journal], draining bool, now int64) (due []Chore) {
	if draining {
		if u.holding { // the last heads are still to be written
			u.holding = false
			ledger.Release(ledger.Epoch())
		}
		return nil
	}
	if !u.keeping && now-u.keepAt >= u.every {
		// A busy ledger always has something to send: from now on only what is in flight goes out.
		ledger.Hold()
		if u.holding = ledger.Flying(); !u.holding {
			u.keepAt, u.keeping = now, true
			due = append(due, Keepalive{})
		}
	}
	if !u.fencing && now-u.rowsAt >= rowsEvery {
		u.rowsAt = now
		for n, j := range rows {
			if j.Held() {
				u.fencing = true
				due = append(due, FenceRows{n})
				break
			}
		}
	}
	if now-u.startsAt >= startsEvery {
		u.startsAt = now
		due = append(due, AskStarts{})
	}
	if now-u.judgedAt >= judgeEvery {
		u.judgedAt = now
		due = append(due, JudgeAgain{})
	}
	return due
}

// Kept takes the outcome of a keepalive in an epoch of the coordinator. Once an own fence has raised that above the ledger's,
// the keepalive is the ledger's own fence too, so the ledger goes on in it from sequence 0. gone is why the lane must be given
// up.
func (u *Upkeep) Kept(ledger *Journal, epoch int16, o Outcome, now int64) (gone string) {
	u.keeping = false
	// After a failure whose marker may have been written all the same, the ledger's own epoch could be refused: it stays held
	// until a keepalive succeeds.
	if o.Err == "" || epoch == ledger.Epoch() {
		ledger.Release(epoch)
	}
	if o.Err != "" {
		u.keepAt = now + keepAgain - u.every
	}
	return u.Worked(o, now)
}

// RowsFenced takes the outcome of the fence of a verdicts partition. A leader that is missing there is no reason to give the
// identity up.
func (u *Upkeep) RowsFenced(j *Journal, epoch int16, o Outcome) (gone string) {
	u.fencing = false
	switch {
	case o.Err == "":
		j.Release(epoch)
	case o.Fenced:
		return o.Err
	}
	return ""
}

// Worked takes the outcome of any other work in the lane's identity. A lane whose identity hangs for long is given up, to be
// taken over under another one.
func (u *Upkeep) Worked(o Outcome, now int64) (gone string) {
	switch {
	case o.Err == "":
		u.hangs = -1
	case o.Fenced:
		return o.Err
	case !o.Hangs:
	case u.hangs < 0:
		u.hangs = now
	case now-u.hangs > wedgedFor:
		return fmt.Sprintf("its identity %s hangs: %s", u.id, o.Err)
	}
	return ""
}
