package lane

import (
	"iter"
	"maps"
	"slices"

	"tidemark/internal/ledger"
)

// loop is the life of a crashOwner behind its take-over. What the driver pokes into the inbox stands for timers and for what
// the flow and the source bring.
func (o *crashOwner) loop() {
	for !o.turn() {
		switch {
		case len(o.inbox) > 0:
		case len(o.jobs) > 0:
			job := o.jobs[0]
			o.jobs, o.busy = o.jobs[1:], true
			job()
			o.busy = false
		default:
			o.waiting = true
			o.pause("waits")
			o.waiting = false
		}
	}
}

// turn is what the lane's goroutine does when it wakes up; true: the lane has ended.
func (o *crashOwner) turn() (ended bool) {
	for len(o.inbox) > 0 {
		do := o.inbox[0]
		o.inbox = o.inbox[1:]
		do()
	}
	o.kick()
	switch {
	case o.gone != "":
		o.w.say("%s is lost: %s", o.name, o.gone)
		return true
	case o.draining && o.drained():
		o.w.say("%s ends, released %v", o.name, o.released)
		return true
	}
	return false
}

func (o *crashOwner) post(do func()) { o.inbox = append(o.inbox, do) }

func (o *crashOwner) tick() {
	for _, p := range o.parts {
		o.step(p, Tick{})
	}
	o.chores()
}

func (o *crashOwner) drain() {
	o.draining = true
	for _, p := range o.parts {
		o.step(p, Drain{})
	}
}

// drained does the next step of the release.
func (o *crashOwner) drained() (ended bool) {
	o.chores()
	for _, p := range o.parts {
		o.act(p, p.core.Flush(o.w.now))
	}
	var cores iter.Seq[*Partition] = func(yield func(*Partition) bool) {
		for _, p := range o.parts {
			if !yield(p.core) {
				return
			}
		}
	}
	rest := Rest{LedgerIdle: o.ledger.Idle(), RowsIdle: true, Claimed: o.claimed, Unfenced: len(o.unfenced) > 0, Released: o.released}
	switch o.release.Next(cores, rest) {
	case ReleaseNothing, ReleaseDone, ReleaseUnclean:
		return true
	case ReleaseClaim:
		claim := ledger.Claim{ProducerID: o.coord.ProducerID, Epoch: o.coord.Epoch, Owner: o.name, Released: true}
		o.record(ledger.Key{Kind: ledger.KindClaim}, claim.Encode(), func() { o.released = true })
	case ReleaseWaits:
	}
	o.kick()
	return false
}

// keepaliveDue has time pass for the keepalive alone.
func (o *crashOwner) keepaliveDue() {
	o.upkeep.keepAt = o.w.now - o.upkeep.every
	o.chores()
}

// chores does what is due of Upkeep. A keepalive is a job: a fence of the ledger's partition alone.
func (o *crashOwner) chores() {
	due := o.upkeep.Due(o.ledger, maps.All(map[int32]*Journal{}), o.draining, o.w.now)
	if !slices.ContainsFunc(due, func(c Chore) bool { return c == Keepalive{} }) {
		return
	}
	o.jobs = append(o.jobs, func() {
		id := o.coord
		err := o.fence(id, o.w.ledger)
		o.post(func() {
			var out Outcome
			if err != nil {
				out = Outcome{Err: err.Error(), Fenced: true}
			}
			if gone := o.upkeep.Kept(o.ledger, id.Epoch, out, o.w.now); gone != "" {
				o.lose("keepalive: " + gone)
			}
		})
	})
}

// record queues a record of the ledger.
func (o *crashOwner) record(k ledger.Key, value []byte, done func()) {
	o.ledger.Add([]byte(k.String()), value, done, o.w.now)
}

// kick sends what the journal has to send.
func (o *crashOwner) kick() {
	if !o.leased() {
		return
	}
	f := o.ledger.Next(o.w.now)
	if f == nil {
		return
	}
	b := crashBatch{pid: o.id.ProducerID, epoch: f.Epoch, seq: f.Sequence}
	for _, r := range f.Records {
		b.recs = append(b.recs, crashRec{from: -1, name: r.Key, val: r.Value})
	}
	o.send(o.w.ledger, b, func(r Result) {
		was := o.ledger.Stalled()
		if why := o.ledger.Answered(f, r, o.w.now); why != "" {
			o.lose("ledger: " + why)
		}
		if o.ledger.Stalled() != was {
			o.hold(!was)
		}
	})
}

// hold tells the partitions that the ledger takes nothing, or takes records again.
func (o *crashOwner) hold(stalled bool) {
	for _, p := range o.parts {
		if p.held = stalled; stalled {
			o.step(p, Hold{})
		} else {
			o.step(p, GoOn{})
		}
	}
}

// send puts a request on the wire. Without a lease nothing leaves.
func (o *crashOwner) send(l *crashLog, b crashBatch, answer func(Result)) {
	post := func(r Result) {
		if !o.ended {
			o.post(func() { answer(r) })
		}
	}
	if !o.leased() {
		post(Result{Answer: NotSaved, Reason: "no lease"})
		return
	}
	o.w.say("%s sends to %s: epoch %d sequence %d, %d records", o.name, l.name, b.epoch, b.seq, len(b.recs))
	o.w.wire = append(o.w.wire, &crashRequest{owner: o, log: l, batch: b, born: o.w.now, answer: post})
}
