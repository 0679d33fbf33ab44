package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/ledger"
	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

const day = 24 * time.Hour

// TestTrap01OldDataIsForgotten: what a partition remembers of a producer lives by the timestamps of its last batch. After
// old data neither repeats nor stale owners are found out, while a partition with fresh data still refuses both. So old
// data in doubt is never repeated: a fence of the partition, and a look.
func TestTrap01OldDataIsForgotten(t *testing.T) {
	t.Parallel()
	k := newRaw(t, forgetful(t))
	tps := k.topic("trap01", 2, nil)
	old, fresh := tps[0], tps[1]
	const txid = "trap01"
	id, long := k.init(txid), time.Now().Add(-2*day)
	first := k.bytes(id, 0, long, "a", "b")
	k.append(old, first)
	k.forgotten(old, id)
	if at := k.append(old, first); at != 2 {
		t.Errorf("a repeat of forgotten old data landed at offset %d, it was expected to be appended again at 2", at)
	}

	next := k.init(txid)
	k.append(fresh, k.bytes(id, 0, time.Now(), "a"))
	k.fence(txid, next, old, fresh)
	for _, tp := range tps {
		k.refused("the stale owner after the fence", tp, k.bytes(id, 2, time.Now(), "stale"), kerr.InvalidProducerEpoch)
	}
	k.append(old, k.bytes(next, 0, long, "c"))
	k.forgotten(old, next)
	k.append(fresh, k.bytes(next, 0, time.Now(), "c"))
	k.refused("the stale owner after fresh data", fresh, k.bytes(id, 1, time.Now(), "stale"), kerr.InvalidProducerEpoch)
	k.append(old, k.bytes(id, 9, time.Now(), "stale")) // in the fenced epoch
	k.refused("the rightful owner", old, k.bytes(next, 1, time.Now(), "d"), kerr.OutOfOrderSequenceNumber)

	// The way out: the partition's own fence. What stands there is settled by a look, and sequences start again.
	own := k.ownFence(txid, next, old)
	k.refused("the stale owner after the partition's own fence", old, k.bytes(id, 10, time.Now(), "stale"), kerr.InvalidProducerEpoch)
	k.append(old, k.bytes(own, 0, time.Now(), "d"))
	k.append(fresh, k.bytes(next, 1, time.Now(), "d")) // the neighbour keeps epoch and sequences
	k.holds(old, "a", "b", "a", "b", "c", "stale", "d")
	k.holds(fresh, "a", "c", "d")
}

// TestTrap17AgeAtTheRetry: a batch that was young enough when it was first sent is too old to be repeated later. A worker
// whose answers get lost, again and again, and once for longer than young data stays young, writes nothing twice and loses
// nothing, be it old data or fresh.
func TestTrap17AgeAtTheRetry(t *testing.T) {
	t.Parallel()
	r := forgetful(t)
	k := newRaw(t, r)
	tp := k.topic("trap17", 1, nil)[0]
	id := k.init("trap17")
	b := k.bytes(id, 0, time.Now().Add(4*time.Second-forgets), "a")
	if at, again := k.append(tp, b), k.append(tp, b); at != 0 || again != 0 {
		t.Errorf("a repeat while the batch is young: offsets %d and %d, want 0 both times", at, again)
	}
	k.forgotten(tp, id)
	if at := k.append(tp, b); at != 1 {
		t.Errorf("a repeat when the batch has become old landed at offset %d, it was expected to be appended again at 1", at)
	}

	f := newFlow(t, "trap17", `t17-.*`, `trap17g.*`, "").onto(r)
	f.createLoadTopics("t17-")
	stop := f.load("t17-")
	w := f.through(r).process()
	f.remoteGrows("t17-plain", 500)
	lose := func(losses ...time.Duration) {
		for _, d := range losses {
			frontDoor.lose(t, d)
		}
		f.remoteGrows("t17-plain", 500)
		f.remoteGrows("t17-old", 200)
	}
	lose(300 * time.Millisecond)
	lose(forgets - 500*time.Millisecond)
	// What is in doubt after the first loss waits in the transport for a connection, whose first answers are lost too, until
	// the target has forgotten the producer. Whether a batch is on its way in the moment of the loss is up to the machine.
	shown := func() bool { return settled(w.output(), "t17-plain") && settled(w.output(), "t17-old") }
	for round := 0; round == 0 || !shown() && round < 6; round++ {
		lose(300*time.Millisecond, forgets+300*time.Millisecond)
	}
	stop()
	f.wellAtLast("t17-", w)
	for _, topic := range []string{"plain", "old"} {
		if !settled(w.output(), "t17-"+topic) {
			t.Errorf("no partition of t17-%s was in doubt and too old to be sent again: the test shows nothing", topic)
		}
	}
}

