package lane

import (
	"bytes"
	"fmt"
	"slices"

	"tidemark/offsetmap"
)

// The crash model: a cluster in plain Go in which the package's own Takeover, Partition, Probe, Journal and Release run a
// lane. This file is one target partition's log with a broker's rules for idempotent producers; crash_cluster_test.go adds
// the source, the coordinator and the wire, crash_owner_test.go and its neighbours the process that owns the lane.

// crashRec is one record of a log. from is the source offset that it was copied from, -1 for foreign ones.
type crashRec struct {
	offset    int64
	from      int64
	key, hash uint64
	tombstone bool
	name, val []byte // of a ledger record
}

// crashBatch is a batch with its header. Compaction removes records and leaves base and end.
type crashBatch struct {
	pid       int64 // -1: not idempotent
	epoch     int16
	seq       int32
	base, end int64
	ts        int64
	marker    bool
	count     int32 // records at first
	recs      []crashRec
}

type crashKept struct {
	seq, count int32
	base       int64
}

// crashState is what a broker remembers of a producer.
type crashState struct {
	epoch int16
	last  int32 // last sequence, -1 none
	ts    int64 // of the last batch: state is forgotten by it, not by when it came
	kept  []crashKept
	end   int64 // offset after its last batch or marker
}

type crashLog struct {
	name     string
	compacts bool
	aged     bool // tombstones and markers may be removed for their age
	ledger   bool // LogAppendTime
	batches  []crashBatch
	start    int64
	end      int64
	states   map[int64]*crashState
	ever     []crashRec // every data record ever appended, removed ones too
	ours     int        // records that were copied
	copies   [][]int64  // by source offset: where its copies were appended
	twice    int64      // records that were appended while a copy was there
	anew     int64      // records that were appended after every copy had been removed
}

func newCrashLog(name string) *crashLog {
	return &crashLog{name: name, states: map[int64]*crashState{}}
}

// append applies Kafka's checks (ProducerAppendInfo) and appends.
func (l *crashLog) append(b crashBatch, now int64) Result {
	if l.ledger {
		b.ts = now
	}
	if b.pid >= 0 {
		if r, done := l.check(b); done {
			return r
		}
	}
	b.base = l.end
	b.count = int32(len(b.recs))
	b.end = b.base + int64(b.count)
	b.recs = slices.Clone(b.recs)
	for i := range b.recs {
		b.recs[i].offset = b.base + int64(i)
		l.count(b.recs[i])
	}
	l.end = b.end
	l.batches = append(l.batches, b)
	l.ever = append(l.ever, b.recs...)
	if b.pid >= 0 {
		s := l.states[b.pid]
		if s == nil || b.epoch > s.epoch {
			s = &crashState{epoch: b.epoch}
			l.states[b.pid] = s
		}
		s.last, s.ts, s.end = b.seq+b.count-1, b.ts, b.end
		if s.kept = append(s.kept, crashKept{b.seq, b.count, b.base}); len(s.kept) > 5 {
			s.kept = s.kept[1:]
		}
	}
	return Result{Answer: Acked, BaseOffset: offsetmap.TargetOffset(b.base), LogStart: offsetmap.TargetOffset(l.start)}
}

// count notes a record that was appended, and whether a copy of it was there already.
func (l *crashLog) count(r crashRec) {
	if r.from < 0 {
		return
	}
	for int64(len(l.copies)) <= r.from {
		l.copies = append(l.copies, nil)
	}
	l.ours++
	was := l.copies[r.from]
	l.copies[r.from] = append(was, r.offset)
	switch {
	case slices.ContainsFunc(was, l.holds):
		l.twice++
	case len(was) > 0:
		l.anew++
	}
}

// copied says whether a source offset's record was appended at an offset; at any one if that is negative.
func (l *crashLog) copied(from, at int64) bool {
	if from >= int64(len(l.copies)) {
		return false
	}
	return at < 0 && len(l.copies[from]) > 0 || slices.Contains(l.copies[from], at)
}

// landed is the batch as a look sees it, from one of its offsets on. pids are those that are ours.
func (b *crashBatch) landed(from int64, pids ...int64) Landed {
	return Landed{Base: offsetmap.TargetOffset(from), Count: b.end - from, Ours: slices.Contains(pids, b.pid) && !b.marker, Marker: b.marker, Epoch: b.epoch, Sequence: b.seq}
}

