package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// brokersOfThree is held for writing while brokers of the suite's cluster of three are killed beside other tests.
var brokersOfThree sync.RWMutex

// toward makes another cluster the target of a flow that has not started yet.
func (f *flow) toward(r *testcluster.Real) {
	f.tb.Helper()
	f.rewrite(suite.target.BootstrapString(), r.BootstrapString())
	f.to = r
	f.dst = kadm.NewClient(r.Client(f.tb))
}

// awayFrom makes another cluster the source of a flow that has not started yet.
func (f *flow) awayFrom(r *testcluster.Real) {
	f.tb.Helper()
	f.rewrite(suite.source.BootstrapString(), r.BootstrapString())
	f.from = r
	f.src = kadm.NewClient(r.Client(f.tb))
}

// targetClient is a client of the flow's target.
func (f *flow) targetClient() *kgo.Client {
	f.tb.Helper()
	return f.writes().Client(f.tb)
}

// drip writes numbered records one by one, each in a batch of its own, in turn to the partitions of a topic, until it is
// stopped.
func (f *flow) drip(topic string, partitions int32, first int64, every time.Duration) (stop func()) {
	f.tb.Helper()
	cl, err := kgo.NewClient(append(f.reads().ClientOpts(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))...)
	if err != nil {
		f.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		defer cl.Close()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for seq := first; ; seq++ {
			select {
			case <-ctx.Done():
				done <- cl.Flush(context.WithoutCancel(ctx))
				return
			case <-tick.C:
				cl.Produce(context.WithoutCancel(ctx), numbered(topic, int32(seq%int64(partitions)), seq), func(_ *kgo.Record, err error) {
					f.wrote(err) // what counts is what the source holds in the end
				})
			}
		}
	}()
	var stopped bool
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			f.tb.Errorf("drip to %s: %v", topic, err)
		}
	}
	f.tb.Cleanup(stop)
	return stop
}

// whole says that what the target holds of topics is what the source holds, and that groups at random places in them, and
// those given, are exact.
func (f *flow) whole(seed uint64, at spots, topics ...string) {
	f.tb.Helper()
	all := f.anywhere(seed, 10, topics...)
	maps.Copy(all, at)
	f.same(topics...)
	f.exact(all, testcluster.ReadCommitted)
}

// term ends workers by SIGTERM, which must be a clean end in time.
func (f *flow) term(workers ...*worker) {
	f.tb.Helper()
	for _, w := range workers {
		began := time.Now()
		if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
			f.tb.Errorf("SIGTERM: after %v: %v", time.Since(began).Round(time.Millisecond), err)
		}
	}
}

// owns waits until a worker was given lanes.
func (f *flow) owns(workers ...*worker) {
	f.tb.Helper()
	for _, w := range workers {
		w.says(f, "lanes assigned", 1, 60*time.Second)
	}
}

// end0 is the log end of a topic's first partition on the target.
func (f *flow) end0(topic string) int64 {
	f.tb.Helper()
	ends, err := testcluster.Ends(f.tb.Context(), f.targetClient(), f.remote(topic), testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	return ends[0]
}

// checkpoints are all checkpoints that the flow has written about a group's position, oldest first.
func (f *flow) checkpoints(cl *kgo.Client, s spot) []mm2.Checkpoint {
	f.tb.Helper()
	recs, err := testcluster.Read(f.tb.Context(), cl, f.alias+".checkpoints.internal", testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	var out []mm2.Checkpoint
	for _, r := range recs {
		if c, err := mm2.ParseCheckpoint(r.Key, r.Value); err == nil && c.Group == s.group && c.Topic == f.remote(s.topic) && c.Partition == s.partition {
			out = append(out, c)
		}
	}
	return out
}

// steady says that the checkpoints of a position never step back and that each one, for the offset that it is about, is
// exact.
func (f *flow) steady(s spot, got []mm2.Checkpoint, c contents) {
	f.tb.Helper()
	for i, cp := range got {
		if i > 0 && (cp.Upstream < got[i-1].Upstream || cp.Downstream < got[i-1].Downstream) {
			f.tb.Errorf("%v: checkpoint %d -> %d follows %d -> %d", s, cp.Upstream, cp.Downstream, got[i-1].Upstream, got[i-1].Downstream)
		}
	}
	byUpstream := slices.CompactFunc(slices.Clone(got), func(a, b mm2.Checkpoint) bool { return a == b })
	for _, cp := range byUpstream {
		if err := testcluster.CheckPosition(c.source[s.partition], cp.Upstream, c.target[s.partition], cp.Downstream, c.ends[s.partition]); err != nil {
			f.tb.Errorf("%v: checkpoint %d -> %d: %v", s, cp.Upstream, cp.Downstream, err)
		}
	}
}

// topicConfig sets a setting of a remote topic, or removes it where value is empty.
func (f *flow) topicConfig(topic, name, value string) {
	f.tb.Helper()
	alter := kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value}
	if value == "" {
		alter = kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name}
	}
	got, err := f.dst.AlterTopicConfigs(f.tb.Context(), []kadm.AlterConfig{alter}, topic)
	if err == nil {
		_, err = got.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		f.tb.Fatalf("set %s=%s of %s: %v", name, value, topic, err)
	}
}

// red waits until status finds something, with all parts in what it prints.
func (f *flow) red(parts ...string) {
	f.tb.Helper()
	f.until(60*time.Second, "status --check finds "+strings.Join(parts, ", "), func(context.Context) (bool, string) {
		out, code := f.tool("status", "--check")
		missing := slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(out, p) })
		return code == 3 && !missing, fmt.Sprintf("exit %d: %s", code, out)
	})
}

// timed logs how long a part of a test took, and gives it.
func timed(t *testing.T, what string) func() time.Duration {
	began := time.Now()
	return func() time.Duration {
		took := time.Since(began).Round(10 * time.Millisecond)
		t.Logf("%s: %v", what, took)
		return took
	}
}
