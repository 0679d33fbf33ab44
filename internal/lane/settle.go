package lane

import (
	"fmt"
	"slices"

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
	err := p.settleUnits(landed, end)
	if err != nil {
		p.dirty = true
		return append(acts, p.stop(err.Error(), now)...)
	}
	p.resume()
	return acts
}

// settleUnits goes through what stands on the target. Offsets without a header are those of what retention, within seconds
// of old data, or compaction took; log ends stay.
func (p *Part) settleUnits(landed []Landed, end int64) error {
	sure := int64(p.m.TargetEnd()) // everything below is settled; what stands between it and a unit is not
	for n, l := range landed {
		i := p.unit(l)
		if l.Ours && i < 0 {
			// Our own bytes a second time: only an old batch repeated behind a forgotten state could do that, and LN2
			// forbids the repeat. Not explained means not touched.
			return fmt.Errorf("target offset %d holds an unexplained batch of ours (epoch %d, sequence %d)", l.Base, l.Epoch, l.Sequence)
		}
		if l.Ours && i > 0 {
			if err := p.vanished(i, sure, l.Base); err != nil {
				return err
			}
		}
		if err := p.hidden(landed[n:], l.Base); err != nil {
			return err
		}
		var err error
		switch next := offsetmap.TargetOffset(l.Base + l.Count); {
		case l.Marker:
			err = p.m.Marker(next)
		case l.Ours:
			err = p.landed(l)
			sure = int64(next)
		default:
			err = p.m.Foreign(next)
		}
		if err != nil {
			return err
		}
	}
	return p.hidden(nil, end)
}

// unit is which unit of the window a batch is, -1 none.
func (p *Part) unit(l Landed) int {
	return slices.IndexFunc(p.window, func(u *Unit) bool { return l.Ours && u.Epoch == l.Epoch && u.Sequence == l.Sequence })
}

// landed settles the first unit by its header.
func (p *Part) landed(l Landed) error {
	u := p.window[0]
	if int64(u.Count) != l.Count {
		return fmt.Errorf("target offset %d holds %d records under our sequence %d, %d were sent", l.Base, l.Count, l.Sequence, u.Count)
	}
	p.window = p.window[1:]
	return p.land(u, l.Base)
}

// vanished settles the first n units, which are gone from between the offsets from and to. The unit at to proves that they
// landed: more than one is in flight only while the target knows their producer's state, and then it refuses a sequence
// whose predecessor it does not hold. Where they fill the offsets that is their place. Where others stood between them too
// they have none, and are a hole of the source: positions in it are those after the last record before it, which is early.
func (p *Part) vanished(n int, from, to int64) error {
	size := int64(0)
	for _, u := range p.window[:n] {
		size += int64(u.Count)
	}
	if to-from < size {
		return fmt.Errorf("target offsets %d to %d hold %d records of ours by their sequence numbers", from, to, size)
	}
	exact := to-from == size && int64(p.m.TargetEnd()) == from
	for _, u := range p.window[:n] {
		if !exact {
			p.advance(u.Next)
			continue
		}
		if err := p.land(u, int64(p.m.TargetEnd())); err != nil {
			return err
		}
	}
	p.window = p.window[n:]
	return nil
}

// hidden passes offsets up to the next header, or to the log's end, that no header tells of. While no unit behind them
// proves that those before it landed, the smallest place is taken: nothing landed there. That may write records a second
// time whose first copy is gone already; taking a unit for landed because its size fits would lose it where the offsets
// were somebody else's.
func (p *Part) hidden(behind []Landed, to int64) error {
	n := to - int64(p.m.TargetEnd())
	if n <= 0 {
		return nil
	}
	if len(p.window) > 0 && !slices.ContainsFunc(behind, func(l Landed) bool { return p.unit(l) >= 0 }) {
		p.uncertain += n
	}
	return p.m.Foreign(offsetmap.TargetOffset(to))
}

// Uncertain is how many records at most were written a second time because what stood on the target was gone before it
// could be looked at.
func (p *Part) Uncertain() int64 { return p.uncertain }

// Dirty says that a stopped partition may have units on the target that were never acknowledged: Restart fences first.
func (p *Part) Dirty() bool { return p.dirty }

// Busy says that a fence or a look is under way, or the partition is stopped: nothing is to be fetched now.
func (p *Part) Busy() bool { return p.phase != running }
