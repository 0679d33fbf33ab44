package lane

import "tidemark/offsetmap"

// What the life of a partition waits for, ms.
const (
	patience    = 8      // looks that may fail for reasons that pass, such as a leader that is being elected, before it counts as stopped
	lookAgain   = 500    // until a partition is looked at again whose topics changed meanwhile
	goesOnAfter = 5_000  // how long a stopped partition must stay live without news before that counts as going on: a try at a batch that is still damaged fails within a fetch or two, and each try would be two lines in the log
	silence     = 60_000 // how long a partition may bring nothing although the source is known to hold more; see listen
	lastsAfter  = 10_000 // how long anything but Live may last before people are told
)

// Step takes what happened, at time now (ms since the epoch), and says what to do, in order.
func (p *Partition) Step(e Event, now int64) []Action {
	if p.since == 0 {
		p.since = now
	}
	var acts []Action
	switch e := e.(type) {
	case Named:
		acts = p.named(e.Facts, now)
	case Absent:
		acts = p.gone(now)
	case Decided:
		acts = p.decided(e.Controls, now)
	case LookEnded:
		acts = p.lookEnded(e, now)
	case LookProgress:
		acts = p.progress(e)
	case HeadAcked:
		acts = p.headAcked(e.N, now)
	case Fetched:
		acts = p.fetched(e, now)
	case ReadFailed:
		acts = p.readFailed(e, now)
	case Unheard:
		p.heard, p.heardAt = false, now // a source that is away is said once for all of its partitions
	case Prepared:
		acts = p.prepared(e.N, e.Outs, now)
	case Unprepared:
		p.queue = p.queue[e.N:]
		acts = p.halt(e.Reason, false, now)
	case Answered:
		acts = p.answered(e.Unit, e.Result, now)
	case FenceDone:
		acts = p.fenced(e.Epoch, now)
	case FenceFailed:
		if p.state == Fencing || p.state == Looking {
			acts = p.stop(e.Reason, false, now)
		}
	case Looked:
		acts = p.looked(e.Landed, e.End, now)
	case Stop:
		acts = p.halt(e.Reason, e.Final, now)
	case TargetStart:
		acts = p.trim(e.Offset, now)
	case Hold:
		p.held = true
		acts = p.letGo()
	case GoOn:
		p.held = false
		acts = p.readOn(now)
	case Drain:
		p.draining = true
		acts = p.letGo()
	case Tick:
		acts = p.tick(now)
	}
	return p.advance(acts, now)
}

// named takes what the flow knows. Other facts than before are a reason to try again whatever was final.
func (p *Partition) named(f Facts, now int64) []Action {
	old := p.facts
	p.facts = f
	if p.absent {
		p.absent, p.reopen = false, p.opened
		if p.ending {
			p.ending = false // the stop that waited for the look was for being gone
			if !p.told {
				p.reason = ""
			}
		}
		if p.state == Stopped {
			p.final, p.retryAt = false, now
		}
	}
	if why := p.changed(); why != "" && !p.anew() {
		return p.halt(why, true, now)
	}
	switch {
	case p.state == Waiting && p.retryAt == 0:
		return p.look(now)
	case p.state != Stopped:
	case p.final && f != old:
		p.final, p.retryAt = false, now
	case old.NotYet == "":
	case f.NotYet == "":
		p.retryAt = now
	case p.reason == old.NotYet:
		return p.halt(f.NotYet, false, now) // one obstacle is gone and the next one shows
	}
	return nil
}

func (p *Partition) gone(now int64) []Action {
	if p.absent {
		return nil
	}
	p.absent = true
	return p.halt("the source topic is gone, not mirrored any more, or hidden from us (DESCRIBE on it is missing)", true, now)
}

// look begins a look at both ends, unless the partition cannot be mirrored yet. A partition in doubt is fenced before (restart),
// so that no unit which is left in the window can be on the target.
func (p *Partition) look(now int64) []Action {
	switch {
	case p.draining:
		p.enter(Waiting, now)
		if p.opened {
			p.unsent() // the next owner reads them again
		}
		return nil
	case p.controls.Paused != "":
		return p.halt(p.controls.Paused, true, now)
	case p.facts.NotYet != "":
		return p.halt(p.facts.NotYet, false, now)
	}
	p.enter(Opening, now)
	return []Action{LookAtEnds{Again: p.reopen && !p.anew()}}
}

