package lane

import (
	"fmt"

	"tidemark/offsetmap"
)

// stop ends work on the partition until Restart. Whether a fence is due then depends on what may be on the target.
func (p *Part) stop(reason string, now int64) []Action {
	for _, u := range p.window {
		p.dirty = p.dirty || u.doubt || u.inFlight
	}
	// A fence or look that is under way is begun anew by Restart; its answer finds the partition stopped and counts for
	// nothing.
	p.dirty = p.dirty || p.phase == fencing || p.phase == looking
	p.phase, p.reason, p.retryAt, p.stuck = stopped, reason, 0, 0
	acts := p.release(nil)
	return append(acts, Halt{Reason: reason, RetryAt: now + p.lim.StopRetry})
}

// release lets go of the bytes of everything queued and stamped. The units stay in the window: their sequences and
// spans are what a look is compared with.
func (p *Part) release(acts []Action) []Action {
	for _, u := range p.window {
		acts = append(acts, Settled{Unit: u})
	}
	for _, pc := range p.queue {
		acts = append(acts, Skipped{ID: pc.ID})
	}
	p.queue = nil
	return acts
}

// Stop stops the partition for a reason found outside: source topic deleted, access denied, damaged batch.
func (p *Part) Stop(reason string, now int64) []Action {
	if p.phase == stopped {
		p.reason = reason
		return nil
	}
	return p.stop(reason, now)
}

// Restart tries a stopped partition again; the caller fetches from Next once the actions are done. Where units may
// stand on the target that were never acknowledged, the partition is fenced and looked at first.
func (p *Part) Restart() []Action {
	if p.phase != stopped {
		return nil
	}
	p.reason, p.failures = "", 0
	if p.dirty {
		return p.fence()
	}
	if len(p.window) > 0 {
		p.seq = p.window[0].Sequence // surely not appended: the sequence is still free
	}
	p.resume()
	return nil
}

func (p *Part) resume() {
	p.window, p.queue, p.phase, p.dirty = nil, nil, running, false
	p.next = int64(p.m.Through())
}

// FenceFailed says that the partition's own fence did not complete; it stops, and the fence is tried again later.
func (p *Part) FenceFailed(reason string, now int64) []Action {
	if p.phase != fencing && p.phase != looking {
		return nil
	}
	return p.stop(reason, now)
}

// Fenced says that the partition's own fence is complete and which epoch writes it from now on.
func (p *Part) Fenced(epoch int16) []Action {
	if p.phase != fencing {
		return nil
	}
	p.phase, p.epoch, p.seq, p.lastFresh = looking, epoch, 0, 0
	return []Action{Look{From: int64(p.m.TargetEnd())}}
}

// Landed is a stretch of the target's log as its batch headers tell it.
type Landed struct {
	Base     int64
	Count    int64 // offsets that it takes
	Ours     bool  // data in this lane's producer id
	Marker   bool  // a transaction marker of this lane's producer id
	Epoch    int16 // with Ours
	Sequence int32 // with Ours
}

// Looked takes what stands on the target from the asked offset to end, in order.
// Units that landed are acknowledged at the offset where they stand; the rest is forgotten and fetched again, which a
// new epoch allows (bytes may differ then). Continue fetching from Next.
func (p *Part) Looked(landed []Landed, end, now int64) []Action {
	if p.phase != looking {
		return nil
	}
	acts := p.release(nil)
	if end < int64(p.m.TargetEnd()) {
		return append(acts, p.stop(fmt.Sprintf("target log ends at %d, below the mirrored end %d (records were lost on the target)", end, p.m.TargetEnd()), now)...)
	}
	err := p.settleHidden(landed, end)
	if err == nil {
		err = p.settleByHeaders(landed)
	}
	if err != nil {
		p.dirty = true
		return append(acts, p.stop(err.Error(), now)...)
	}
	p.resume()
	return acts
}

func (p *Part) settleByHeaders(landed []Landed) error {
	for _, l := range landed {
		if l.Base > int64(p.m.TargetEnd()) {
			if err := p.m.Foreign(offsetmap.TargetOffset(l.Base)); err != nil {
				return err
			}
		}
		switch {
		case l.Marker:
			if err := p.m.Marker(offsetmap.TargetOffset(l.Base + l.Count)); err != nil {
				return err
			}
		case l.Ours && len(p.window) > 0 && p.window[0].Epoch == l.Epoch && p.window[0].Sequence == l.Sequence:
			u := p.window[0]
			if int64(u.Count) != l.Count {
				return fmt.Errorf("target offset %d holds %d records under our sequence %d, %d were sent", l.Base, l.Count, l.Sequence, u.Count)
			}
			if err := p.land(u, l.Base); err != nil {
				return err
			}
			p.window = p.window[1:]
		case l.Ours:
			// Our own bytes a second time: only an old batch repeated behind a forgotten state could do that, and LN2
			// forbids the repeat. Not explained means not touched.
			return fmt.Errorf("target offset %d holds an unexplained batch of ours (epoch %d, sequence %d)", l.Base, l.Epoch, l.Sequence)
		default:
			if err := p.m.Foreign(offsetmap.TargetOffset(l.Base + l.Count)); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleHidden settles offsets below the first header that is still there: retention deletes old data within seconds and
// compaction may follow, while log ends stay. A unit that stands behind them proves that those before it landed. Without
// such a proof the smallest place is taken: nothing landed there. That may write records a second time whose first copy
// is gone already; taking a unit for landed because its size fits would lose it where the offsets were somebody else's.
func (p *Part) settleHidden(landed []Landed, end int64) error {
	first := end
	if len(landed) > 0 {
		first = landed[0].Base
	}
	hidden := first - int64(p.m.TargetEnd())
	if hidden <= 0 {
		return nil
	}
	proven, size := p.before(landed)
	if size != hidden {
		p.uncertain += hidden
		return p.m.Foreign(offsetmap.TargetOffset(first))
	}
	for _, u := range p.window[:proven] {
		if err := p.land(u, int64(p.m.TargetEnd())); err != nil {
			return err
		}
	}
	p.window = p.window[proven:]
	return nil
}

// before says how many units of the window, of how many records, precede the first of them that is still to be seen.
func (p *Part) before(landed []Landed) (units int, records int64) {
	for _, l := range landed {
		if !l.Ours {
			continue
		}
		for i, u := range p.window {
			if u.Epoch == l.Epoch && u.Sequence == l.Sequence {
				return i, records
			}
			records += int64(u.Count)
		}
		break
	}
	return 0, 0
}

// Uncertain is how many records at most were written a second time because what stood on the target was gone before it
// could be looked at.
func (p *Part) Uncertain() int64 { return p.uncertain }

// Dirty says that a stopped partition may have units on the target that were never acknowledged: Restart fences first.
func (p *Part) Dirty() bool { return p.dirty }

// Busy says that a fence or a look is under way, or the partition is stopped: nothing is to be fetched now.
func (p *Part) Busy() bool { return p.phase != running }
