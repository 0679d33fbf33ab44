package lane

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// One partition of a crashOwner: internal/mirror's open.go, act.go, intake.go, answers.go, fence.go and heads.go.

// openAll is Lane.openAll.
func (o *crashOwner) openAll() {
	if o.draining {
		return
	}
	for _, p := range o.parts {
		if p.step == crashUnopened || p.step == crashLive && p.reopen && !p.settling() {
			o.open(p)
		}
	}
}

// settling is part.settling.
func (p *crashPart) settling() bool {
	_, stopped := p.core.Stopped()
	return p.core.Busy() && !stopped
}

// open is openOne and what Lane.opened makes of its answer.
func (o *crashOwner) open(p *crashPart) {
	m := p.loaded
	if p.core != nil {
		m = p.core.Map()
	}
	epoch := o.id.Epoch
	if o.unfenced[p.crashPair] {
		e, err := o.fenceOne(p)
		if err != nil {
			if errors.Is(err, errCrashFenced) {
				o.gone = err.Error()
			}
			o.halt(p, err.Error())
			return
		}
		epoch = e
	}
	out := o.settle(p, m)
	if out.reason != "" {
		if p.core == nil {
			p.step = crashUnopened
		}
		o.halt(p, out.reason)
		return
	}
	p.targetStart = out.targetStart
	if out.inexact > 0 {
		o.w.choices++
		o.w.reported += out.inexact
		o.w.say("%s: %s is not exact, at most %d twice", o.name, p.target.name, out.inexact)
	}
	delete(o.unfenced, p.crashPair)
	if p.core == nil {
		p.core = NewPart(o.lim, out.m, epoch)
		p.loaded, p.reopen = nil, false
		o.w.passed(p.crashPair, p.core.Map())
	}
	if p.reopen {
		p.reopen, p.step = false, crashLive
		o.act(p, p.core.Restart())
		if p.core.Busy() {
			return
		}
	}
	o.goLive(p)
}

// goLive is Lane.goLive.
func (o *crashOwner) goLive(p *crashPart) {
	p.step, p.reason, p.retryAt = crashHeading, "", 0
	o.writeHead(p, func() {
		if p.step == crashHeading {
			p.step, p.dirty = crashLive, true
			o.advance(p)
		}
	})
}

// fetch is one answer of the fetcher, Lane.intake and admit. It holds n batches.
func (o *crashOwner) fetch(p *crashPart, n int) {
	if p.step != crashLive || o.draining || p.core.Busy() {
		return
	}
	if p.source.start > p.core.Next() {
		p.reopen = true // fetchFailed and outOfRange
		o.halt(p, fmt.Sprintf("source offset %d is out of range", p.core.Next()))
		p.retryAt = o.w.now
		return
	}
	for _, b := range p.source.batches {
		if b.removed || b.next <= p.core.Next() || n == 0 {
			continue
		}
		n--
		pc := Piece{First: p.core.Next(), Next: b.next, Size: 100, MaxTimestamp: b.ts, Alone: !o.w.merges}
		o.ids++
		pc.ID = o.ids
		var recs []crashRec
		for i, r := range b.recs {
			if !b.blank && !b.gone[i] && r.offset >= pc.First {
				recs = append(recs, r)
			}
		}
		pc.Count = int32(len(recs))
		pc.Skip = len(recs) == 0
		if p.core.Accept(pc) && !pc.Skip {
			p.pieces[pc.ID] = recs
		}
	}
	o.advance(p)
}

// advance is Lane.advance.
func (o *crashOwner) advance(p *crashPart) {
	for p.step == crashLive {
		acts := p.core.Advance(o.w.now)
		if len(acts) == 0 {
			break
		}
		o.act(p, acts)
	}
	if p.core != nil {
		o.w.passed(p.crashPair, p.core.Map())
	}
}

// act is Lane.act.
func (o *crashOwner) act(p *crashPart, acts []Action) {
	for _, a := range acts {
		switch a := a.(type) {
		case Prepare:
			o.prepare(p, a.Pieces)
		case Send:
			o.sendUnit(p, a)
		case Settled:
			delete(p.outs, a.Unit.ID)
		case Skipped:
			delete(p.pieces, a.ID)
			p.dirty = true
		case FencePart:
			o.fencePart(p)
		case Look:
			o.look(p, a.From)
		case Halt:
			o.stopped(p, a.Reason, a.RetryAt)
		case GiveUp:
			if o.gone == "" {
				o.gone = a.Reason
			}
		}
	}
}