func (p *Partition) lookEnded(e LookEnded, now int64) []Action {
	if p.state != Opening {
		return nil
	}
	var acts []Action
	if e.Err == "" {
		p.seen.SourceStart, p.seen.TargetStart = e.SourceStart, e.TargetStart
		acts = found(e)
	}
	switch {
	case p.ending:
		p.ending = false
		return append(acts, p.stop(p.reason, p.final, now)...)
	case e.Err != "" && e.Passes && p.looks < patience:
		p.looks++
		p.enter(Waiting, now)
		p.retryAt = now + int64(100<<min(p.looks, 4))
		return nil
	case e.Err != "":
		p.looks = 0
		return p.stop(e.Err, false, now)
	case e.Reason != "":
		return append(acts, p.stop(e.Reason, false, now)...)
	case !p.opened && p.recreated(e.Map) != "":
		// A topic was made anew while the look went on, and either it or the flow saw the former one.
		p.enter(Waiting, now)
		p.retryAt = now + lookAgain
		return acts
	}
	acts = append(acts, p.begun(e.Map)...)
	if !p.opened {
		p.opened, p.epoch, p.seq = true, e.Epoch, 0
	}
	p.reopen = false
	p.unsent()
	return append(acts, p.goLive(now)...)
}

// found says what a look has written into the map. The next one does not find it again, so it is said whatever follows.
func found(e LookEnded) (acts []Action) {
	if e.Twice > 0 {
		acts = append(acts, Said{News{What: NewsTwice, N: e.Twice}})
	}
	if e.Lost > 0 {
		acts = append(acts, Said{News{What: NewsLost, N: e.Lost}})
	}
	return acts
}

func (p *Partition) progress(e LookProgress) []Action {
	if p.state == Opening || p.state == Looking {
		p.settled = some("read ", e.Read) + some(" of ", e.Of)
	}
	return nil
}

// goLive writes the head of the epoch in which the partition will be written; the target is only written, and the source
// read, once that head is acknowledged (MR1). A head that was queued before does not count: it can be of another epoch.
func (p *Partition) goLive(now int64) []Action {
	p.enter(Heading, now)
	p.looks = 0
	acts := p.writeHead(now)
	p.head.wanted = p.head.queued
	return acts
}

func (p *Partition) headAcked(n int, now int64) []Action {
	p.head.acked = max(p.head.acked, n)
	acts := p.dropBlocks()
	if p.state != Heading || p.head.acked < p.head.wanted {
		return acts
	}
	p.enter(Live, now)
	p.liveAt = now
	return append(append(acts, p.readOn(now)...), Rejudge{})
}

// readOn has the source read from where the partition stands. After a stop or a look that is below what was asked for
// before.
func (p *Partition) readOn(now int64) []Action {
	if !p.Reads() {
		return nil
	}
	if p.again = p.decides(); p.again {
		return nil
	}
	p.heard, p.heardAt, p.head.dirty = false, now, true
	return []Action{Read{Offset: p.next, Epoch: p.m.LastEpoch()}}
}

// halt stops the partition, but for a reason that it is stopped for already. While a look owns the map the stop waits for
// its end.
func (p *Partition) halt(reason string, final bool, now int64) []Action {
	switch {
	case p.state == Stopped && p.reason == reason:
		p.tryAgain(final, now)
		return nil
	case p.state == Opening:
		p.ending, p.final = true, final
		p.told = p.told && p.reason == reason
		p.reason = reason
		return nil
	}
	return p.stop(reason, final, now)
}

// stop ends work on the partition until it is tried again. Whether a fence is due then depends on what may be on the
// target. A fence or a look that is under way is begun anew; its answer finds the partition stopped and counts for nothing.
func (p *Partition) stop(reason string, final bool, now int64) []Action {
	for _, u := range p.window {
		p.dirty = p.dirty || u.doubt || u.inFlight
	}
	p.dirty = p.dirty || p.state == Fencing || p.state == Looking
	acts := append(p.release(nil), StopReading{})
	p.again, p.stuck = false, 0
	p.enter(Stopped, now)
	p.tryAgain(final, now)
	if p.reason != reason || !p.told {
		p.reason, p.told = reason, true
		acts = append(acts, Said{News{What: NewsStopped, Why: reason}})
	}
	return append(append(acts, p.writeHead(now)...), Rejudge{})
}