func (l *crashLog) check(b crashBatch) (Result, bool) {
	s := l.states[b.pid]
	if s == nil {
		return Result{}, false // without state any first sequence is taken
	}
	if b.epoch < s.epoch {
		return Result{Answer: Fenced, Reason: "invalid producer epoch"}, true
	}
	if b.epoch == s.epoch {
		for _, k := range s.kept {
			if k.seq == b.seq && k.count == int32(len(b.recs)) {
				return Result{Answer: Acked, BaseOffset: offsetmap.TargetOffset(k.base), LogStart: offsetmap.TargetOffset(l.start)}, true
			}
		}
	}
	if b.epoch > s.epoch && b.seq != 0 || b.epoch == s.epoch && b.seq != s.last+1 {
		return Result{Answer: Sequence, Reason: "out of order sequence number"}, true
	}
	return Result{}, false
}

// mark is the marker of an aborted transaction: from now on lower epochs are refused. In the same epoch the sequence
// lives on.
func (l *crashLog) mark(pid int64, epoch int16, now int64) error {
	s := l.states[pid]
	if s != nil && epoch < s.epoch {
		return fmt.Errorf("%s refuses a marker of epoch %d below %d", l.name, epoch, s.epoch)
	}
	l.batches = append(l.batches, crashBatch{pid: pid, epoch: epoch, seq: -1, base: l.end, end: l.end + 1, ts: now, marker: true})
	l.end++
	if s == nil || epoch > s.epoch {
		s = &crashState{epoch: epoch, last: -1}
		l.states[pid] = s
	}
	s.ts, s.end = now, l.end
	return nil
}

// forget is the broker's check every ten minutes.
func (l *crashLog) forget(now int64) (forgotten int) {
	for pid, s := range l.states {
		if now-s.ts > simOld+simMargin {
			delete(l.states, pid)
			forgotten++
		}
	}
	return forgotten
}

// scan gives the batches that end behind from, whole.
func (l *crashLog) scan(from int64) []crashBatch {
	i := slices.IndexFunc(l.batches, func(b crashBatch) bool { return b.end > from })
	if i < 0 {
		return nil
	}
	return l.batches[i:]
}

// expire is retention: whole batches go, the end stays.
func (l *crashLog) expire(to int64) {
	l.start = max(l.start, to)
	l.batches = slices.DeleteFunc(l.batches, func(b crashBatch) bool { return b.end <= l.start })
}

// clean runs the log cleaner over the first n batches, never over the last one (the active segment). maybe says whether
// a record that may go does go. A batch that is the last of an active producer keeps its header.
func (l *crashLog) clean(n int, maybe func() bool) {
	n = min(n, len(l.batches)-1)
	for i := range max(n, 0) {
		b := &l.batches[i]
		kept := make([]crashRec, 0, len(b.recs))
		for _, r := range b.recs {
			if !l.removable(r) || !maybe() {
				kept = append(kept, r)
			}
		}
		b.recs = kept
	}
	var out []crashBatch
	for i, b := range l.batches {
		s := l.states[b.pid]
		last := s != nil && s.end == b.end
		empty := len(b.recs) == 0 && (!b.marker || l.aged && maybe())
		if i >= n || !empty || last {
			out = append(out, b)
		}
	}
	l.batches = out
}

func (l *crashLog) removable(r crashRec) bool {
	if r.key == 0 && r.name == nil {
		return false
	}
	below := false
	for _, b := range l.batches {
		for _, o := range b.recs {
			same := o.key == r.key && bytes.Equal(o.name, r.name)
			if same && o.offset > r.offset {
				return true
			}
			below = below || same && o.offset < r.offset
		}
	}
	return l.aged && r.tombstone && !below
}

// holds says whether the record is still there.
func (l *crashLog) holds(offset int64) bool {
	for _, b := range l.batches {
		if b.base <= offset && offset < b.end {
			return offset >= l.start && slices.ContainsFunc(b.recs, func(r crashRec) bool { return r.offset == offset })
		}
	}
	return false
}
