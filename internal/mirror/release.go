package mirror

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"tidemark/internal/lane"
	"tidemark/internal/ledger"
)

// ErrUnreleased says that a lane ended without the word "released". Nothing is lost: its next owner fences, and looks at
// what stands on the target.
var ErrUnreleased = errors.New("ended without release, the next owner looks at the target's tail")

// NotTakenError is of a lane that could not be taken over. Nothing was claimed: what the ledger says about its former owner,
// such as that it released the lane, holds still.
type NotTakenError struct {
	lane int32
	err  error
}

func (e *NotTakenError) Error() string { return fmt.Sprintf("take over lane %d: %v", e.lane, e.err) }

func (e *NotTakenError) Unwrap() error { return e.err }

// drain stops reading and sends nothing that is not on its way already.
func (l *Lane) drain() {
	l.draining = true
	for _, p := range l.parts {
		l.step(p, lane.Drain{})
	}
}

// drained goes on with the release, until deadline. Without the word "released" (time ran out, something stayed in doubt)
// the next owner fences and looks.
func (l *Lane) drained(deadline time.Time) (finished bool, err error) {
	if time.Now().After(deadline) {
		return true, fmt.Errorf("%w: something was still in flight after %v", ErrUnreleased, drainFor)
	}
	for _, p := range l.parts {
		l.act(p, p.core.Flush(now()))
	}
	rest := lane.Rest{LedgerIdle: l.ledger.Idle(), RowsIdle: true, Claimed: l.claimed, Unfenced: len(l.unfenced) > 0, Released: l.released}
	for _, j := range l.verdicts {
		rest.RowsHeld = rest.RowsHeld || j.Held()
		rest.RowsIdle = rest.RowsIdle && (j.Held() || j.Idle())
	}
	switch l.release.Next(l.cores(), rest) {
	case lane.ReleaseNothing, lane.ReleaseDone:
		return true, nil
	case lane.ReleaseUnclean:
		return true, fmt.Errorf("%w: records of a stopped partition may be on the target without our knowing", ErrUnreleased)
	case lane.ReleaseClaim:
		id := l.coord.get()
		claim := ledger.Claim{ProducerID: id.ProducerID, Epoch: id.Epoch, TransactionalID: l.txid, Owner: l.flow.Owner, Released: true, At: time.Now()}
		l.ledger.add([]byte(ledger.Key{Kind: ledger.KindClaim}.String()), claim.Encode(), func() { l.released = true })
	case lane.ReleaseWaits:
	}
	return false, nil
}

func (l *Lane) cores() iter.Seq[*lane.Partition] {
	return func(yield func(*lane.Partition) bool) {
		for _, p := range l.parts {
			if !yield(p.core) {
				return
			}
		}
	}
}