// tryAgain says when a stopped partition is tried again: at the time that is set, or never while the facts are these.
func (p *Partition) tryAgain(final bool, now int64) {
	switch p.final = final || p.absent; {
	case p.final:
		p.retryAt = 0
	case p.retryAt == 0:
		p.retryAt = now + p.lim.StopRetry
	}
}

// release lets go of the bytes of everything queued and stamped. The units stay in the window: their sequences and
// spans are what a look is compared with.
func (p *Partition) release(acts []Action) []Action {
	for _, u := range p.window {
		acts = append(acts, Settled{Unit: u})
	}
	return p.unqueue(acts)
}

// unqueue drops what is queued; it is read again later.
func (p *Partition) unqueue(acts []Action) []Action {
	for _, pc := range p.queue {
		if !pc.Skip {
			acts = append(acts, Dropped{ID: pc.ID})
		}
	}
	p.queue = nil
	p.next = p.windowEnd()
	return acts
}

// letGo drops what is queued and reads no more; what is in flight is still settled.
func (p *Partition) letGo() []Action {
	if !p.opened {
		return nil
	}
	p.again = false
	return append(p.unqueue(nil), StopReading{})
}

// windowEnd is the source offset after everything that is stamped or settled.
func (p *Partition) windowEnd() offsetmap.SourceOffset {
	if n := len(p.window); n > 0 {
		return p.window[n-1].Next
	}
	if p.m == nil || p.state == Opening {
		return p.next
	}
	return p.m.Through()
}

// tick does what is due.
func (p *Partition) tick(now int64) []Action {
	var acts []Action
	switch p.state {
	case Stopped:
		if p.retryAt != 0 && now >= p.retryAt {
			acts = p.restart(now)
		}
	case Waiting:
		if now >= p.retryAt {
			acts = p.look(now)
		}
	case Live:
		if now-p.liveAt >= goesOnAfter && p.heard {
			acts = p.goesOn()
		}
		acts = append(acts, p.listen(now)...)
	case Opening, Heading, Fencing, Looking:
	}
	acts = append(acts, p.lasts(now)...)
	return append(acts, p.flush(now)...)
}

// restart tries a stopped partition again. Where units may stand on the target that were never acknowledged, it is fenced
// and looked at first.
func (p *Partition) restart(now int64) []Action {
	p.retryAt = 0
	if p.controls.Paused != "" && (!p.dirty || p.off) {
		return p.halt(p.controls.Paused, true, now)
	}
	if p.facts.NotYet != "" {
		acts := p.halt(p.facts.NotYet, false, now)
		p.retryAt = now + p.lim.StopRetry
		return acts
	}
	p.backs, p.refusals = 0, 0
	switch {
	case p.opened && p.anew():
		return p.beginAnew(now)
	case p.dirty:
		return p.fence(now)
	case !p.opened || p.reopen:
		return p.look(now)
	}
	p.unsent()
	if acts, passed := p.pass(now); passed {
		return acts
	}
	return p.goLive(now)
}

// unsent forgets units that were surely not appended: their sequences are still free.
func (p *Partition) unsent() {
	if len(p.window) > 0 {
		p.seq = p.window[0].Sequence
	}
	p.resume()
}

// resume forgets what was queued and stamped; it is read again from the map's end.
func (p *Partition) resume() {
	p.window, p.queue, p.dirty, p.off, p.again = nil, nil, false, false, false
	p.next = p.m.Through()
}

// goesOn says once that a partition is well again.
func (p *Partition) goesOn() []Action {
	if p.reason == "" || p.state != Live {
		return nil
	}
	was := p.reason
	p.reason, p.told, p.head.dirty = "", false, true
	return []Action{Said{News{What: NewsGoesOn, Why: was}}, Rejudge{}}
}
