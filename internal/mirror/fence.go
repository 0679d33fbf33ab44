package mirror

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
)

// coordinator is the lane's identity as the transaction coordinator knows it. Own fences raise its epoch above the one
// that most partitions are written in. A coordinator runs one transaction of an id at a time, so jobs that use it take
// turns.
type coordinator struct {
	turn sync.Mutex
	mu   sync.Mutex
	id   kafka.Identity
}

func (c *coordinator) get() kafka.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

func (c *coordinator) set(id kafka.Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

type (
	partFenced struct {
		part  *part
		core  *lane.Part
		epoch int16
		err   error
	}
	partLooked struct {
		part       *part
		core       *lane.Part
		landed     []lane.Landed
		start, end int64
		err        error
	}
	kept struct {
		epoch int16
		err   error
	}
)

// fenceOne raises the epoch and writes a marker to one partition, so that nothing of the old epoch can be appended
// there any more. Its neighbours keep epoch and sequences.
func (l *Lane) fenceOne(ctx context.Context, tp kafka.TP) (int16, error) {
	l.coord.turn.Lock()
	defer l.coord.turn.Unlock()
	if err := l.flow.target.Fenceable(ctx, tp); err != nil {
		return 0, err
	}
	txid := l.txid
	id, err := l.flow.target.BumpProducer(ctx, txid, txnTimeout, l.coord.get())
	if err != nil {
		return 0, err
	}
	if id.ProducerID != l.id.ProducerID {
		return 0, fmt.Errorf("the producer id changed from %d to %d: the lane must be taken over anew", l.id.ProducerID, id.ProducerID)
	}
	l.coord.set(id)
	_, refused, err := l.flow.target.Fence(ctx, txid, id, []kafka.TP{tp})
	if err != nil {
		return 0, err
	}
	if why := refused[tp]; why != nil {
		return 0, why
	}
	failpoint.Hit("after-fence")
	return id.Epoch, nil
}

func (l *Lane) fencePart(p *part) {
	core, tp := p.core, p.remoteTP()
	l.jobs.Go(func() error {
		epoch, err := l.fenceOne(l.jobsCtx, tp)
		l.post(partFenced{part: p, core: core, epoch: epoch, err: err})
		return nil
	})
}

func (l *Lane) partFenced(e partFenced) {
	p := e.part
	if p.core != e.core {
		return
	}
	l.hung(e.err)
	if e.err != nil {
		if isFenced(e.err) && l.gone == "" {
			l.gone = e.err.Error()
		}
		l.act(p, p.core.FenceFailed("fence the partition on the target: "+e.err.Error(), now()))
		return
	}
	l.log.Info("partition fenced to settle what is in doubt", "partition", p.TP.String(), "epoch", e.epoch)
	l.act(p, p.core.Fenced(e.epoch))
}

// lookPart reads the headers of what stands on the target from an offset on. The log stands still: the fence is
// complete.
func (l *Lane) lookPart(p *part, from int64) {
	core, tp, pid := p.core, p.remoteTP(), l.id.ProducerID
	l.jobs.Go(func() error {
		e := partLooked{part: p, core: core}
		e.landed, e.start, e.end, e.err = l.flow.look(l.jobsCtx, tp, from, pid)
		l.post(e)
		return nil
	})
}

func (f *Flow) look(ctx context.Context, tp kafka.TP, from, pid int64) (landed []lane.Landed, start, end int64, err error) {
	ends, failed := offsets(ctx, f.target, []kafka.TP{tp}, -1, false)
	starts, failedStart := offsets(ctx, f.target, []kafka.TP{tp}, -2, false)
	for _, e := range []error{failed[tp], failedStart[tp]} {
		if e != nil {
			return nil, 0, 0, e
		}
	}
	start, end = starts[tp], ends[tp]
	if max(from, start) >= end {
		return nil, start, end, nil
	}
	err = f.targetNet.Scan(ctx, tp, max(from, start), end, 0, func(v batch.View, _ bool) error {
		landed = append(landed, landedFrom(v, max(v.BaseOffset(), from), pid))
		return nil
	})
	return landed, start, end, err
}

func (l *Lane) partLooked(e partLooked) {
	p := e.part
	if p.core != e.core {
		return
	}
	if e.err != nil {
		l.act(p, p.core.FenceFailed("look at the target: "+e.err.Error(), now()))
		return
	}
	if p.step != live {
		return // stopped meanwhile for another reason: the next restart fences and looks anew
	}
	l.act(p, p.core.Looked(e.landed, e.end, now()))
	if n := p.core.Uncertain(); n > p.uncertain {
		p.uncertain = n
		l.log.Warn("what stood on the target was gone before it could be looked at: some records may be written twice", "partition", p.TP.String(), "at_most", n)
	}
	switch _, isStopped := p.core.Stopped(); {
	case isStopped:
	case p.reopen:
		// openAll looks at both ends before it goes on.
	default:
		l.goLive(p)
	}
}

// keepalive refreshes identity and ledger state before the target forgets them: plain batches never touch the
// coordinator, and a ledger without news would lose its producer state.
func (l *Lane) keepalive() {
	if l.draining || l.keeping || time.Since(l.keepAt) < l.flow.KeepaliveEvery {
		return
	}
	// A busy ledger always has something to send: from now on only what is in flight goes out.
	l.ledger.held = true
	if l.ledger.flight != nil {
		return
	}
	l.keepAt, l.keeping = time.Now(), true
	tp := l.ledger.tp
	l.jobs.Go(func() error {
		l.coord.turn.Lock()
		defer l.coord.turn.Unlock()
		id := l.coord.get()
		err := l.flow.target.Keepalive(l.jobsCtx, l.txid, id, tp)
		l.post(kept{epoch: id.Epoch, err: err})
		return nil
	})
}

// kept: once an own fence has raised the coordinator's epoch, a keepalive is the ledger's own fence too, so the ledger
// goes on in that epoch from sequence 0.
func (l *Lane) kept(e kept) {
	l.keeping = false
	l.hung(e.err)
	// After a failure whose marker may have been written all the same, the ledger's own epoch could be refused: it stays
	// held until a keepalive succeeds.
	l.ledger.held = e.err != nil && e.epoch != l.ledger.epoch
	switch {
	case e.err == nil:
		if e.epoch != l.ledger.epoch {
			l.ledger.epoch, l.ledger.seq = e.epoch, 0
		}
	case isFenced(e.err) && l.gone == "":
		l.gone = e.err.Error()
	default:
		l.log.Warn("keepalive on the target did not succeed, trying again", "error", e.err)
		l.keepAt = time.Now().Add(10*time.Second - l.flow.KeepaliveEvery)
	}
}
