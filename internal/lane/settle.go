package lane

import (
	"fmt"

	"tidemark/offsetmap"
)

// stop ends work on the partition until Restart. Whether a fence is due then depends on what may be on the target.
func (p *Part) stop(reason string, now int64) []Action {
	for _, u := range p.window {
		if u.doubt || u.inFlight {
			p.dirty = true
		}
	}
	p.phase, p.reason, p.retryAt = stopped, reason, 0
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
	acts := p.stop(reason, now)
	p.dirty = true
	return acts
}

// Fenced says that the partition's own fence is complete and which epoch writes it from now on.
func (p *Part) Fenced(epoch int16) []Action {
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

// Looked takes what stands on the target from the asked offset to end, in order, and start, the target's log start.
// Units that landed are acknowledged at the offset where they stand; the rest is forgotten and fetched again, which a
// new epoch allows (bytes may differ then). Continue fetching from Next.
func (p *Part) Looked(landed []Landed, start, end, now int64) []Action {
	acts := p.release(nil)
	if end < int64(p.m.TargetEnd()) {
		return append(acts, p.stop(fmt.Sprintf("target log ends at %d, below the mirrored end %d (records were lost on the target)", end, p.m.TargetEnd()), now)...)
	}
	var err error
	if seen := headersSeen(landed, int64(p.m.TargetEnd()), end); seen {
		err = p.settleByHeaders(landed)
	} else {
		err = p.settleByCount(start, end)
	}
	if err != nil {
		p.dirty = true
		return append(acts, p.stop(err.Error(), now)...)
	}
	p.resume()
	return acts
}

// headersSeen says whether the headers account for every offset of [from, end).
func headersSeen(landed []Landed, from, end int64) bool {
	for _, l := range landed {
		if l.Base != from {
			return false
		}
		from += l.Count
	}
	return from == end
}

func (p *Part) settleByHeaders(landed []Landed) error {
	for _, l := range landed {
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

// settleByCount settles when retention or compaction removed headers: old data may be deleted within seconds while the
// log end stays. All offsets but the fence's one marker are then ours if a prefix of the window fills them exactly.
func (p *Part) settleByCount(start, end int64) error {
	room := end - int64(p.m.TargetEnd()) - 1
	at := int64(p.m.TargetEnd())
	for room > 0 && len(p.window) > 0 && int64(p.window[0].Count) <= room {
		u := p.window[0]
		if err := p.land(u, at); err != nil {
			return err
		}
		at += int64(u.Count)
		room -= int64(u.Count)
		p.window = p.window[1:]
	}
	if room != 0 {
		return fmt.Errorf("target log start %d, end %d: %d offsets beyond the mirrored end cannot be told apart, and their headers are gone", start, end, room)
	}
	return p.m.Marker(offsetmap.TargetOffset(end))
}

// Busy says that a fence or a look is under way, or the partition is stopped: nothing is to be fetched now.
func (p *Part) Busy() bool { return p.phase != running }
