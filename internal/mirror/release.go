package mirror

import (
	"errors"
	"fmt"
	"time"

	"tidemark/internal/ledger"
)

// ErrUnreleased says that a lane ended without the word "released". Nothing is lost: its next owner fences, and looks at
// what stands on the target.
var ErrUnreleased = errors.New("ended without release, the next owner looks at the target's tail")

// drain stops reading and sends nothing that is not on its way already.
func (l *Lane) drain() {
	l.draining = true
	for _, p := range l.parts {
		if p.feed != nil {
			p.feed.stop(l.flow)
		}
		if p.core == nil {
			continue
		}
		for _, id := range p.core.Drain() {
			if pc := p.pieces[id]; pc != nil {
				delete(p.pieces, id)
				pc.buf.drop(l.flow)
			}
		}
	}
}

// drained goes on with the release: wait for what is in flight, write every head, then the word "released". Without
// that word (time ran out, something stayed in doubt) the next owner fences and looks.
func (l *Lane) drained(deadline time.Time) (finished bool, err error) {
	if time.Now().After(deadline) {
		return true, fmt.Errorf("%w: something was still in flight after %v", ErrUnreleased, drainFor)
	}
	for _, p := range l.parts {
		if p.core == nil {
			continue
		}
		if !p.core.Clean() {
			if p.step != halted {
				return false, nil
			}
			l.unclean = true
			continue
		}
		if p.dirty && p.step == live {
			l.writeHead(p, nil)
		}
	}
	if !l.ledger.idle() {
		return false, nil
	}
	for _, j := range l.verdicts {
		if j.held {
			l.unclean = true // not fenced, so it is still the former owner's to write
		} else if !j.idle() {
			return false, nil
		}
	}
	// A partition that could not be fenced when the lane was taken over is still the former owner's to write.
	switch {
	case !l.claimed:
		return true, nil // nothing was written in this claim's name
	case l.unclean || len(l.unfenced) > 0:
		return true, fmt.Errorf("%w: records of a stopped partition may be on the target without our knowing", ErrUnreleased)
	}
	if !l.releasing {
		l.releasing = true
		id := l.coord.get()
		claim := ledger.Claim{ProducerID: id.ProducerID, Epoch: id.Epoch, TransactionalID: l.txid, Owner: l.flow.Owner, Released: true, At: time.Now()}
		l.ledger.add([]byte(ledger.Key{Kind: ledger.KindClaim}.String()), claim.Encode(), func() { l.released = true })
		return false, nil
	}
	return l.released, nil
}
