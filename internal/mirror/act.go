package mirror

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/batch"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

func sourceOffset(o int64) offsetmap.SourceOffset { return offsetmap.SourceOffset(o) }

// advance lets the core do what it can now; each Prepare may make room for the next.
func (l *Lane) advance(p *part) {
	for p.step == live && l.ledger.fails < stalled {
		acts := p.core.Advance(now())
		if len(acts) == 0 {
			if p.again && p.core.Idle() {
				l.readOn(p)
			}
			return
		}
		l.act(p, acts)
	}
}

// act executes the core's actions.
func (l *Lane) act(p *part, acts []lane.Action) {
	for _, a := range acts {
		switch a := a.(type) {
		case lane.Prepare:
			l.prepare(p, a.Pieces)
		case lane.Send:
			l.send(p, a)
		case lane.Settled:
			if o := p.outs[a.Unit.ID]; o != nil {
				o.settled = true
				p.letGo(l.flow, a.Unit.ID)
			}
		case lane.Skipped:
			if pc := p.pieces[a.ID]; pc != nil {
				delete(p.pieces, a.ID)
				pc.buf.drop(l.flow)
			}
			p.dirty = true
		case lane.FencePart:
			p.feed.stop(l.flow)
			l.fencePart(p)
		case lane.Look:
			l.lookPart(p, a.From)
		case lane.Halt:
			l.stopped(p, a.Reason, a.RetryAt)
		case lane.GiveUp:
			if l.gone == "" {
				l.gone = a.Reason
			}
		}
	}
}

// send stamps and hands a unit to the transport. Without a valid lease nothing leaves (MR2); the unit comes back as if
// the target had been away and is tried again.
func (l *Lane) send(p *part, s lane.Send) {
	o := p.outs[s.Unit.ID]
	core, u := p.core, s.Unit
	o.inFlight++
	if !l.flow.lease.Valid() {
		l.post(answered{part: p, core: core, unit: u, result: wire.Result{Err: fmt.Errorf("%w: the lease of this process ran out", wire.ErrUnsent)}})
		return
	}
	if !o.stamped {
		o.stamped = true
		batch.Patch(o.bytes, batch.Stamp{ProducerID: l.id.ProducerID, Epoch: u.Epoch, Sequence: u.Sequence})
	}
	b := wire.Batch{TP: p.remoteTP(), TopicID: core.Map().Origin().TargetTopicID, Bytes: o.bytes, Done: func(r wire.Result) {
		l.post(answered{part: p, core: core, unit: u, result: r})
	}}
	if s.NotAfter != 0 {
		b.NotAfter = time.UnixMilli(s.NotAfter).Add(-failpoint.Skew()) // as now does it
	}
	l.flow.producer.Send(b)
}

// stopped notes that the core stopped: bytes are let go, the reason is shown, neighbours go on.
func (l *Lane) stopped(p *part, reason string, retryAt int64) {
	if p.said != reason {
		p.said, p.former = reason, ""
		l.log.Warn("partition stopped", "partition", p.TP.String(), "reason", reason)
	}
	p.step, p.reason, p.retryAt = halted, reason, retryAt
	if p.feed != nil {
		p.feed.stop(l.flow)
	}
	l.dropAll(p)
	l.writeHead(p, nil)
	l.translatePart(p)
}

// halt stops a partition for a reason that the lane itself found. Without retry it stays so until its facts change.
func (l *Lane) halt(p *part, reason string, retry bool) {
	if p.step == halted && p.reason == reason {
		return
	}
	if p.step == opening {
		// A job owns the map until its answer; the partition stops then.
		p.stopAfter = &stopLater{reason, retry}
		return
	}
	t := now()
	at := int64(0)
	if retry {
		at = t + l.flow.Limits.StopRetry
	}
	if p.core != nil {
		if _, already := p.core.Stopped(); !already {
			l.act(p, p.core.Stop(reason, t))
			p.retryAt = at
			return
		}
		p.core.Stop(reason, t)
	}
	l.stopped(p, reason, at)
}

// dropAll lets go of all fetched bytes; outputs that the transport may still write follow when it answers.
func (l *Lane) dropAll(p *part) {
	for id, pc := range p.pieces {
		delete(p.pieces, id)
		pc.buf.drop(l.flow)
	}
	for id, o := range p.outs {
		o.settled = true
		p.letGo(l.flow, id)
	}
}

