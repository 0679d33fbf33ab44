package lane

import "tidemark/internal/ledger"

// The life of a crashOwner behind its take-over: internal/mirror's lane.go, release.go, journal.go and the keepalive.

// loop is Lane.loop; what the driver pokes into the inbox stands for timers and fetch answers.
func (o *crashOwner) loop() {
	for {
		for len(o.inbox) > 0 {
			do := o.inbox[0]
			o.inbox = o.inbox[1:]
			do()
		}
		o.openAll()
		o.ledger.kick()
		if o.gone != "" {
			o.w.say("%s is lost: %s", o.name, o.gone)
			return
		}
		if o.draining && o.drained() {
			o.w.say("%s ends, released %v", o.name, o.released)
			return
		}
		if len(o.inbox) > 0 {
			continue
		}
		o.waiting = true
		o.pause("waits")
		o.waiting = false
	}
}

// tick is Lane.tick.
func (o *crashOwner) tick() {
	for _, p := range o.parts {
		switch {
		case p.step == crashHalted && p.retryAt != 0 && o.w.now >= p.retryAt:
			o.restart(p)
		case p.step == crashLive:
			if at := p.core.WakeAt(); at != 0 && o.w.now >= at {
				o.advance(p)
			}
		}
	}
	o.ledger.tick()
}

// drain is Lane.drain.
func (o *crashOwner) drain() {
	o.draining = true
	for _, p := range o.parts {
		if p.core != nil {
			for _, id := range p.core.Drain() {
				delete(p.pieces, id)
			}
		}
	}
}

// drained is Lane.drained.
func (o *crashOwner) drained() bool {
	for _, p := range o.parts {
		switch {
		case p.core == nil:
		case !p.core.Clean():
			if p.step != crashHalted {
				return false
			}
			o.unclean = true
		case p.dirty && p.step == crashLive:
			o.writeHead(p, nil)
		}
	}
	o.ledger.kick()
	switch {
	case !o.ledger.idle():
		return false
	case !o.claimed || o.unclean || len(o.unfenced) > 0:
		return true
	case !o.releasing:
		o.releasing = true
		claim := ledger.Claim{ProducerID: o.coord.ProducerID, Epoch: o.coord.Epoch, Owner: o.name, Released: true}
		o.ledger.add(ledger.Key{Kind: ledger.KindClaim}, claim.Encode(), func() { o.released = true })
		o.ledger.kick()
		return false
	}
	return o.released
}

// keepalive is Lane.keepalive and kept.
func (o *crashOwner) keepalive() {
	if o.draining || o.ledger.flight != nil {
		return
	}
	o.ledger.held = true
	id := o.coord
	err := o.fence(id, o.w.ledger)
	o.ledger.held = err != nil && id.Epoch != o.ledger.epoch
	switch {
	case err == nil && id.Epoch != o.ledger.epoch:
		o.ledger.epoch, o.ledger.seq = id.Epoch, 0
	case err != nil && o.gone == "":
		o.gone = "keepalive: " + err.Error()
	}
}

// crashJournal is journal of internal/mirror.
type crashJournal struct {
	o       *crashOwner
	epoch   int16
	seq     int32
	pending []crashEntry
	flight  []crashEntry
	again   bool
	held    bool
}

type crashEntry struct {
	rec  crashRec
	done func()
}

func (j *crashJournal) add(k ledger.Key, value []byte, done func()) {
	j.pending = append(j.pending, crashEntry{crashRec{from: -1, name: []byte(k.String()), val: value}, done})
}

func (j *crashJournal) idle() bool { return len(j.flight) == 0 && len(j.pending) == 0 }

func (j *crashJournal) kick() {
	if len(j.flight) > 0 || len(j.pending) == 0 || j.held || !j.o.leased() {
		return
	}
	j.flight, j.pending = j.pending, nil
	j.send()
}

func (j *crashJournal) tick() {
	if j.again && j.o.leased() {
		j.again = false
		j.send()
	}
}

func (j *crashJournal) send() {
	fl := j.flight
	b := crashBatch{pid: j.o.id.ProducerID, epoch: j.epoch, seq: j.seq}
	for _, e := range fl {
		b.recs = append(b.recs, e.rec)
	}
	j.o.send(j.o.w.ledger, b, func(r Result) {
		if len(j.flight) == 0 || &j.flight[0] != &fl[0] {
			return
		}
		switch r.Answer {
		case Acked:
			j.seq += int32(len(fl))
			j.flight = nil
			for _, e := range fl {
				if e.done != nil {
					e.done()
				}
			}
		case NotSaved, InDoubt, Refused: // Refused is not made up for the ledger
			j.again = true
		default:
			j.o.gone = "ledger: " + r.Reason
		}
	})
}

// send puts a request on the wire. Without a lease nothing leaves.
func (o *crashOwner) send(l *crashLog, b crashBatch, answer func(Result)) {
	post := func(r Result) {
		if !o.ended {
			o.inbox = append(o.inbox, func() { answer(r) })
		}
	}
	if !o.leased() {
		post(Result{Answer: NotSaved, Reason: "no lease"})
		return
	}
	o.w.say("%s sends to %s: epoch %d sequence %d, %d records", o.name, l.name, b.epoch, b.seq, len(b.recs))
	o.w.wire = append(o.w.wire, &crashRequest{owner: o, log: l, batch: b, born: o.w.now, answer: post})
}
