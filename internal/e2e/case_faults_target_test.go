package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
)

// TestCase45TargetFrozenWhileWorkersChange freezes the target for longer than a session while one worker is told to end and
// another is killed, so that neither can hand its lanes over. Both leave in time; that the target does not answer is said;
// and once it answers, each partition has one owner and goes on.
func TestCase45TargetFrozenWhileWorkersChange(t *testing.T) {
	t.Parallel()
	const topic, parts = "c45-t", 12
	target, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{Name: "frozen", HeapMB: 384})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Stop() })
	f := newFlow(t, "c45", topic, `c45g.*`, "")
	f.toward(target)
	f.topic(topic, parts, nil)
	stop := f.drip(topic, parts, 0, 10*time.Millisecond)
	leaves, dies, stays := f.process(), f.process(), f.process()
	f.owns(leaves, dies, stays)
	f.remoteGrows(topic, 200)
	if err := target.Freeze(0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Thaw(0) })
	_ = dies.end(syscall.SIGKILL, 10*time.Second)
	took := timed(t, "SIGTERM with a frozen target")
	// With every time-out at its default: Kubernetes waits 30 s.
	if err := leaves.end(syscall.SIGTERM, 29*time.Second); err != nil {
		t.Errorf("a worker while the target is frozen: %v", err)
	}
	took()
	stays.says(f, "the target does not answer", 1, 60*time.Second)
	if err := target.Thaw(0); err != nil {
		t.Fatal(err)
	}
	took = timed(t, "every partition goes on after the target answers again")
	fresh := f.process()
	f.everyPartitionGrows(topic, parts)
	took()
	f.owns(fresh)
	stop()
	f.whole(45, nil, topic)
	f.healthy(60 * time.Second)
	f.term(stays, fresh)
}

// everyPartitionGrows waits until each partition of a topic holds more on the target than now.
func (f *flow) everyPartitionGrows(topic string, parts int, but ...int32) {
	f.tb.Helper()
	cl := f.targetClient()
	skip := map[int32]bool{}
	for _, p := range but {
		skip[p] = true
	}
	var from map[int32]int64
	f.until(60*time.Second, "every partition of "+topic+" goes on", func(ctx context.Context) (bool, string) {
		now, err := testcluster.Ends(ctx, cl, f.remote(topic), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error()
		}
		if from == nil && len(now) == parts {
			from = now
		}
		var still []int32
		for p, end := range from {
			if end >= now[p] && !skip[p] {
				still = append(still, p)
			}
		}
		return from != nil && len(still) == 0, fmt.Sprintf("not %v", still)
	})
}

// TestCase46RejectedUntilRepaired: a topic that the target refuses until somebody repairs it stops alone, and status is red as
// long; one that is refused for now is tried on. Both go on by themselves, their neighbour does not notice. Rights that are taken away and given back are in TestTargetRights, a
// deleted remote topic is in TestCase59RemoteTopicDeleted.
func TestCase46RejectedUntilRepaired(t *testing.T) {
	t.Parallel()
	const few, large, well = "c46-few", "c46-large", "c46-well"
	all := []string{few, large, well}
	f := newFlow(t, "c46", `c46-.*`, `c46g.*`, ", sync_topic_configs: false")
	at := spots{}
	produce := func(first int64, size int) {
		t.Helper()
		for i, topic := range all {
			f.produce(testcluster.Load{Topic: topic, Partitions: 2, First: first, Count: 100, ValueBytes: size})
			for p := range int32(2) {
				at.add("c46g-"+topic, topic, p, first/2+int64(10*i)+int64(p))
			}
		}
		f.commitAll(at)
	}
	for _, topic := range all {
		f.topic(topic, 2, nil)
	}
	produce(0, 60)
	log := f.listen()
	f.start()
	f.same(all...)
	f.exact(at, testcluster.ReadCommitted)
	f.topicConfig(f.remote(few), "min.insync.replicas", "2")
	f.topicConfig(f.remote(large), "max.message.bytes", "2000")
	produce(100, 400)
	f.same(well)
	f.reaches("c46g-"+well, well, 0, at[spot{"c46g-" + well, well, 0}])
	took := timed(t, "red")
	f.red(large, "stopped", "too large", "max.message.bytes")
	took()
	if log.line("partition stopped", few) {
		t.Errorf("%s, which is refused for now, is stopped as if it were for good", few)
	}
	f.topicConfig(f.remote(few), "min.insync.replicas", "")
	f.topicConfig(f.remote(large), "max.message.bytes", "")
	took = timed(t, "goes on after the repair")
	f.same(all...)
	took()
	produce(200, 60)
	f.same(all...)
	f.exact(at, testcluster.ReadCommitted)
	f.healthy(60 * time.Second)
}

