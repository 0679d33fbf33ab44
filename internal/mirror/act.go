package mirror

import (
	"fmt"
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/events"
	"tidemark/internal/failpoint"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// step gives an event to a partition's core and does what it says.
func (l *Lane) step(p *part, e lane.Event) { l.act(p, p.core.Step(e, now())) }

// act executes the core's actions. Prepare, which asks back, is the last of them.
func (l *Lane) act(p *part, acts []lane.Action) {
	for _, a := range acts {
		switch a := a.(type) {
		case lane.Prepare:
			l.prepare(p, a)
		case lane.Send:
			l.send(p, a)
		case lane.Mirrored:
			l.mirrored(p, a)
		case lane.Settled:
			if o := p.outs[a.Unit.ID]; o != nil {
				o.settled = true
				p.letGo(l.flow, a.Unit.ID)
			}
		case lane.Dropped:
			if pc := p.pieces[a.ID]; pc != nil {
				delete(p.pieces, a.ID)
				pc.buf.drop(l.flow)
			}
		case lane.Read:
			p.feed.start(l.flow, a.Offset, a.Epoch)
		case lane.StopReading:
			p.feed.stop(l.flow)
		case lane.LookAtEnds:
			l.looks = append(l.looks, look{p, a.Again})
		case lane.FencePart:
			l.fencePart(p)
		case lane.Look:
			l.lookPart(p, a.From)
		case lane.WriteHead:
			l.writeHead(p, a)
		case lane.WriteBlock:
			l.ledger.add(l.blockKey(p, p.core.Map().Origin().Incarnation, a.Number), ledger.EncodeBlock(a.Data), nil)
		case lane.DropBlocks:
			for _, n := range a.Numbers {
				l.ledger.add(l.blockKey(p, a.Incarnation, n), nil, nil)
			}
		case lane.Rejudge:
			l.translatePart(p)
		case lane.Said:
			l.tell(p, a.News)
		case lane.GiveUp:
			l.lose(a.Reason)
		default:
			panic(fmt.Sprintf("mirror: unknown action %T", a))
		}
	}
}

// lose ends the lane: it is not ours any more, for the first reason that is given; an empty one is none.
func (l *Lane) lose(why string) {
	if l.gone == "" {
		l.gone = why
	}
}

// send stamps and hands a unit to the transport. Without a valid lease nothing leaves (MR2); the unit comes back as if
// the target had been away and is tried again.
func (l *Lane) send(p *part, s lane.Send) {
	o, u := p.outs[s.Unit.ID], s.Unit
	o.inFlight++
	if !l.flow.lease.Valid() {
		l.post(answered{part: p, unit: u, result: wire.Result{Err: fmt.Errorf("%w: the lease of this process ran out", wire.ErrUnsent)}})
		return
	}
	if !o.stamped {
		o.stamped = true
		batch.Patch(o.bytes, batch.Stamp{ProducerID: l.id.ProducerID, Epoch: u.Epoch, Sequence: u.Sequence})
	}
	b := wire.Batch{TP: p.remoteTP(), TopicID: p.core.Map().Origin().TargetTopicID, Bytes: o.bytes, Done: func(r wire.Result) {
		l.post(answered{part: p, unit: u, result: r})
	}}
	if s.NotAfter != 0 {
		b.NotAfter = time.UnixMilli(s.NotAfter).Add(-failpoint.Skew()) // as now does it
	}
	l.flow.producer.Send(b)
}

// mirrored counts a unit that is on the target, by its acknowledgement or by what a look found.
func (l *Lane) mirrored(p *part, m lane.Mirrored) {
	f := l.flow
	f.counters.Records.Add(int64(m.Unit.Count))
	f.counters.Bytes.Add(int64(m.Unit.Size))
	f.counters.Batches.Add(1)
	if m.Base < 0 {
		return
	}
	p.lastUp = m.Unit.Last()
	p.lastDown = m.Base + offsetmap.TargetOffset(m.Unit.Count) - 1
}

// tell publishes what the core says of a partition.
func (l *Lane) tell(p *part, n lane.News) {
	switch n.What {
	case lane.NewsStopped:
		l.sayOf(p, events.PartitionStopped, "reason", n.Why)
	case lane.NewsGoesOn:
		l.sayOf(p, events.PartitionGoesOn, "was", n.Why)
	case lane.NewsTwice:
		l.sayOf(p, events.RecordsTwice, "at_most", n.N)
	case lane.NewsUncertain:
		l.sayOf(p, events.RecordsUncertain, "at_most", n.N)
	case lane.NewsLost:
		l.sayOf(p, events.RecordsLost, "lost_at_most", n.N, "source_log_start", int64(p.core.Seen().SourceStart))
	case lane.NewsSkipped:
		l.sayOf(p, events.RecordsSkipped, "offsets", n.N, "go_on_at", int64(p.core.Next()))
	case lane.NewsAnew:
		l.sayOf(p, events.PartitionAnew, "from", n.N)
	case lane.NewsOthers:
		l.sayOf(p, events.OthersWrite, "remote", p.remoteTP().String(), "offsets", n.N)
	case lane.NewsReadAgain:
		asked, held, paused := p.feed.state()
		seen := p.core.Seen()
		l.sayOf(p, events.PartitionReadAgain, "why", n.Why, "next", n.N, "source_end", int64(seen.SourceEnd), "last_stable", int64(seen.SourceStable),
			"asked", int64(asked), "held", held, "paused", paused)
	case lane.NewsFenced:
		l.sayOf(p, events.PartitionFenced, "epoch", n.N)
	case lane.NewsLasts:
		l.sayOf(p, events.PartitionWaits, "what", n.Why, "since", time.UnixMilli(n.N).UTC().Format(time.RFC3339))
	}
}

// say publishes an event of the lane, with keys and values in turn.
func (l *Lane) say(k events.Kind, details ...any) {
	l.flow.events.Publish(events.Event{Kind: k, Lane: l.n, Details: events.Details(details...)})
}

// report tells the process what the lane is about while it does not run; empty: it runs.
func (l *Lane) report(what, why string) {
	l.flow.mu.Lock()
	l.flow.waits[l.n] = what
	l.flow.mu.Unlock()
	if l.flow.Report != nil {
		l.flow.Report(l.n, what, why)
	}
}

// sayOf publishes an event of a partition.
func (l *Lane) sayOf(p *part, k events.Kind, details ...any) {
	l.flow.events.Publish(events.Event{Kind: k, Lane: l.n, Partition: p.TP.String(), Details: events.Details(details...)})
}

// say publishes an event of the flow.
func (f *Flow) say(k events.Kind, details ...any) {
	f.events.Publish(events.Event{Kind: k, Lane: events.NoLane, Details: events.Details(details...)})
}
