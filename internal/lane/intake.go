package lane

// fetched queues what an answer of the source brought. Only what continues exactly where the partition stands counts: an
// answer from before a restart or a look would make it pass over what lies between, or have it twice.
func (p *Partition) fetched(e Fetched, now int64) []Action {
	if !p.Reads() || p.again {
		return drop(e.Pieces)
	}
	if e.Offset != p.next {
		return append(drop(e.Pieces), p.readAgain("the answer does not follow what was taken before", now)...)
	}
	p.heard, p.heardAt = true, now
	p.observe(e.Source)
	var acts []Action
	for _, pc := range e.Pieces {
		if !p.accept(pc) {
			acts = append(acts, drop([]Piece{pc})...)
		}
	}
	if p.decides() {
		p.again = true
		return append(acts, StopReading{})
	}
	switch {
	case e.Bad != "":
		return append(acts, p.ahead(func() []Action { return p.stop(e.Bad, false, now) })...)
	case e.Partial:
		return append(acts, Read{Offset: p.next, Epoch: -1})
	}
	return acts
}

func drop(pieces []Piece) (acts []Action) {
	for _, pc := range pieces {
		if !pc.Skip {
			acts = append(acts, Dropped{ID: pc.ID})
		}
	}
	return acts
}

// accept queues a piece. Pieces without data that follow each other are one: behind a unit in flight they would pile up.
func (p *Partition) accept(pc Piece) bool {
	if pc.First != p.next {
		return false
	}
	if pc.LeaderEpoch >= 0 {
		p.m.NoteEpoch(pc.LeaderEpoch, max(pc.First, pc.Base))
	}
	p.next = pc.Next
	if n := len(p.queue); n > 0 && pc.Skip && p.queue[n-1].Skip {
		p.queue[n-1].Next = pc.Next
		return true
	}
	p.queue = append(p.queue, pc)
	return true
}

// observe takes the boundaries that an answer tells.
func (p *Partition) observe(s Seen) {
	if s.SourceEnd >= 0 {
		p.seen.SourceEnd = s.SourceEnd
	}
	if s.SourceStable >= 0 {
		p.seen.SourceStable = s.SourceStable
	}
	if s.SourceStart >= 0 {
		p.seen.SourceStart = s.SourceStart
	}
}

// ahead has what is queued and on its way go to the target before the partition is read again from there: a stop would
// throw it away, and so would each later try, whose answer brings both again. Where nothing is, it stops.
func (p *Partition) ahead(stop func() []Action) []Action {
	if p.Idle() {
		return stop()
	}
	p.again = true
	return []Action{StopReading{}}
}

func (p *Partition) readFailed(e ReadFailed, now int64) []Action {
	if !p.Reads() {
		return nil
	}
	p.heard, p.heardAt = false, now
	stop := func() []Action {
		p.reopen = p.reopen || !e.Final // ids and ends of both sides are looked at before it goes on
		acts := p.stop(e.Reason, e.Final, now)
		if e.Now {
			p.retryAt = now
		}
		return acts
	}
	if e.Front {
		return p.ahead(stop)
	}
	return stop()
}

// listen starts reading again where a partition has nothing to do and hears nothing, although the source is known to hold
// more than it was given. That should not happen; a partition that stands still without a word must not be the result if
// it does. A source that is away is heard of every ten seconds, and a target that keeps the flow's memory used up stops its
// partitions after half a minute: neither is silence.
func (p *Partition) listen(now int64) []Action {
	end := p.seen.SourceEnd
	if p.lim.Committed {
		end = p.seen.SourceStable
	}
	if !p.Reads() || !p.Idle() || end <= p.next || now-p.heardAt < silence {
		return nil
	}
	return p.readAgain("nothing came although the source holds more", now)
}

// readAgain is readOn for what should not happen: it says so.
func (p *Partition) readAgain(why string, now int64) []Action {
	return append([]Action{Said{News{What: NewsReadAgain, Why: why, N: int64(p.next)}}}, p.readOn(now)...)
}