// restart tries a stopped partition again.
func (l *Lane) restart(p *part) {
	p.retryAt = 0
	if p.NotYet != "" {
		l.halt(p, p.NotYet, true)
		p.retryAt = now() + l.flow.Limits.StopRetry
		return
	}
	if p.core == nil {
		p.step, p.reason = unopened, ""
		return
	}
	p.step, p.reason = live, ""
	if p.reopen && !p.core.Dirty() {
		return // openAll looks at both ends first
	}
	l.act(p, p.core.Restart())
	if !p.core.Busy() {
		l.goLive(p)
	}
}

// readOn makes sure that reading goes on where the core wants it. After a stop or a look that is below what was asked
// for before.
func (l *Lane) readOn(p *part) {
	if p.step != live || p.core.Busy() || l.draining {
		return
	}
	p.again, p.heard = false, false
	p.feed.start(l.flow, p.core.Next(), p.core.Map().LastEpoch())
	p.dirty, p.heardAt = true, now()
	l.advance(p)
}

// silence is how long a partition may bring nothing although the source is known to hold more, ms. A source that is away
// is heard of every ten seconds, and a target that keeps the flow's memory used up stops its partitions after half a minute:
// neither is silence.
const silence = 60_000

// listen starts reading again where a partition has nothing to do and hears nothing, although the source is known to hold
// more than it was given. That should not happen; a partition that stands still without a word must not be the result if
// it does.
func (l *Lane) listen(p *part, t int64) {
	end := p.sourceEnd
	if l.flow.Committed {
		end = p.sourceLSO
	}
	if l.draining || !p.core.Idle() || p.core.Busy() || end <= p.core.Next() || t-p.heardAt < silence {
		return
	}
	l.readAgain(p, "nothing came although the source holds more")
}

// readAgain is readOn for what should not happen: it says so, with what is needed to find out why.
func (l *Lane) readAgain(p *part, why string) {
	if p.step != live || p.core.Busy() || l.draining {
		return // the end of a fence or a look reads on
	}
	asked, held, paused := p.feed.state()
	l.log.Warn("reading starts again", "why", why, "partition", p.TP.String(), "next", p.core.Next(), "source_end", p.sourceEnd, "last_stable", p.sourceLSO,
		"asked", asked, "held", held, "paused", paused)
	l.readOn(p)
}

// observe takes the numbers that every fetch answer carries.
func (l *Lane) observe(p *part, e fetched) {
	if e.HighWatermark >= 0 {
		p.sourceEnd = e.HighWatermark
	}
	if e.LastStable >= 0 {
		p.sourceLSO = e.LastStable
	}
	if e.LogStart >= 0 {
		p.sourceStart = e.LogStart
	}
}

// diverged handles a truncated source log: an unclean election removed records that were mirrored already. The map
// forgets them as source records; on the target they stay, as records that only it has.
func (l *Lane) diverged(p *part, epoch int32, end int64) {
	l.log.Warn("source log was truncated", "partition", p.TP.String(), "leader_epoch", epoch, "end", end,
		"mirrored_to", int64(p.core.Map().Through()))
	l.halt(p, fmt.Sprintf("the source log was truncated to offset %d (unclean leader election): records up to %d exist on the target only; decide which side is right", end, p.core.Map().Through()), false)
}

// fetchFailed says what a fetch error means for the partition. Errors that pass by themselves are retried inside the
// fetcher and only shown.
func (l *Lane) fetchFailed(p *part, e fetched) {
	err := kerr.ErrorForCode(e.Code)
	if (errors.Is(err, kerr.OffsetOutOfRange) || err != nil && kafka.Classify(e.Code) == kafka.Corrupt) && l.frontFirst(p) {
		return
	}
	p.reopen = p.reopen || e.Code != 0 // ids and ends of both sides are looked at before it goes on
	switch {
	case e.Code == 0:
		p.unreadable = e.Err
	case errors.Is(err, kerr.OffsetOutOfRange):
		l.outOfRange(p, e)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		l.halt(p, fmt.Sprintf("not allowed: READ on topic %q is missing on the source", p.TP.Topic), true)
	case errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InconsistentTopicID):
		l.halt(p, "the source topic is gone", true)
	case kafka.Classify(e.Code) == kafka.Corrupt:
		l.halt(p, fmt.Sprintf("the source broker reports a damaged batch at offset %d", e.Offset), true)
	default:
		l.halt(p, fmt.Sprintf("read source offset %d: %v", e.Offset, err), true)
	}
}

// outOfRange: retention or DeleteRecords passed us (then records are lost for the mirror, which is said and kept in
// the map), or the log is shorter than it was. Both ends are asked for in a job; opening it again decides.
func (l *Lane) outOfRange(p *part, e fetched) {
	l.halt(p, fmt.Sprintf("source offset %d is out of range", e.Offset), true)
	p.retryAt = now()
	p.reopen = true
}
