package lane

import (
	"fmt"
	"slices"

	"tidemark/internal/batch"
	"tidemark/offsetmap"
)

// advance adds what can be done now: skips at the front, units that came back, then new ones. Where the partition is held or
// drains nothing is queued, and nothing can be until it reads again.
func (p *Partition) advance(acts []Action, now int64) []Action {
	if p.state != Live {
		return acts
	}
	p.skipFront()
	if p.retryAt != 0 {
		if p.inFlight() > 0 || now < p.retryAt {
			return acts
		}
		p.retryAt = 0
		if acts = append(acts, p.pump(now)...); p.state != Live {
			return acts
		}
	}
	if p.again && p.Idle() {
		did, done := p.obey(now)
		if acts = append(acts, did...); done {
			return acts
		}
		acts = append(acts, p.readOn(now)...)
	}
	if n := Group(p.queue, p.lim.MergeTarget); n > 0 && p.room(now) > 0 && (now >= p.lim.HoldOldUntil || p.queuedFresh(now)) {
		ids := make([]uint64, 0, n)
		for _, pc := range p.queue[:n] {
			if !pc.Skip {
				ids = append(ids, pc.ID)
			}
		}
		acts = append(acts, Prepare{N: n, Pieces: ids})
	}
	return acts
}

// stateLives says whether the target is sure to hold our producer state in this epoch.
func (p *Partition) stateLives(now int64) bool {
	return p.lastFresh != 0 && younger(p.lastFresh, p.lim.OldAfter, now)
}

func (p *Partition) fresh(u *Unit, now int64) bool {
	return younger(u.MaxTimestamp, p.lim.OldAfter, now)
}

// room is how many more units may be put in flight.
func (p *Partition) room(now int64) int {
	limit := 1
	if p.stateLives(now) && p.queuedFresh(now) {
		limit = p.lim.Depth
	}
	return limit - len(p.window)
}

// queuedFresh says whether the next piece and all that is in the window are young enough to be sent together.
func (p *Partition) queuedFresh(now int64) bool {
	for _, u := range p.window {
		if !p.fresh(u, now) {
			return false
		}
	}
	for _, pc := range p.queue {
		if !pc.Skip {
			return younger(pc.MaxTimestamp, p.lim.OldAfter, now)
		}
	}
	return true
}

// skipFront accounts for pieces without data that nothing unsettled precedes. Behind a unit they wait in the queue:
// through must not pass the unit's records.
func (p *Partition) skipFront() {
	n := 0
	for n < len(p.queue) && p.queue[n].Skip && len(p.window) == 0 {
		p.accounted(p.queue[n].Next)
		n++
	}
	p.queue = p.queue[n:]
	p.head.dirty = p.head.dirty || n > 0
}

// accounted moves through to next: nothing of the source below it is still to be mirrored.
func (p *Partition) accounted(next offsetmap.SourceOffset) {
	if next > p.m.Through() {
		// The error cannot happen: next is above through.
		_ = p.m.Advance(next)
	}
}

// prepared takes the outputs that the pieces of the last Prepare became. n is how many queued pieces they cover. The
// outputs are stamped and, as far as there is room, sent; a split piece may give more outputs than there is room for,
// the rest follows when acknowledgements arrive.
func (p *Partition) prepared(n int, outs []Output, now int64) []Action {
	p.queue = p.queue[n:]
	for _, o := range outs {
		u := &Unit{Output: o, Epoch: p.epoch, Sequence: p.seq}
		p.seq = batch.NextSequence(p.seq, o.Count)
		p.window = append(p.window, u)
	}
	return p.pump(now)
}

// pump sends stamped units that are not on their way, oldest first, as far as LN3 allows: new ones, and those that came
// back. It asks for the partition's own fence where the target may have forgotten what it acknowledged (LN2). A fresh
// unit in doubt is safe to repeat whatever preceded it: if it was appended, its own timestamp keeps the producer's state
// alive and the broker answers with the original offset.
func (p *Partition) pump(now int64) []Action {
	var acts []Action
	for i, u := range p.window {
		if u.inFlight {
			continue
		}
		if u.doubt && !p.fresh(u, now) {
			if p.inFlight() > 0 {
				break // their answers first: the fence would make them look lost
			}
			return append(acts, p.fence(now)...)
		}
		if i >= p.lim.Depth || i > 0 && !(p.stateLives(now) && p.fresh(u, now) && p.fresh(p.window[i-1], now)) {
			break
		}
		again := u.sent
		u.sent, u.inFlight = true, true
		u.attempts++
		s := Send{Unit: u, Again: again}
		if p.fresh(u, now) {
			s.NotAfter = later(u.MaxTimestamp, p.lim.OldAfter)
		}
		acts = append(acts, s)
	}
	return acts
}

