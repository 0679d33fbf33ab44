package mirror

import (
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/wire"
)

// journalBatch bounds one write of a journal. Ledger blocks are some 16 KiB, topic limits 1 MiB.
const journalBatch = 384 << 10

// journal appends records of ours to one partition of the ledger or verdicts topic, in the lane's identity. One batch
// is in flight; one in doubt is sent again as identical bytes, which is safe at any time: these records carry the time
// of their writing, so the broker still knows the producer's state.
type journal struct {
	lane    *Lane
	tp      kafka.TP
	epoch   int16
	seq     int32
	pending []entry
	newest  map[string]int // of keys in pending, where only the newest record of a key matters; nil otherwise
	flight  *flight
	held    bool // nothing new is sent: the lane's identity is being renewed
	wakeAt  int64
	fails   int
	said    bool // trouble was logged
}

// stalled is after how many refusals in a row, some seconds, a journal counts as stalled. A lane whose ledger is stalled
// sends no data: what is beyond the last head has to be read and compared by the next owner.
const stalled = 10

type entry struct {
	rec  batch.Record
	done func()
}

type flight struct {
	bytes   []byte
	count   int32
	entries []entry
}

// add queues a record; done, which may be nil, runs on the lane's goroutine once it is acknowledged.
func (j *journal) add(key, value []byte, done func()) {
	if i, ok := j.newest[string(key)]; ok {
		j.pending[i].rec.Value, j.pending[i].rec.Timestamp = value, now()
		return
	}
	if j.newest != nil {
		j.newest[string(key)] = len(j.pending)
	}
	j.pending = append(j.pending, entry{rec: batch.Record{Key: key, Value: value, Timestamp: now()}, done: done})
}

func (j *journal) idle() bool { return j.flight == nil && len(j.pending) == 0 }

// kick sends what can be sent now.
func (j *journal) kick() error {
	if now() < j.wakeAt || !j.lane.flow.lease.Valid() {
		return nil
	}
	if j.flight != nil {
		if j.wakeAt == 0 {
			return nil
		}
		j.wakeAt = 0
		j.send()
		return nil
	}
	if len(j.pending) == 0 || j.held {
		return nil
	}
	n, size := 0, 0
	for n < len(j.pending) && (n == 0 || size < journalBatch) {
		size += len(j.pending[n].rec.Key) + len(j.pending[n].rec.Value) + 32
		n++
	}
	recs := make([]batch.Record, n)
	for i, e := range j.pending[:n] {
		recs[i] = e.rec
	}
	bytes, err := j.lane.flow.builder.Build(recs, batch.None, batch.Stamp{ProducerID: j.lane.id.ProducerID, Epoch: j.epoch, Sequence: j.seq})
	if err != nil {
		return err
	}
	j.flight = &flight{bytes: bytes, count: int32(n), entries: j.pending[:n:n]}
	j.pending = j.pending[n:]
	if j.newest != nil {
		clear(j.newest)
		for i, e := range j.pending {
			j.newest[string(e.rec.Key)] = i
		}
	}
	j.send()
	return nil
}

func (j *journal) send() {
	fl := j.flight
	j.lane.flow.producer.Send(wire.Batch{TP: j.tp, Bytes: fl.bytes, Done: func(r wire.Result) {
		j.lane.post(journaled{journal: j, flight: fl, result: r})
	}})
}

// answered takes what came back. It returns a reason when the lane must be given up.
func (j *journal) answered(fl *flight, r lane.Result) (gone string) {
	if j.flight != fl {
		return ""
	}
	switch r.Answer {
	case lane.Acked:
		j.seq = batch.NextSequence(j.seq, fl.count)
		if j.said {
			j.lane.log.Info("our own topic is written again", "partition", j.tp.String())
		}
		j.flight, j.fails, j.said = nil, 0, false
		for _, e := range fl.entries {
			if e.done != nil {
				e.done()
			}
		}
	case lane.Fenced:
		return r.Reason
	case lane.Sequence, lane.Refused:
		return "write to " + j.tp.String() + ": " + r.Reason
	case lane.NotSaved, lane.InDoubt:
		wait := min(50*time.Millisecond<<min(j.fails, 5), time.Second)
		if j.fails++; j.fails == stalled {
			j.said = true
			j.lane.log.Warn("our own topic cannot be written: mirroring waits for it", "partition", j.tp.String(), "reason", r.Reason)
		}
		j.wakeAt = now() + wait.Milliseconds()
	}
	return ""
}
