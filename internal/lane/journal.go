package lane

import (
	"slices"

	"tidemark/internal/batch"
)

// journalBatch bounds one write of a journal. Ledger blocks are some 16 KiB, topic limits 1 MiB.
const journalBatch = 384 << 10

// stalledAfter is for how many refusals in a row, some seconds, a journal counts as stalled.
const stalledAfter = 10

// Journal decides what is written to one partition of the ledger or verdicts topic, in the lane's identity. One batch is in
// flight; one in doubt is sent again as identical bytes, which is safe at any time: these records carry the time of their
// writing, so the broker still knows the producer's state. Of a key that waits only the newest record is kept: the topics
// are compacted, and heads of a partition would pile up while the ledger takes nothing.
type Journal struct {
	epoch   int16
	seq     int32
	pending []entry
	newest  map[string]int // place of a key in pending
	dead    int            // places in pending whose key has a newer record
	flight  *Flight
	held    bool  // nothing new is sent: the identity is being renewed, or the partition is not fenced yet
	wakeAt  int64 // the flight is to be sent (again) from then on, ms; 0: it is under way
	fails   int
}

type entry struct {
	rec  Record
	done []func()
	dead bool
}

// Record is one record of a journal; a null value deletes the key.
type Record struct {
	Key, Value []byte
	At         int64 // ms since the epoch
}

// Flight is a batch of a journal on its way.
type Flight struct {
	Records  []Record
	Epoch    int16
	Sequence int32
	Bytes    []byte // the caller's: what was sent first is sent again
	done     []func()
}

// NewJournal begins one in an epoch in which nothing was written to its partition yet.
func NewJournal(epoch int16) *Journal { return &Journal{epoch: epoch, newest: map[string]int{}} }

// Add queues a record behind all others; done, which may be nil, is called once it, or a newer one of its key, is
// acknowledged. A newer record takes the place of the waiting one at the end of the queue, not in it: what was queued in
// between can be what it refers to, as a head to its blocks.
func (j *Journal) Add(key, value []byte, done func(), now int64) {
	e := entry{rec: Record{Key: key, Value: value, At: now}}
	if i, ok := j.newest[string(key)]; ok {
		e.done = j.pending[i].done
		j.pending[i] = entry{dead: true}
		if j.dead++; j.dead > 64 && j.dead > len(j.pending)/2 {
			j.compact()
		}
	}
	if done != nil {
		e.done = append(e.done, done)
	}
	j.newest[string(key)] = len(j.pending)
	j.pending = append(j.pending, e)
}

// compact forgets the places of records that a newer one has replaced.
func (j *Journal) compact() {
	j.pending = slices.DeleteFunc(j.pending, func(e entry) bool { return e.dead })
	j.dead = 0
	clear(j.newest)
	for i, e := range j.pending {
		j.newest[string(e.rec.Key)] = i
	}
}

// Waiting is how many records wait to be sent.
func (j *Journal) Waiting() int { return len(j.pending) - j.dead }

// Idle says that everything is acknowledged.
func (j *Journal) Idle() bool { return j.flight == nil && j.Waiting() == 0 }

// Flying says that a batch is under way or in doubt.
func (j *Journal) Flying() bool { return j.flight != nil }

// Stalled says that the partition has taken nothing for some seconds. A lane whose ledger is stalled sends no data: what is
// beyond the last head has to be read and compared by the next owner.
func (j *Journal) Stalled() bool { return j.fails >= stalledAfter }

// Hold has only what is in flight go out until Release.
func (j *Journal) Hold() { j.held = true }

// Held says that nothing new is sent.
func (j *Journal) Held() bool { return j.held }

// Release ends Hold. In another epoch sequences begin at 0.
func (j *Journal) Release(epoch int16) {
	j.held = false
	if epoch != j.epoch {
		j.epoch, j.seq = epoch, 0
	}
}

// Epoch is the one that is written in.
func (j *Journal) Epoch() int16 { return j.epoch }

// Next is what is to be sent now, nil when nothing is. The caller asks only while its lease is valid.
func (j *Journal) Next(now int64) *Flight {
	if j.flight != nil {
		if j.wakeAt == 0 || now < j.wakeAt {
			return nil
		}
		j.wakeAt = 0
		return j.flight
	}
	if j.Waiting() == 0 || j.held {
		return nil
	}
	f := &Flight{Epoch: j.epoch, Sequence: j.seq}
	n, size := 0, 0
	for ; n < len(j.pending) && (size == 0 || size < journalBatch); n++ {
		e := j.pending[n]
		if e.dead {
			j.dead--
			continue
		}
		size += len(e.rec.Key) + len(e.rec.Value) + 32
		f.Records = append(f.Records, e.rec)
		f.done = append(f.done, e.done...)
	}
	j.pending = j.pending[n:]
	clear(j.newest)
	for i, e := range j.pending {
		if !e.dead {
			j.newest[string(e.rec.Key)] = i
		}
	}
	j.flight = f
	return f
}

// Answered takes what came back for a flight. gone is why the lane must be given up; of another flight than the one that is
// under way it says nothing.
func (j *Journal) Answered(f *Flight, r Result, now int64) (gone string) {
	if j.flight != f {
		return ""
	}
	switch r.Answer {
	case Acked:
		j.seq = batch.NextSequence(j.seq, int32(len(f.Records)))
		j.flight, j.fails = nil, 0
		for _, done := range f.done {
			done()
		}
	case Fenced, Sequence, Refused:
		return r.Reason
	case NotSaved, InDoubt:
		j.wakeAt = now + int64(min(50<<min(j.fails, 5), 1000))
		j.fails++
	}
	return ""
}
