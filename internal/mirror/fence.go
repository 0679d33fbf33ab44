package mirror

import (
	"context"
	"fmt"
	"sync"

	"tidemark/internal/batch"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
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
		round int
		epoch int16
		err   error
	}
	partLooked struct {
		part   *part
		round  int
		landed []lane.Landed
		end    offsetmap.TargetOffset
		err    error
	}
)

// fenceOne raises the epoch and writes a marker to one partition, so that nothing of the old epoch can be appended
// there any more. Its neighbours keep epoch and sequences.
func (l *Lane) fenceOne(ctx context.Context, tp partition.ID) (int16, error) {
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
	_, refused, err := l.flow.target.Fence(ctx, txid, id, []partition.ID{tp})
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
	p.round++
	round, tp := p.round, p.remoteTP()
	l.jobs.Go(func() error {
		epoch, err := l.fenceOne(l.jobsCtx, tp)
		l.post(partFenced{part: p, round: round, epoch: epoch, err: err})
		return nil
	})
}

func (l *Lane) partFenced(e partFenced) {
	l.lose(l.upkeep.Worked(outcome(e.err), l.flow.uptime()))
	switch {
	case e.round != e.part.round: // the partition was stopped meanwhile, and another fence is under way
	case e.err != nil:
		l.step(e.part, lane.FenceFailed{Reason: "fence the partition on the target: " + e.err.Error()})
	default:
		l.step(e.part, lane.FenceDone{Epoch: e.epoch})
	}
}

// lookPart reads the headers of what stands on the target from an offset on. The log stands still: the fence is
// complete.
func (l *Lane) lookPart(p *part, from offsetmap.TargetOffset) {
	p.round++
	round, tp, pid := p.round, p.remoteTP(), l.id.ProducerID
	l.jobs.Go(func() error {
		e := partLooked{part: p, round: round}
		if e.err = l.flow.looks.Acquire(l.jobsCtx, 1); e.err == nil {
			defer l.flow.looks.Release(1)
			e.landed, e.end, e.err = l.flow.look(l.jobsCtx, tp, from, pid)
		}
		l.post(e)
		return nil
	})
}

func (f *Flow) look(ctx context.Context, tp partition.ID, from offsetmap.TargetOffset, pid int64) (landed []lane.Landed, end offsetmap.TargetOffset, err error) {
	ctx, patience := patiently(ctx, f.lookPatience)
	defer patience.end()
	ends, failed := offsets[offsetmap.TargetOffset](ctx, f.target, []partition.ID{tp}, -1, false)
	starts, failedStart := offsets[offsetmap.TargetOffset](ctx, f.target, []partition.ID{tp}, -2, false)
	for _, e := range []error{failed[tp], failedStart[tp]} {
		if e != nil {
			return nil, 0, e
		}
	}
	start := max(from, starts[tp])
	end = ends[tp]
	if start >= end {
		return nil, end, nil
	}
	err = f.targetNet.Scan(ctx, tp, int64(start), int64(end), 0, func(v batch.View, _ bool) error {
		patience.heard()
		landed = append(landed, landedFrom(v, max(offsetmap.TargetOffset(v.BaseOffset()), from), pid))
		return nil
	})
	if err != nil {
		err = patience.explain(err)
	}
	return landed, end, err
}

func (l *Lane) partLooked(e partLooked) {
	switch {
	case e.round != e.part.round:
	case e.err != nil:
		l.step(e.part, lane.FenceFailed{Reason: "look at the target: " + e.err.Error()})
	default:
		l.step(e.part, lane.Looked{Landed: e.landed, End: e.end})
	}
}
