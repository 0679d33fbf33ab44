package lane

import (
	"errors"
	"fmt"
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// crashPart is one partition of a crashOwner: the world's side of a Partition, as internal/mirror has it.
type crashPart struct {
	*crashPair
	core    *Partition
	head    *ledger.Head // as it was in the ledger; nil if there was none
	facts   Facts
	pieces  map[uint64][]crashRec
	outs    map[uint64]*crashBatch
	stamped map[uint64]bool
	reading bool
	held    bool  // the ledger takes nothing, as it was told
	asked   int64 // the offset to be fetched from next
	round   int   // of own fences and looks: only the last one's answer counts

	uncertain int64 // as it was said
}

// step gives an event to the partition and does what it says.
func (o *crashOwner) step(p *crashPart, e Event) {
	looks, before := p.core.Is(Opening), p.mapSize()
	acts := p.core.Step(e, o.w.now)
	if _, tick := e.(Tick); o.w.told && (!tick || len(acts) > 0) {
		o.w.say("%s: %s: %s, then %s", o.name, p.target.name, e, p.core.state)
	}
	if looks && p.core.Is(Opening) && before != p.mapSize() {
		o.w.fail("%s: %s changes the map that a look has", p.target.name, e)
	}
	if c := p.core; c.Is(Stopped) && c.final == (c.retryAt != 0) {
		o.w.fail("%s: %s: final %t, tried again at %d", p.target.name, e, c.final, c.retryAt)
	}
	o.act(p, acts)
}

// mapSize is what changes with every write to a partition's map.
func (p *crashPart) mapSize() (size [3]int64) {
	if m := p.core.Map(); m != nil {
		size = [3]int64{int64(m.Through()), int64(m.TargetEnd()), int64(m.OpenSize())}
	}
	return size
}

// act executes actions.
func (o *crashOwner) act(p *crashPart, acts []Action) {
	for i, a := range acts {
		switch a := a.(type) {
		case Prepare:
			if i != len(acts)-1 || p.held || o.draining {
				o.w.fail("%s: Prepare, action %d of %d, held %t, draining %t", p.target.name, i+1, len(acts), p.held, o.draining)
			}
			o.prepare(p, a)
		case Send:
			o.sendUnit(p, a)
		case Settled:
			delete(p.outs, a.Unit.ID)
		case Dropped:
			delete(p.pieces, a.ID)
		case Read:
			p.reading, p.asked = true, int64(a.Offset)
		case StopReading:
			p.reading = false
		case LookAtEnds:
			o.jobs = append(o.jobs, o.lookAtEnds(p, a.Again))
		case FencePart:
			o.jobs = append(o.jobs, o.fencePart(p))
		case Look:
			o.jobs = append(o.jobs, o.look(p, int64(a.From)))
		case WriteHead:
			o.writeHead(p, a)
		case WriteBlock:
			o.record(p.blockKey(p.core.Map().Origin().Incarnation, a.Number), ledger.EncodeBlock(a.Data), nil)
		case DropBlocks:
			for _, n := range a.Numbers {
				o.record(p.blockKey(a.Incarnation, n), nil, nil)
			}
		case Mirrored:
			p.mirrored(o.w, a)
		case Said:
			o.heard(p, a.News)
		case GiveUp:
			o.lose(a.Reason)
		case Rejudge:
		}
	}
	if m := p.core.Map(); p.core.Opened() && !p.core.Is(Opening) {
		o.w.passed(p.crashPair, m)
	}
	o.w.quietly(o, p)
}

// heard counts what was announced.
func (o *crashOwner) heard(p *crashPart, n News) {
	o.w.say("%s: %s: %s", o.name, p.target.name, n)
	switch n.What {
	case NewsTwice:
		o.w.reported += n.N
		o.w.choices++
	case NewsUncertain:
		o.w.reported += n.N - p.uncertain
		o.w.choices++
		p.uncertain = n.N
	case NewsReadAgain:
		o.w.fail("%s: %s", p.target.name, n)
	case NewsStopped, NewsGoesOn, NewsLost, NewsOthers, NewsFenced, NewsLasts, NewsSkipped, NewsAnew:
	}
}

// mirrored checks what is said of a unit's place.
func (p *crashPart) mirrored(w *crashWorld, a Mirrored) {
	at := a.Base
	for _, s := range a.Unit.Spans {
		for i := range int64(s.Count) {
			if a.Base >= 0 && !p.target.copied(s.Offset+i, int64(at)) {
				w.fail("record %d of %s is said to be at %d of %s", s.Offset+i, p.source.name, at, p.target.name)
			}
			at++
		}
	}
}

// fetch is one answer of the source: n batches, or what stands in front of a damaged one.
func (o *crashOwner) fetch(p *crashPart, n int) {
	if !p.reading {
		return
	}
	if p.source.start > p.asked {
		o.step(p, ReadFailed{Reason: fmt.Sprintf("source offset %d is out of range", p.asked), Front: true, Now: true})
		return
	}
	got := Fetched{Offset: offsetmap.SourceOffset(p.asked), Source: Seen{offsetmap.SourceOffset(p.source.start), offsetmap.SourceOffset(p.source.end), offsetmap.SourceOffset(p.source.end), -1}}
	until, limited := p.core.Controls().Until(offsetmap.SourceOffset(p.asked))
	for _, b := range p.source.batches {
		if b.removed || b.next <= p.asked || n == 0 {
			continue
		}
		if limited && p.asked >= int64(until) {
			break
		}
		n--
		if b.damaged {
			got.Bad = fmt.Sprintf("damaged batch at offset %d", b.base)
			break
		}
		o.ids++
		pc := Piece{ID: o.ids, First: offsetmap.SourceOffset(p.asked), Next: offsetmap.SourceOffset(b.next), Base: offsetmap.SourceOffset(b.base), Size: 100, MaxTimestamp: b.ts, Alone: !o.w.merges}
		if limited {
			pc.Next = min(pc.Next, until)
		}
		p.asked = int64(pc.Next)
		var recs []crashRec
		for i, r := range b.recs {
			if !b.blank && !b.gone[i] && offsetmap.SourceOffset(r.offset) >= pc.First && offsetmap.SourceOffset(r.offset) < pc.Next {
				recs = append(recs, r)
			}
		}
		pc.Count, pc.Skip = int32(len(recs)), len(recs) == 0
		if !pc.Skip {
			p.pieces[pc.ID] = recs
		}
		got.Pieces = append(got.Pieces, pc)
	}
	o.step(p, got)
}

// prepare makes one output of the pieces, or two where the target takes only small batches.
func (o *crashOwner) prepare(p *crashPart, a Prepare) {
	var recs []crashRec
	ts := int64(-1)
	for _, id := range a.Pieces {
		got := p.pieces[id]
		if len(got) == 0 {
			o.w.fail("%s prepares a piece whose bytes are gone", o.name)
			return
		}
		recs = append(recs, got...)
		for _, b := range p.source.batches {
			if b.base <= got[0].offset && got[0].offset < b.next {
				ts = max(ts, b.ts)
			}
		}
		delete(p.pieces, id)
	}
	parts := [][]crashRec{recs}
	if o.w.split && len(recs) > 2 {
		parts = [][]crashRec{recs[:len(recs)/2], recs[len(recs)/2:]}
	}
	var outs []Output
	for _, recs := range parts {
		o.ids++
		out := Output{ID: o.ids, Count: int32(len(recs)), Size: 100, MaxTimestamp: ts, Next: offsetmap.SourceOffset(recs[len(recs)-1].offset + 1)}
		for _, r := range recs {
			if n := len(out.Spans); n > 0 && out.Spans[n-1].Offset+int64(out.Spans[n-1].Count) == r.offset {
				out.Spans[n-1].Count++
			} else {
				out.Spans = append(out.Spans, batch.Span{Offset: r.offset, Count: 1})
			}
		}
		p.outs[out.ID] = &crashBatch{ts: ts, recs: recs}
		outs = append(outs, out)
	}
	outs[len(outs)-1].Next = p.core.QueuedNext(a.N)
	o.step(p, Prepared{N: a.N, Outs: outs})
}

// sendUnit stamps a unit and puts it on the wire.
func (o *crashOwner) sendUnit(p *crashPart, s Send) {
	u := s.Unit
	b := p.outs[u.ID]
	if b == nil {
		o.w.fail("%s sends a unit whose bytes are gone", o.name)
		return
	}
	if stamped := p.stamped[u.ID]; stamped != s.Again && o.leased() || stamped && (b.epoch != u.Epoch || b.seq != u.Sequence) {
		o.w.fail("%s sends unit %d again %v, stamped %v as %d/%d, now %d/%d", o.name, u.ID, s.Again, stamped, b.epoch, b.seq, u.Epoch, u.Sequence)
	}
	if o.leased() {
		p.stamped[u.ID] = true
		b.pid, b.epoch, b.seq = o.id.ProducerID, u.Epoch, u.Sequence
		o.w.headed(p.crashPair, o.id.ProducerID, u.Epoch)
	}
	o.send(p.target, *b, func(r Result) { o.step(p, Answered{u, r}) })
}

// fencePart is the job of a partition's own fence.
func (o *crashOwner) fencePart(p *crashPart) func() {
	p.round++
	round := p.round
	return func() {
		epoch, err := o.fenceOne(p)
		o.post(func() {
			if errors.Is(err, errCrashFenced) {
				o.lose(err.Error())
			}
			switch {
			case round != p.round:
			case err != nil:
				o.step(p, FenceFailed{err.Error()})
			default:
				o.step(p, FenceDone{epoch})
			}
		})
	}
}

// look is the job of the look behind it.
func (o *crashOwner) look(p *crashPart, from int64) func() {
	p.round++
	round := p.round
	return func() {
		o.pause("looks at %s from %d", p.target.name, from)
		var answer Event
		if o.w.chance(40) {
			answer = FenceFailed{"look at the target: time-out"}
		} else {
			l := Looked{End: offsetmap.TargetOffset(p.target.end)}
			for _, b := range p.target.scan(max(from, p.target.start)) {
				l.Landed = append(l.Landed, b.landed(max(b.base, from), o.id.ProducerID))
			}
			answer = l
		}
		o.post(func() {
			if round == p.round {
				o.step(p, answer)
			}
		})
	}
}

// writeHead queues the head. Of a partition that was not opened everything but the reason is the former owner's.
func (o *crashOwner) writeHead(p *crashPart, a WriteHead) {
	h := ledger.Head{Topic: p.key().Topic, Partition: p.n, RemoteTopic: "r", ProducerID: -1, Epoch: -1, SourceEnd: -1}
	switch {
	case a.Opened:
		h.ProducerID, h.Epoch, h.Sequence = o.id.ProducerID, a.Epoch, a.Seq
		h.Map, h.SourceEnd = p.core.Map().AppendTail(nil), p.core.Seen().SourceEnd
	case p.head != nil:
		h = *p.head
	}
	h.State, h.Reason, h.At = ledger.Running, "", time.UnixMilli(o.w.now)
	switch {
	case a.Looking:
		h.State, h.Reason = ledger.Stopped, ledger.Waits(a.Reason)
	case a.Reason != "":
		h.State, h.Reason = ledger.Stopped, a.Reason
	}
	o.record(ledger.Key{Kind: ledger.KindHead, Topic: h.Topic, Partition: h.Partition}, h.Encode(), func() { o.step(p, HeadAcked{a.N}) })
}

// flush writes a head at an odd moment. With seal the open runs become a block first, though they are few.
func (o *crashOwner) flush(p *crashPart, seal bool) {
	if !p.core.Is(Live) || !p.core.head.dirty {
		return
	}
	if seal {
		if b, ok := p.core.Map().Seal(); ok {
			o.record(p.blockKey(p.core.Map().Origin().Incarnation, b.Number), ledger.EncodeBlock(b.Data), nil)
		}
	}
	o.act(p, p.core.Flush(o.w.now))
}

func (p *crashPart) blockKey(incarnation, n uint32) ledger.Key {
	return ledger.Key{Kind: ledger.KindBlock, Topic: p.key().Topic, Partition: p.n, Incarnation: incarnation, Block: n}
}