// TestCase47TargetBrokersDie: with one of three brokers gone every partition goes on; with all three gone and back the flow
// goes on within a minute; and a worker ends in time also while it writes to a topic that was just deleted.
func TestCase47TargetBrokersDie(t *testing.T) {
	t.Parallel()
	const kept, gone, parts = "c47-kept", "c47-gone", 6
	r := three(t)
	brokersOfThree.Lock()
	defer brokersOfThree.Unlock()
	f := newFlow(t, "c47", `c47-.*`, `c47g.*`, ", refresh_topics_interval: 1s")
	f.toward(r)
	f.replicated()
	stops := map[string]func(){}
	for _, topic := range []string{kept, gone} {
		f.topic(topic, parts, nil)
		stops[topic] = f.drip(topic, parts, 0, 10*time.Millisecond)
	}
	w := f.process()
	f.everyPartitionGrows(kept, parts)
	if err := r.Kill(2); err != nil {
		t.Fatal(err)
	}
	took := timed(t, "every partition goes on with two of three brokers")
	f.everyPartitionGrows(kept, parts)
	took()
	for i := range 2 {
		if err := r.Kill(i); err != nil {
			t.Fatal(err)
		}
	}
	w.says(f, "the target does not answer", 1, 60*time.Second)
	var g errgroup.Group
	for i := range 3 {
		g.Go(func() error { return r.Restart(t.Context(), i) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	took = timed(t, "every partition goes on after all brokers were gone")
	f.everyPartitionGrows(kept, parts)
	took()
	if _, err := f.dst.DeleteTopics(t.Context(), f.remote(gone)); err != nil {
		t.Fatal(err)
	}
	took = timed(t, "SIGTERM beside a topic that was just deleted")
	f.term(w)
	took()
	for _, stop := range stops {
		stop()
	}
	w = f.process()
	f.whole(47, nil, kept)
	f.red(gone, "deleted")
	f.term(w)
}

// transact writes one transaction of many records, whose outcome readers see when it returns.
func (f *flow) transact(cl *kgo.Client, topic string, parts int32, first, count int64, commit kgo.TransactionEndTry) {
	f.tb.Helper()
	if err := cl.BeginTransaction(); err != nil {
		f.tb.Fatal(err)
	}
	failed := make(chan error, count)
	for seq := first; seq < first+count; seq++ {
		cl.Produce(f.tb.Context(), numbered(topic, int32(seq%int64(parts)), seq), func(_ *kgo.Record, err error) {
			if err != nil {
				failed <- err
			}
		})
	}
	if err := cl.Flush(f.tb.Context()); err != nil { // an abort would drop what is not sent
		f.tb.Fatal(err)
	}
	select {
	case err := <-failed:
		f.tb.Fatal(err)
	default:
	}
	if err := cl.EndTransaction(f.tb.Context(), commit); err != nil {
		f.tb.Fatal(err)
	}
	// What is compared with the target is read as committed: before the markers it would be less, with nothing to show for it.
	if err := testcluster.AwaitMarkers(f.tb.Context(), cl, topic); err != nil {
		f.tb.Fatal(err)
	}
}

// TestCase51LargeTransactions mirrors transactions of many records on twelve partitions. After each one the groups stand
// behind it; aborted ones are not copied; a worker that is killed in the middle of one leaves neither a gap nor a
// duplicate, for readers of either isolation level.
func TestCase51LargeTransactions(t *testing.T) {
	t.Parallel()
	const topic, parts, size = "c51-t", 12, 10000
	f := newFlow(t, "c51", topic, `c51g.*`, "")
	f.topic(topic, parts, nil)
	cl, err := kgo.NewClient(append(suite.source.ClientOpts(), kgo.TransactionalID("c51"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	scl := suite.source.Client(t)
	at := spots{}
	w := f.process("--instance-id", "one")
	for i := range int64(5) {
		commit := kgo.TransactionEndTry(i%3 != 1)
		f.transact(cl, topic, parts, i*size, size, commit)
		ends, err := testcluster.Ends(t.Context(), scl, topic, testcluster.ReadUncommitted)
		if err != nil {
			t.Fatal(err)
		}
		for p, end := range ends {
			at.add("c51g-end", topic, p, end)
			at.add(fmt.Sprintf("c51g-in-%d", i), topic, p, end-size/parts/2)
		}
		f.commitAll(at)
		if i == 2 || i == 3 { // in the middle of a transaction, or of an aborted one
			f.remoteMoves(topic)
			_ = w.end(syscall.SIGKILL, 10*time.Second)
			w = f.process("--instance-id", "one")
			continue
		}
		took := timed(t, "positions behind a transaction")
		f.exact(at, testcluster.ReadCommitted)
		took()
	}
	f.whole(51, at, topic)
	f.faultless(topic) // read_committed
	f.healthy(60 * time.Second)
	f.term(w)
}

// remoteMoves waits until the target holds one more record of a topic than now, or all of it.
func (f *flow) remoteMoves(topic string) {
	f.tb.Helper()
	source, err := testcluster.Read(f.tb.Context(), f.reads().Client(f.tb), topic, testcluster.ReadCommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	cl := f.targetClient()
	from := int64(-1)
	f.until(60*time.Second, "one more record of "+topic, func(ctx context.Context) (bool, string) {
		ends, err := testcluster.Ends(ctx, cl, f.remote(topic), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error()
		}
		sum := int64(0)
		for _, e := range ends {
			sum += e
		}
		if from < 0 {
			from = sum
		}
		return sum > from || sum >= int64(len(source)), fmt.Sprint(sum)
	})
}
