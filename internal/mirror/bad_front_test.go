package mirror

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// TestGoodBeforeBad: what stands in front of a batch that cannot be mirrored is mirrored, also where one answer brings both,
// and while the partition is stopped each try at that batch leaves the groups' verdicts as they are.
func TestGoodBeforeBad(t *testing.T) {
	r := newRig(t, 1)
	run, tp := r.atLarge()
	r.until("what stands in front", func() (bool, string) {
		n := len(r.read(r.dst, "A.orders")[0])
		return n == 10, fmt.Sprint(n)
	})
	var fetches atomic.Int32
	r.source.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		r.source.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	tries := func(n int32) {
		r.until("tries", func() (bool, string) { return fetches.Load() > n, fmt.Sprint(fetches.Load()) })
	}
	tries(2)
	before := len(r.verdicts("watch", tp))
	tries(10)
	if n := len(r.verdicts("watch", tp)) - before; n > 0 {
		t.Errorf("%d rows more about one position of a partition that stays stopped", n)
	}
	if states := r.states(tp); slices.Contains(states[slices.Index(states, ledger.Stopped):], ledger.Running) {
		t.Errorf("the head says of a partition that stays stopped: %v", states)
	}
	run.flow.SetPartitions(r.partitions("orders"))
	r.same("orders")
	r.until("the head to say that it runs", func() (bool, string) {
		states := r.states(tp)
		return states[len(states)-1] == ledger.Running, ""
	})
	r.judged(run, "watch", tp, 1, func(v translate.Verdict) bool { return v.Kind == translate.Exact })
}

// TestGoodBeforeDamagedSmall: small batches go to the target packed as one, and a damaged one among them holds back none that
// stands in front of it.
func TestGoodBeforeDamagedSmall(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.both("payments", 1)
	r.batches("orders", 500, 500, 500, 500)
	l := r.lie("orders", "payments")
	stored := split(r.stored("orders"))
	stored[2].bytes = flipped(stored[2].bytes, 200)
	l.tell(stored)
	run := r.start(r.partitions("orders", "payments"))
	r.stopped(run, partition.ID{Topic: "orders"}, "damaged", "offset 10: ", "crc")
	r.until("what stands in front", func() (bool, string) {
		n := len(r.read(r.dst, "A.orders")[0])
		return n == 10, fmt.Sprint(n)
	})
}

// TestStoppedAcrossRestarts: a partition stays stopped for its groups when its worker is restarted, or another one takes it:
// no position is written in between.
func TestStoppedAcrossRestarts(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", kill), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			run, tp := r.atLarge()
			if kill {
				run.kill()
			} else {
				run.stop()
			}
			run.wg.Wait()
			before := len(r.verdicts("watch", tp))
			log := r.listen()
			run = r.start(r.capped(2000, "orders"))
			run.commit("watch", tp, 1)
			r.until("the stop", func() (bool, string) { return log.line("partition stopped", "larger than"), "" })
			r.until("its row", func() (bool, string) { n := len(r.verdicts("watch", tp)); return n > before, fmt.Sprint(n) })
			for _, v := range r.verdicts("watch", tp)[before:] {
				if v.HasPosition() {
					t.Errorf("a position in between: %v", v)
				}
			}
		})
	}
}

// TestGoodBeforeWhatTheBrokerRefuses: the source's broker finds the damage itself, or has removed what follows. What was fetched
// in front of it goes to the target before the partition stops, without a fence.
func TestGoodBeforeWhatTheBrokerRefuses(t *testing.T) {
	for _, refusal := range []*kerr.Error{kerr.CorruptMessage, kerr.OffsetOutOfRange} {
		t.Run(refusal.Message, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			log := r.listen()
			r.settings.PartitionFetchBytes = 300_000
			r.both("orders", 1)
			r.batches("orders", slices.Repeat([]int{50_000}, 60)...)
			r.source.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Count: -1, Err: refusal, When: func(kreq kmsg.Request) bool {
				return slices.ContainsFunc(kreq.(*kmsg.FetchRequest).Topics, func(rt kmsg.FetchRequestTopic) bool {
					return slices.ContainsFunc(rt.Partitions, func(p kmsg.FetchRequestTopicPartition) bool { return p.FetchOffset >= 145 })
				})
			}})
			held := make(chan struct{}) // the target answers nothing about data until the source has refused
			r.target.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				r.target.KeepControl()
				for _, rt := range kreq.(*kmsg.ProduceRequest).Topics {
					if rt.TopicID == r.target.TopicInfo("A.orders").TopicID {
						r.target.SleepControl(func() { <-held })
					}
				}
				return nil, nil, false
			})
			refused := make(chan struct{})
			var once sync.Once
			r.source.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				r.source.KeepControl()
				for _, rt := range kreq.(*kmsg.FetchRequest).Topics {
					for _, p := range rt.Partitions {
						if p.FetchOffset >= 145 {
							once.Do(func() { close(refused) })
						}
					}
				}
				return nil, nil, false
			})
			r.start(r.partitions("orders"))
			<-refused
			close(held)
			r.until("what was fetched", func() (bool, string) {
				n := len(r.read(r.dst, "A.orders")[0])
				return n >= 145, fmt.Sprint(n)
			})
			if n := log.count("partition fenced"); n > 0 {
				t.Errorf("fenced %d times", n)
			}
		})
	}
}

// states are what the heads of a partition have said, in order.
func (r *rig) states(tp partition.ID) (out []ledger.State) {
	r.t.Helper()
	k := ledger.Key{Kind: ledger.KindHead, Topic: tp.Topic, Partition: tp.Partition}
	for _, rec := range r.history(r.settings.Ledger, k.String()) {
		h, err := ledger.DecodeHead(k, rec.Value)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, h.State)
	}
	return out
}

// atLarge is a run whose only partition has stopped behind ten records, at one that its remote topic does not take.
func (r *rig) atLarge() (*running, partition.ID) {
	r.t.Helper()
	r.both("orders", 1)
	r.produce("orders", 0, 10)
	r.write(r.src, &kgo.Record{Topic: "orders", Value: incompressible(5000)})
	run, tp := r.start(r.capped(2000, "orders")), partition.ID{Topic: "orders"}
	r.stopped(run, tp, "larger than", "offset 10")
	return run, tp
}

func incompressible(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// capped are partitions of a remote topic that takes small batches only.
func (r *rig) capped(n int32, topics ...string) map[partition.ID]Partition {
	ps := r.partitions(topics...)
	for tp, p := range ps {
		p.MaxBytes = n
		ps[tp] = p
	}
	return ps
}

// verdicts are all that were written about a position, in order.
func (r *rig) verdicts(group string, tp partition.ID) (out []translate.Verdict) {
	r.t.Helper()
	for _, rec := range r.history(r.settings.Verdicts, string(verdicts.Key{Group: group, Topic: tp.Topic, Partition: tp.Partition}.EncodeKey())) {
		row, err := verdicts.ParseRow(rec.Value)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, row.Verdict)
	}
	return out
}
