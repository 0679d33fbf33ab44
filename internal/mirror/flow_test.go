package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// rig is a pair of embedded clusters with the flow's own topics on the target.
type rig struct {
	t              testing.TB
	source, target *kfake.Cluster
	src, dst       *kafka.Client
	settings       Settings
	existing       map[partition.ID][16]byte // what the flow is told that the source has
	log            *slog.Logger
}

type always struct{}

func (always) Valid() bool { return true }

type testLog struct{ t testing.TB }

func (w testLog) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func newRig(t testing.TB, lanes int32) *rig {
	t.Helper()
	r := &rig{t: t, log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))}
	start := func() *kfake.Cluster {
		c, err := kfake.NewCluster(kfake.NumBrokers(3))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	r.source, r.target = start(), start()
	// kfake stores what real brokers refuse: every batch that we produce is decoded and held against their rules.
	builder := batch.NewBuilder()
	(&testcluster.Fake{Cluster: r.target}).CheckProduce(t, func(p []byte) error { return builder.Validate(p, batch.Rules{}) })
	open := func(alias string, c *kfake.Cluster, opts ...kgo.Opt) *kafka.Client {
		cl, err := kafka.Open(kafka.Cluster{Alias: alias, Bootstrap: c.ListenAddrs()}, r.log, opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	r.src, r.dst = open("A", r.source), open("B", r.target, kafka.LaneVersions())
	limits := lane.DefaultLimits()
	limits.StopRetry = 300
	r.settings = Settings{
		Source: "A", Target: "B", SourceCluster: "source-id", Ledger: ledger.TopicName("A"), Verdicts: ledger.VerdictsName("A"),
		Lanes: lanes, Committed: true, MemoryBytes: 16 << 20, Owner: "test", SessionTimeout: 10 * time.Second,
		KeepaliveEvery: time.Hour, Limits: limits, FetchWait: 50 * time.Millisecond,
	}
	compact := "compact"
	r.create(r.dst, r.settings.Ledger, lanes, map[string]*string{"cleanup.policy": &compact})
	r.create(r.dst, r.settings.Verdicts, lanes, map[string]*string{"cleanup.policy": &compact})
	return r
}

func (r *rig) create(c *kafka.Client, topic string, partitions int32, configs map[string]*string) {
	r.t.Helper()
	if err := c.CreateTopic(r.t.Context(), kafka.TopicSpec{Name: topic, Partitions: partitions, ReplicationFactor: 1, Configs: configs}); err != nil {
		r.t.Fatal(err)
	}
}

// partitions describes topics that exist on both sides.
func (r *rig) partitions(topics ...string) map[partition.ID]Partition {
	r.t.Helper()
	out := map[partition.ID]Partition{}
	for _, name := range topics {
		src, err := r.src.DescribeTopics(r.t.Context(), name)
		if err != nil || src[0].Err != nil {
			r.t.Fatal(err, src)
		}
		dst, err := r.dst.DescribeTopics(r.t.Context(), "A."+name)
		if err != nil || dst[0].Err != nil {
			r.t.Fatal(err, dst)
		}
		for i := range src[0].Partitions {
			tp := partition.ID{Topic: name, Partition: i}
			out[tp] = Partition{TP: tp, Remote: "A." + name, SourceTopicID: src[0].ID, TargetTopicID: dst[0].ID, MaxBytes: 1 << 20}
		}
	}
	return out
}

// running is a flow with all its lanes.
type running struct {
	flow   *Flow
	stop   context.CancelFunc // drain and release
	kill   context.CancelFunc // as SIGKILL: nothing more is sent
	wg     sync.WaitGroup
	errs   []error
	flowed chan error
}

func (r *rig) start(ps map[partition.ID]Partition) *running {
	r.t.Helper()
	f := NewFlow(r.settings, Clients{Source: r.src, Target: r.dst, SourceMeta: kafka.NewMetadata(r.src), TargetMeta: kafka.NewMetadata(r.dst)}, always{}, nil, r.log)
	abort, kill := context.WithCancel(context.Background())
	ctx, stop := context.WithCancel(abort)
	run := &running{flow: f, stop: stop, kill: kill, flowed: make(chan error, 1), errs: make([]error, r.settings.Lanes)}
	flowCtx, flowStop := context.WithCancel(context.Background())
	go func() { run.flowed <- f.Run(flowCtx) }()
	f.SetPartitions(ps)
	f.SetExisting(r.existing)
	for n := range r.settings.Lanes {
		run.wg.Go(func() { run.errs[n] = f.RunLane(ctx, abort, n) })
	}
	r.t.Cleanup(func() {
		kill()
		run.wg.Wait()
		flowStop()
		if err := <-run.flowed; err != nil && !errors.Is(err, context.Canceled) {
			r.t.Errorf("flow: %v", err)
		}
		f.Close()
	})
	return run
}

func (r *rig) produce(topic string, from, n int) {
	r.t.Helper()
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", (from+i)%17), Value: fmt.Appendf(nil, "seq=%d", from+i)}
	}
	if err := r.src.Kgo().ProduceSync(r.t.Context(), recs...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// read gives all values of a topic by partition, as a read_committed consumer sees them.
func (r *rig) read(c *kafka.Client, topic string) map[int32][]string {
	r.t.Helper()
	ends, err := c.Admin().ListCommittedOffsets(r.t.Context(), topic)
	if err != nil {
		r.t.Fatal(err)
	}
	starts, err := c.Admin().ListStartOffsets(r.t.Context(), topic)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[int32][]string{}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Cluster().Bootstrap...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: whole(starts, topic)}))
	if err != nil {
		r.t.Fatal(err)
	}
	defer cl.Close()
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if s, _ := starts.Lookup(topic, o.Partition); o.Offset > s.Offset {
			left[o.Partition] = o.Offset
		}
	})
	ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Second)
	defer cancel()
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			r.t.Fatalf("reading %s: still missing %v", topic, left)
		}
		fs.EachRecord(func(rec *kgo.Record) {
			if !rec.Attrs.IsControl() {
				out[rec.Partition] = append(out[rec.Partition], string(rec.Value))
			}
			if rec.Offset+1 >= left[rec.Partition] {
				delete(left, rec.Partition)
			}
		})
	}
	return out
}