func (p *Partition) inFlight() (n int) {
	for _, u := range p.window {
		if u.inFlight {
			n++
		}
	}
	return n
}

// answered takes what came back for a unit. Answers for units that were settled meanwhile, and those that arrive while
// the partition is being fenced, change nothing: the look decides about them.
func (p *Partition) answered(u *Unit, r Result, now int64) []Action {
	u.inFlight = false
	if p.state != Live || !slices.Contains(p.window, u) {
		return nil
	}
	first := p.window[0] == u
	switch r.Answer {
	case Fenced:
		u.doubt = true
		return []Action{GiveUp{Reason: r.Reason}}
	case Refused:
		return p.stop(r.Reason, false, now)
	case NotSaved:
		return p.back(r.Reason, now)
	case InDoubt:
		u.doubt = true
		return p.back(r.Reason, now)
	case Sequence:
		if !first || p.retryAt != 0 {
			return p.back(r.Reason, now) // an earlier one came back and this one only shows it
		}
		u.doubt = true
		if p.refusals++; p.refusals > p.lim.MaxAttempts {
			return p.stop("the target keeps refusing our sequence numbers: "+r.Reason, false, now)
		}
		return p.fence(now)
	case Acked:
	}
	if !first {
		// Acknowledged before an earlier one (LN3 excludes it): which bytes stand where is no longer certain.
		u.doubt = true
		return p.fence(now)
	}
	return p.acked(u, r, now)
}

// back notes that a unit must be sent again, after a pause that grows.
func (p *Partition) back(reason string, now int64) []Action {
	if p.stuck == 0 {
		p.stuck = now
	}
	if now-p.stuck >= p.lim.StuckAfter {
		return p.stop(fmt.Sprintf("no progress on the target for %d s: %s", p.lim.StuckAfter/1000, reason), false, now)
	}
	if p.retryAt != 0 {
		return nil
	}
	wait := p.lim.RetryMin << min(p.backs, 10)
	p.backs++
	p.retryAt = now + min(wait, p.lim.RetryMax)
	return nil
}

func (p *Partition) acked(u *Unit, r Result, now int64) []Action {
	base, end := r.BaseOffset, p.m.TargetEnd()
	p.seen.TargetStart = max(p.seen.TargetStart, r.LogStart)
	switch {
	case base < end:
		return p.stop(fmt.Sprintf("target log went backwards: a new batch landed at offset %d, below the mirrored end %d (records were lost on the target)", base, end), false, now)
	case base > end && !p.fresh(u, now):
		u.doubt = true
		return p.fence(now) // old data: a second copy of it may be what stands in between
	case base > end:
		if err := p.m.Foreign(base); err != nil {
			return p.stop("offset map: "+err.Error(), false, now)
		}
	}
	acts, err := p.land(u, base)
	if err != nil {
		return p.stop("offset map: "+err.Error(), false, now)
	}
	p.backs, p.refusals, p.stuck = 0, 0, 0
	p.lastFresh = max(u.MaxTimestamp, 0)
	p.window = p.window[1:]
	acts = append(append(acts, Settled{Unit: u}), p.goesOn()...)
	p.skipFront()
	if p.retryAt == 0 {
		acts = append(acts, p.pump(now)...)
	}
	return acts
}

// land writes a unit's records into the map at the target offset where they stand.
func (p *Partition) land(u *Unit, base offsetmap.TargetOffset) ([]Action, error) {
	at := base
	for _, s := range u.Spans {
		if err := p.m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(s.Offset), Target: at, Count: int64(s.Count)}); err != nil {
			return nil, err
		}
		at += offsetmap.TargetOffset(s.Count)
	}
	return p.mirrored(u, base), nil
}

// mirrored accounts for a unit whose records are on the target, or were.
func (p *Partition) mirrored(u *Unit, base offsetmap.TargetOffset) []Action {
	p.accounted(u.Next)
	p.head.dirty = true
	p.head.bytes += int64(u.Size)
	return append(p.seal(), Mirrored{Unit: u, Base: base})
}