// settled says whether a worker fenced a partition of a topic by itself.
func settled(log, topic string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "partition fenced to settle what is in doubt") && strings.Contains(line, "partition="+topic+"-") {
			return true
		}
	}
	return false
}

// TestTrap03IdentityExpires: plain batches never touch the coordinator, which forgets the transactional id under a writing
// owner; its successor gets another producer id and cannot fence it. A keepalive prevents that, and where it happened all
// the same (no process for longer than the coordinator remembers) the next owner says so and waits.
func TestTrap03IdentityExpires(t *testing.T) {
	t.Parallel()
	r := forgetful(t)
	f := newFlow(t, "trap03", `t03-.*`, `trap03g.*`, "").onto(r)
	f.createLoadTopics("t03-")
	w := f.process("--instance-id", "one")
	f.some("t03-", 0)
	f.claimed(make([]*ledger.Contents, 4))
	was := f.ledgers(r)

	k := newRaw(t, r)
	tp := k.topic("trap03", 2, nil)
	const lost, kept = "trap03-lost", "trap03-kept"
	id, keep := k.init(lost), k.init(kept)
	seq, at := int32(0), time.Now()
	k.until(forgetsTxn+time.Minute, "the coordinator to forget a writing producer", func(ctx context.Context) (bool, string) {
		k.append(tp[0], k.bytes(id, seq, time.Now(), "x"))
		seq++
		if time.Since(at) >= forgets/3 {
			at = time.Now()
			if err := k.lane.Keepalive(ctx, kept, keep, tp[1]); err != nil {
				return false, err.Error()
			}
			f.write(numbered("t03-plain", 0, 500+int64(seq)))
		}
		d, err := k.txn(ctx, lost)
		return errors.Is(err, kerr.TransactionalIDNotFound), fmt.Sprintf("%+v, %v", d, err)
	})
	next := k.init(lost)
	if next.ProducerID == id.ProducerID {
		t.Errorf("the expired identity came back as %v", next)
	}
	k.fence(lost, next, tp[0])
	k.append(tp[0], k.bytes(id, seq, time.Now(), "stale")) // the fence does not reach it
	if same := k.init(kept); same.ProducerID != keep.ProducerID || same.Epoch != keep.Epoch+1 {
		t.Errorf("with keepalives %v became %v, want the next epoch", keep, same)
	}

	for n, c := range was {
		if d, err := k.txn(t.Context(), f.transactional(n)); err != nil || d.ProducerID != c.Claim.ProducerID {
			t.Errorf("lane %d: the coordinator knows producer %d (%v) under the running worker, want %d as claimed", n, d.ProducerID, err, c.Claim.ProducerID)
		}
	}
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	for n := range was {
		k.until(forgetsTxn+time.Minute, "the lanes' identities to expire", func(ctx context.Context) (bool, string) {
			d, err := k.txn(ctx, f.transactional(n))
			return errors.Is(err, kerr.TransactionalIDNotFound), fmt.Sprintf("%+v, %v", d, err)
		})
	}
	w = f.process("--instance-id", "one")
	f.some("t03-", 3000)
	f.wellAtLast("t03-", w)
	if !strings.Contains(w.output(), "former owner's identity expired") {
		t.Error("the worker does not say that its predecessor's identity had expired")
	}
}

