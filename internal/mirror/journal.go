package mirror

import (
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/events"
	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
)

// journal writes what a lane.Journal decides to one partition of the ledger or verdicts topic.
type journal struct {
	*lane.Journal
	lane    *Lane
	tp      partition.ID
	trouble string // the last refusal; empty once something was written
	since   int64  // since when it is refused, ms
	said    bool   // trouble was logged
}

func (l *Lane) newJournal(tp partition.ID) *journal {
	return &journal{Journal: lane.NewJournal(l.id.Epoch), lane: l, tp: tp}
}

// add queues a record; done, which may be nil, runs on the lane's goroutine once it is acknowledged.
func (j *journal) add(key, value []byte, done func()) { j.Add(key, value, done, now()) }

// kick sends what can be sent now.
func (j *journal) kick() error {
	l := j.lane
	if !l.flow.lease.Valid() {
		return nil
	}
	f := j.Next(now())
	if f == nil {
		return nil
	}
	if f.Bytes == nil {
		recs := make([]batch.Record, len(f.Records))
		for i, r := range f.Records {
			recs[i] = batch.Record{Key: r.Key, Value: r.Value, Timestamp: r.At}
		}
		bytes, err := l.flow.builder.Build(recs, batch.None, batch.Stamp{ProducerID: l.id.ProducerID, Epoch: f.Epoch, Sequence: f.Sequence})
		if err != nil {
			return err
		}
		f.Bytes = bytes
	}
	l.flow.producer.Send(wire.Batch{TP: j.tp, Bytes: f.Bytes, Done: func(r wire.Result) {
		l.post(journaled{journal: j, flight: f, result: r})
	}})
	return nil
}

// journaled takes what came back for a write to one of our own topics. While the ledger takes nothing the lane holds back:
// what is queued goes back to the flow's memory, which other lanes need.
func (l *Lane) journaled(e journaled) {
	j := e.journal
	r := answer(j.tp, e.result, 0, e.flight.Epoch)
	switch r.Answer {
	case lane.NotSaved, lane.InDoubt:
		if j.trouble == "" {
			j.since = now()
		}
		j.trouble = r.Reason
	case lane.Sequence, lane.Refused:
		r.Reason = "write to " + j.tp.String() + ": " + r.Reason
	case lane.Acked, lane.Fenced:
		j.trouble = ""
	}
	was := j.Stalled()
	if why := j.Answered(e.flight, r, now()); why != "" {
		l.lose(why)
	}
	if j.Stalled() == was {
		return
	}
	j.said = j.Stalled()
	if j.said {
		l.say(events.JournalStalled, "partition", j.tp.String(), "reason", j.trouble, "since", time.UnixMilli(j.since).UTC().Format(time.RFC3339))
	} else {
		l.say(events.JournalWritten, "partition", j.tp.String())
	}
	if j != l.ledger {
		return
	}
	if j.said {
		l.report("waiting until "+j.tp.String()+" can be written", j.trouble)
	} else {
		l.report("", "")
	}
	for _, p := range l.parts {
		if j.said {
			l.step(p, lane.Hold{})
		} else {
			l.step(p, lane.GoOn{})
		}
	}
}
