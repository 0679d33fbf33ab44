package mirror

import (
	"time"

	"tidemark/internal/events"
	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

type (
	// kept is what became of a keepalive.
	kept struct {
		epoch int16
		err   error
	}
	// rowsFenced is what became of the fence of a verdicts partition.
	rowsFenced struct {
		n     int32
		epoch int16
		err   error
	}
	// starts is the target's log start of many partitions, from a job.
	starts struct {
		at map[partition.ID]offsetmap.TargetOffset
	}
)

// uptime is a clock in ms that is never set back.
func (f *Flow) uptime() int64 { return time.Since(f.began).Milliseconds() }

// outcome says how work in the lane's identity ended.
func outcome(err error) lane.Outcome {
	if err == nil {
		return lane.Outcome{}
	}
	return lane.Outcome{Err: err.Error(), Fenced: isFenced(err), Hangs: hangs(err)}
}

// chores does what is due beside the partitions.
func (l *Lane) chores() {
	rows := func(yield func(int32, *lane.Journal) bool) {
		for n, j := range l.verdicts {
			if !yield(n, j.Journal) {
				return
			}
		}
	}
	for _, c := range l.upkeep.Due(l.ledger.Journal, rows, l.draining, l.flow.uptime()) {
		switch c := c.(type) {
		case lane.Keepalive:
			l.keepalive()
		case lane.FenceRows:
			l.fenceRows(c.N)
		case lane.AskStarts:
			l.askStarts()
		case lane.JudgeAgain:
			l.rejudge()
		}
	}
}

func (l *Lane) keepalive() {
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

func (l *Lane) kept(e kept) {
	o := outcome(e.err)
	l.lose(l.upkeep.Kept(l.ledger.Journal, e.epoch, o, l.flow.uptime()))
	if o.Err != "" && !o.Fenced {
		l.say(events.KeepaliveFailed, "error", e.err)
	}
}

func (l *Lane) fenceRows(n int32) {
	tp := l.verdicts[n].tp
	l.jobs.Go(func() error {
		epoch, err := l.fenceOne(l.jobsCtx, tp)
		l.post(rowsFenced{n: n, epoch: epoch, err: err})
		return nil
	})
}

func (l *Lane) rowsFenced(e rowsFenced) {
	j := l.verdicts[e.n]
	l.lose(l.upkeep.RowsFenced(j.Journal, e.epoch, outcome(e.err)))
	if e.err == nil {
		l.say(events.JournalWritten, "partition", j.tp.String())
	}
}

func (l *Lane) askStarts() {
	var tps []partition.ID
	for _, p := range l.parts {
		if p.core.Is(lane.Live) {
			tps = append(tps, p.remoteTP())
		}
	}
	if len(tps) == 0 {
		return
	}
	l.jobs.Go(func() error {
		at, _ := offsets[offsetmap.TargetOffset](l.jobsCtx, l.flow.target, tps, -2, false)
		l.post(starts{at: at})
		return nil
	})
}

func (l *Lane) started(e starts) {
	for _, p := range l.parts {
		if at, ok := e.at[p.remoteTP()]; ok {
			l.step(p, lane.TargetStart{Offset: at})
		}
	}
}
