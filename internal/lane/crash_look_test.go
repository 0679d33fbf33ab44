package lane

import (
	"errors"

	"tidemark/offsetmap"
)

// lookAtEnds is the job of a look at both logs; what it begins with is what is known when it is asked for.
func (o *crashOwner) lookAtEnds(p *crashPart, again bool) func() {
	k := Known{
		Facts: p.facts, Map: p.core.Map(), Again: again, Remote: p.target.name, Restart: p.core.Controls().Restart,
		SourceCompacts: p.source.compacts, TargetCompacts: p.target.compacts,
	}
	if p.head != nil {
		k.Epoch, k.Seq = p.head.Epoch, p.head.Sequence
	}
	unfenced := o.unfenced[p.crashPair]
	return func() {
		out, err := o.lookAtEndsNow(p, k, unfenced)
		o.post(func() {
			if errors.Is(err, errCrashFenced) {
				o.lose(err.Error())
			}
			if err != nil {
				out = LookEnded{Err: err.Error(), Passes: o.w.choose(4) > 0}
			}
			o.step(p, out)
			if p.core.Opened() {
				delete(o.unfenced, p.crashPair)
			}
		})
	}
}

func (o *crashOwner) lookAtEndsNow(p *crashPart, k Known, unfenced bool) (LookEnded, error) {
	l := &crashLogs{o, p}
	ends, err := l.ends()
	if err != nil {
		return LookEnded{}, err
	}
	probe, epoch := Open(k, ends), o.id.Epoch
	if unfenced && probe.Out.Reason == "" {
		if epoch, err = o.fenceOne(p); err != nil {
			return LookEnded{}, err
		}
		if ends, err = l.ends(); err != nil {
			return LookEnded{}, err
		}
		probe = Open(k, ends)
	}
	if err := probe.Settle(l); err != nil {
		return LookEnded{}, err
	}
	p.inexact = p.inexact || !probe.Exact
	probe.Out.Epoch = epoch
	return probe.Out, nil
}

// crashLogs reads the model's logs.
type crashLogs struct {
	o *crashOwner
	p *crashPart
}

var errCrashElection = errors.New("the leader is being elected")

func (l *crashLogs) ends() (Ends, error) {
	s, t := l.p.source, l.p.target
	l.o.pause("looks at the ends of %s", t.name)
	if l.o.w.chance(40) {
		return Ends{}, errCrashElection
	}
	return Ends{offsetmap.SourceOffset(s.start), offsetmap.SourceOffset(s.end), offsetmap.TargetOffset(t.start), offsetmap.TargetOffset(t.end)}, nil
}

// EpochEnd: the model's source has one leader epoch.
func (l *crashLogs) EpochEnd(int32) (int32, offsetmap.SourceOffset, error) {
	return 0, offsetmap.SourceOffset(l.p.source.end), nil
}

func (l *crashLogs) Tail(from, to offsetmap.TargetOffset, take func(Landed) (bool, error), record func(TailRecord)) error {
	pids := []int64{l.o.id.ProducerID}
	if l.p.head != nil {
		pids = append(pids, l.p.head.ProducerID)
	}
	l.o.pause("reads the tail of %s", l.p.target.name)
	if l.o.w.chance(40) {
		return errCrashElection
	}
	for _, b := range l.p.target.scan(int64(from)) {
		if offsetmap.TargetOffset(b.base) >= to {
			break
		}
		records, err := take(b.landed(b.base, pids...))
		if err != nil {
			return err
		}
		if !records {
			continue
		}
		for _, r := range b.recs {
			record(TailRecord{Target: offsetmap.TargetOffset(r.offset), Hash: r.hash, Key: r.key})
		}
	}
	return nil
}

func (l *crashLogs) Survivors(s *Survivors, to offsetmap.SourceOffset) error {
	for _, b := range l.p.source.batches {
		if b.removed || offsetmap.SourceOffset(b.next) <= s.From() || offsetmap.SourceOffset(b.base) >= to {
			continue
		}
		left := int32(0)
		for i := range b.recs {
			if !b.gone[i] {
				left++
			}
		}
		if len(b.recs) == 0 {
			left = 1 // a marker's own record
		}
		if !s.Batch(SourceBatch{Base: offsetmap.SourceOffset(b.base), Next: offsetmap.SourceOffset(b.next), Count: left, Blank: b.blank}) {
			continue
		}
		for i, r := range b.recs {
			if !b.gone[i] {
				s.Record(SourceRecord{Offset: offsetmap.SourceOffset(r.offset), Hash: r.hash, Key: r.key, Tombstone: r.tombstone})
			}
		}
		if s.Enough() {
			break
		}
	}
	return nil
}