// TestTrap15IdlePartition: a marker on a partition that has forgotten a producer recreates its state without a sequence,
// and the batch that would be next is refused for ever. On state that still lives a marker refreshes it and sequences go
// on, which is why keepalives come often. A worker that is idle, and one that is frozen for longer than the target
// remembers, go on with nothing lost or twice.
func TestTrap15IdlePartition(t *testing.T) {
	t.Parallel()
	r := forgetful(t)
	f := newFlow(t, "trap15", `t15-.*`, `trap15g.*`, "").onto(r)
	f.createLoadTopics("t15-")
	w := f.process()
	f.some("t15-", 0)
	before := time.Now()
	rawIdle(t, r)
	pause.For(t.Context(), time.Until(before.Add(forgets+time.Second)))
	f.some("t15-", 1000)
	for _, trouble := range []string{"is lost", "lane ended", "partition stopped", "keepalive on the target did not succeed"} {
		if strings.Contains(w.output(), trouble) {
			t.Errorf("an idle worker says %q", trouble)
		}
	}
	// Frozen for less than its session and for longer than the target remembers: its keepalives come too late, and what
	// its journals write next is refused.
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pause.For(t.Context(), forgets+time.Second)
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.some("t15-", 2000)
	f.wellAtLast("t15-", w)
}

// some writes a few records of each kind and waits until they are on the target.
func (f *flow) some(prefix string, first int64) {
	f.tb.Helper()
	f.produce(testcluster.Load{Topic: prefix + "plain", Partitions: 3, First: first, Count: 300})
	f.produce(testcluster.Load{Topic: prefix + "old", Partitions: 2, First: first, Count: 200, Start: time.Now().Add(-30 * day)})
	f.transactions(testcluster.Load{Topic: prefix + "tx", Partitions: 2, First: first, Count: 60}, uint64(first))
	f.same(prefix+"plain", prefix+"old", prefix+"tx")
}

func rawIdle(t *testing.T, r *testcluster.Real) {
	t.Helper()
	k := newRaw(t, r)
	tps := k.topic("trap15", 2, nil)
	idle, alive := tps[0], tps[1]
	const txid = "trap15"
	id, at := k.init(txid), time.Now()
	for _, tp := range tps {
		k.append(tp, k.bytes(id, 0, at, "a", "b"))
	}
	k.until(20*time.Second, "the idle partition to forget", func(ctx context.Context) (bool, string) {
		if time.Since(at) >= forgets/3 {
			at = time.Now()
			if err := k.lane.Keepalive(ctx, txid, id, alive); err != nil {
				return false, err.Error()
			}
		}
		_, there, err := k.state(ctx, idle, id)
		return !there && err == nil, fmt.Sprint(err)
	})
	if err := k.lane.Keepalive(t.Context(), txid, id, idle); err != nil {
		t.Fatal(err)
	}
	if s, there, err := k.state(t.Context(), idle, id); !there || err != nil || s.LastSequence != -1 {
		t.Errorf("after the marker the partition remembers %+v (%v, %v), want last sequence -1", s, there, err)
	}
	for range 2 {
		k.refused("the next sequence on the idle partition", idle, k.bytes(id, 2, time.Now(), "c"), kerr.OutOfOrderSequenceNumber)
	}
	k.append(alive, k.bytes(id, 2, time.Now(), "c"))
	own := k.ownFence(txid, id, idle)
	k.append(idle, k.bytes(own, 0, time.Now(), "c"))
	k.holds(idle, "a", "b", "c")
	k.holds(alive, "a", "b", "c")
}