// prepare is Lane.prepare: the pieces as one output, or as two where the target takes only small batches.
func (o *crashOwner) prepare(p *crashPart, ids []uint64) {
	var recs []crashRec
	ts := int64(-1)
	for _, id := range ids {
		recs = append(recs, p.pieces[id]...)
		for _, b := range p.source.batches {
			if got := p.pieces[id]; len(got) > 0 && b.base <= got[0].offset && got[0].offset < b.next {
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
		out := Output{ID: o.ids, Count: int32(len(recs)), Size: 100, MaxTimestamp: ts, Next: recs[len(recs)-1].offset + 1}
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
	outs[len(outs)-1].Next = p.core.QueuedNext(len(ids))
	o.act(p, p.core.Prepared(len(ids), outs, o.w.now))
}

// sendUnit is Lane.send, and Lane.answer for what comes back.
func (o *crashOwner) sendUnit(p *crashPart, s Send) {
	core, u := p.core, s.Unit
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
	}
	o.send(p.target, *b, func(r Result) {
		if p.core == core {
			o.act(p, core.Answered(u, r, o.w.now))
			p.dirty = true
			o.advance(p)
		}
	})
}

// fencePart is Lane.fencePart and partFenced.
func (o *crashOwner) fencePart(p *crashPart) {
	epoch, err := o.fenceOne(p)
	if err != nil {
		if errors.Is(err, errCrashFenced) && o.gone == "" {
			o.gone = err.Error()
		}
		o.act(p, p.core.FenceFailed(err.Error(), o.w.now))
		return
	}
	o.act(p, p.core.Fenced(epoch))
}

// look is Flow.look and Lane.partLooked.
func (o *crashOwner) look(p *crashPart, from int64) {
	o.pause("looks at %s from %d", p.target.name, from)
	if o.w.chance(40) {
		o.act(p, p.core.FenceFailed("look at the target: time-out", o.w.now))
		return
	}
	var landed []Landed
	for _, b := range p.target.scan(max(from, p.target.start)) {
		base := max(b.base, from)
		landed = append(landed, Landed{Base: base, Count: b.end - base, Ours: b.pid == o.id.ProducerID && !b.marker, Marker: b.marker, Epoch: b.epoch, Sequence: b.seq})
	}
	if p.step != crashLive {
		return
	}
	o.act(p, p.core.Looked(landed, p.target.end, o.w.now))
	if n := p.core.Uncertain(); n > p.uncertain {
		o.w.reported += n - p.uncertain
		o.w.choices++
		p.uncertain = n
		o.w.say("%s: %s was gone before the look, at most %d twice", o.name, p.target.name, n)
	}
	o.w.passed(p.crashPair, p.core.Map())
	if _, stopped := p.core.Stopped(); !stopped && !p.reopen {
		o.goLive(p)
	}
}

// stopped is Lane.stopped.
func (o *crashOwner) stopped(p *crashPart, reason string, retryAt int64) {
	o.w.say("%s stops %s: %s", o.name, p.target.name, reason)
	p.step, p.reason, p.retryAt = crashHalted, reason, retryAt
	clear(p.pieces)
	clear(p.outs)
	o.writeHead(p, nil)
}

// halt is Lane.halt with retry.
func (o *crashOwner) halt(p *crashPart, reason string) {
	if p.step == crashHalted && p.reason == reason {
		return
	}
	at := o.w.now + o.lim.StopRetry
	if p.core != nil {
		if _, already := p.core.Stopped(); !already {
			o.act(p, p.core.Stop(reason, o.w.now))
			p.retryAt = at
			return
		}
		p.core.Stop(reason, o.w.now)
	}
	o.stopped(p, reason, at)
}

// restart is Lane.restart.
func (o *crashOwner) restart(p *crashPart) {
	p.retryAt = 0
	if p.core == nil {
		p.step, p.reason = crashUnopened, ""
		return
	}
	p.step, p.reason = crashLive, ""
	if p.reopen && !p.core.Dirty() {
		return
	}
	o.act(p, p.core.Restart())
	if !p.core.Busy() {
		o.goLive(p)
	}
}

// writeHead is Lane.writeHead and writeStop.
func (o *crashOwner) writeHead(p *crashPart, acked func()) {
	h := ledger.Head{Topic: p.key().Topic, Partition: p.n, RemoteTopic: "r", ProducerID: -1, Epoch: -1, SourceEnd: -1, At: time.UnixMilli(o.w.now)}
	switch {
	case p.core != nil:
		h.ProducerID, h.Map = o.id.ProducerID, p.core.Map().AppendTail(nil)
		h.Epoch, h.Sequence = p.core.Anchor()
	case p.head != nil:
		h = *p.head
	}
	if p.step == crashHalted {
		h.State, h.Reason = ledger.Stopped, p.reason
	}
	p.dirty = false
	p.headFlight++
	o.ledger.add(ledger.Key{Kind: ledger.KindHead, Topic: h.Topic, Partition: h.Partition}, h.Encode(), func() {
		p.headFlight--
		if acked != nil {
			acked()
		}
	})
}

// flush is Lane.flushIfDue for a head that is due. With seal the open runs become a block first, as Lane.seal does it.
func (o *crashOwner) flush(p *crashPart, seal bool) {
	if p.step != crashLive || !p.dirty || p.headFlight > 0 {
		return
	}
	m := p.core.Map()
	if seal {
		if b, ok := m.Seal(); ok {
			o.ledger.add(p.blockKey(b.Number), ledger.EncodeBlock(b.Data), nil)
		}
	}
	o.writeHead(p, nil)
}

func (p *crashPart) blockKey(n uint32) ledger.Key {
	return ledger.Key{Kind: ledger.KindBlock, Topic: p.key().Topic, Partition: p.n, Incarnation: p.core.Map().Origin().Incarnation, Block: n}
}

// trim is Lane.trim.
func (o *crashOwner) trim(p *crashPart) {
	if p.core == nil || p.step != crashLive || p.target.start <= p.trimmedTo {
		return
	}
	p.trimmedTo = p.target.start
	dropped := p.core.Map().TrimTarget(offsetmap.TargetOffset(p.trimmedTo))
	if len(dropped) > 0 {
		o.writeHead(p, func() {
			for _, n := range slices.Clone(dropped) {
				o.ledger.add(p.blockKey(n), nil, nil)
			}
		})
	}
}