func whole(starts kadm.ListedOffsets, topic string) map[int32]kgo.Offset {
	out := map[int32]kgo.Offset{}
	starts.Each(func(o kadm.ListedOffset) {
		if o.Topic == topic {
			out[o.Partition] = kgo.NewOffset().At(o.Offset)
		}
	})
	return out
}

// same waits until the target holds exactly what the source holds, in order.
func (r *rig) same(topic string) {
	r.t.Helper()
	want := r.read(r.src, topic)
	ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Second)
	defer cancel()
	for {
		got := r.read(r.dst, "A."+topic)
		if diff := firstDifference(want, got); diff == "" {
			return
		} else if ctx.Err() != nil || longer(got, want) {
			r.t.Fatalf("%s: %s", topic, diff)
		}
		if !pause.For(ctx, 50*time.Millisecond) {
			continue
		}
	}
}

func longer(a, b map[int32][]string) bool {
	for p := range a {
		if len(a[p]) > len(b[p]) {
			return true
		}
	}
	return false
}

func firstDifference(want, got map[int32][]string) string {
	for p, w := range want {
		g := got[p]
		for i := range w {
			if i >= len(g) {
				return fmt.Sprintf("partition %d: %d records of %d", p, len(g), len(w))
			}
			if w[i] != g[i] {
				return fmt.Sprintf("partition %d record %d: %q, want %q", p, i, g[i], w[i])
			}
		}
		if len(g) > len(w) {
			return fmt.Sprintf("partition %d: %d records, source holds %d", p, len(g), len(w))
		}
	}
	return ""
}

func TestMirrorPlainTopic(t *testing.T) {
	r := newRig(t, 4)
	r.create(r.src, "orders", 6, nil)
	r.create(r.dst, "A.orders", 6, nil)
	r.produce("orders", 0, 5000)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	r.produce("orders", 5000, 1000)
	r.same("orders")
	run.stop()
	run.wg.Wait()
	for n, err := range run.errs {
		if err != nil {
			t.Errorf("lane %d: %v", n, err)
		}
	}
	// A clean hand-over goes on where it stopped.
	r.produce("orders", 6000, 500)
	r.start(r.partitions("orders"))
	r.same("orders")
}

func TestMirrorAfterKill(t *testing.T) {
	r := newRig(t, 2)
	r.create(r.src, "orders", 3, nil)
	r.create(r.dst, "A.orders", 3, nil)
	seq := 0
	for range 5 {
		r.produce("orders", seq, 2000)
		seq += 2000
		run := r.start(r.partitions("orders"))
		r.produce("orders", seq, 2000)
		seq += 2000
		for run.flow.Totals().Records.Load() < 500 {
			if !pause.For(t.Context(), time.Millisecond) {
				t.Fatal("nothing is mirrored")
			}
		}
		run.kill()
		run.wg.Wait()
	}
	r.start(r.partitions("orders"))
	r.same("orders")
}

// A lane that is lost leaves nothing behind: the bytes that it held go back to the flow's budget.
func TestLostLaneGivesItsBytesBack(t *testing.T) {
	r := newRig(t, 1)
	r.create(r.src, "orders", 3, nil)
	r.create(r.dst, "A.orders", 3, nil)
	r.produce("orders", 0, 20_000)
	run := r.start(r.partitions("orders"))
	for run.flow.budget.Used() == 0 {
		if !pause.For(t.Context(), 100*time.Microsecond) {
			t.Fatal("nothing is fetched")
		}
	}
	run.kill()
	run.wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	for run.flow.budget.Used() != 0 {
		if !pause.For(ctx, time.Millisecond) {
			t.Fatalf("%d bytes are still held", run.flow.budget.Used())
		}
	}
}

// docs/stopped.md: with its head deleted from the ledger and the remote topic empty again, a partition is mirrored anew.
func TestMirrorAnewWithoutItsHead(t *testing.T) {
	r := newRig(t, 1)
	r.create(r.src, "orders", 1, nil)
	r.create(r.dst, "A.orders", 1, nil)
	r.produce("orders", 0, 500)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.stop()
	run.wg.Wait()
	if err := r.target.DeleteTopic("A.orders"); err != nil {
		t.Fatal(err)
	}
	r.create(r.dst, "A.orders", 1, nil)
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.target.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: r.settings.Ledger, Key: []byte("head/0/orders")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	r.produce("orders", 500, 100)
	r.start(r.partitions("orders"))
	r.same("orders")
}