// TestTrap04WholeBatchesVanish: retention removes old records within seconds of their arrival, the newest ones too: the
// log end stays, headers and producer states are gone. Resuming must not need them.
func TestTrap04WholeBatchesVanish(t *testing.T) {
	t.Parallel()
	r := forgetful(t)
	k := newRaw(t, r)
	const week = "604800000"
	tp := k.topic("trap04", 1, map[string]string{"retention.ms": week})[0]
	id := k.init("trap04")
	k.append(tp, k.bytes(id, 0, time.Now().Add(-10*day), "a", "b", "c"))
	k.until(20*time.Second, "retention", func(ctx context.Context) (bool, string) {
		starts, err := testcluster.Starts(ctx, k.lane.Kgo(), tp.Topic)
		return err == nil && starts[0] == 3, fmt.Sprint(starts, err)
	})
	k.forgotten(tp, id)
	if end := k.end(tp); end != 3 {
		t.Errorf("the log end is %d after all was deleted, want 3", end)
	}
	k.holds(tp)

	const topic, olds = "t04-t", int64(2000)
	f := newFlow(t, "trap04", topic, `trap04g.*`, ", sync_topic_configs: false").onto(r)
	f.topic(topic, 2, nil)
	if err := testcluster.CreateTopic(t.Context(), r.ClientOpts(), f.remote(topic), 2, map[string]string{"retention.ms": week}); err != nil {
		t.Fatal(err)
	}
	more := func(first, n int64, at time.Time) {
		f.produce(testcluster.Load{Topic: topic, Partitions: 2, First: first, Count: n, BatchBytes: 2000, Start: at})
	}
	w := f.process("--instance-id", "one")
	more(0, olds, time.Now().Add(-10*day))
	f.remoteGrows(topic, 500)
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	k.until(20*time.Second, "retention", func(ctx context.Context) (bool, string) {
		starts, err := testcluster.Starts(ctx, k.lane.Kgo(), f.remote(topic))
		ends, err2 := testcluster.Ends(ctx, k.lane.Kgo(), f.remote(topic), testcluster.ReadUncommitted)
		return err == nil && err2 == nil && maps.Equal(starts, ends), fmt.Sprint(starts, ends, err, err2)
	})
	// The next owner finds nothing of its predecessor's tail but the log ends.
	w = f.process("--instance-id", "one")
	more(olds, olds, time.Now().Add(-10*day))
	f.remoteGrows(topic, 500)
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	w = f.process("--instance-id", "one")
	const written = 2 * olds
	more(written, 300, time.Now())
	f.until(60*time.Second, "the newest records", func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, k.lane.Kgo(), f.remote(topic), testcluster.ReadUncommitted)
		n := 0
		for _, rec := range recs {
			if seq, ok := rec.Seq(); ok && seq >= written {
				n++
			}
		}
		return err == nil && n >= 300, fmt.Sprintf("%d, %v", n, err)
	})
	f.onceAndInOrder(topic, written, 300)
	const unread = written + 201
	for _, rec := range f.read(suite.source, topic) {
		if seq, ok := rec.Seq(); ok && seq == unread {
			f.commit("trap04g", map[string]map[int32]int64{topic: {rec.Partition: rec.Offset}})
		}
	}
	for _, rec := range f.read(r, f.remote(topic)) {
		if seq, ok := rec.Seq(); ok && seq == unread {
			f.reaches("trap04g", topic, rec.Partition, rec.Offset)
		}
	}
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// onceAndInOrder asserts that records first to first+count-1 are on the target once, in order in each partition, and that
// what stands there before them follows the order too.
func (f *flow) onceAndInOrder(topic string, first, count int64) {
	f.tb.Helper()
	recs := f.read(f.to, f.remote(topic))
	last, n := map[int32]int64{}, int64(0)
	for _, r := range recs {
		seq, ok := r.Seq()
		if before, some := last[r.Partition]; !ok || some && seq <= before {
			f.tb.Errorf("target offset %d of partition %d holds record %d behind %d", r.Offset, r.Partition, seq, before)
			return
		}
		last[r.Partition] = seq
		if seq >= first {
			n++
		}
	}
	if n != count {
		f.tb.Errorf("%d of %d records from %d on are on the target", n, count, first)
	}
}
