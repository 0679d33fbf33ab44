package mirror

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// refuseWrites has the target refuse every write to one partition, as one with too few replicas, until it is told to take
// them again.
func (r *rig) refuseWrites(tp partition.ID) (again func()) {
	var over atomic.Bool
	r.target.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		if over.Load() {
			r.target.DropControl()
			return nil, nil, false
		}
		req := kreq.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		hit := false
		for _, rt := range req.Topics {
			name := rt.Topic
			if info := r.target.TopicIDInfo(rt.TopicID); name == "" && info != nil {
				name = info.Topic
			}
			t := kmsg.NewProduceResponseTopic()
			t.Topic, t.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode, p.BaseOffset = rp.Partition, kerr.NotEnoughReplicas.Code, -1
				t.Partitions = append(t.Partitions, p)
				hit = hit || name == tp.Topic && rp.Partition == tp.Partition
			}
			resp.Topics = append(resp.Topics, t)
		}
		r.target.KeepControl()
		if !hit {
			return nil, nil, false
		}
		return resp, nil, true // with it whatever else the request holds: that comes again
	})
	return func() { over.Store(true) }
}

// A ledger partition that cannot be written stops its own lane, whose backlog is larger than the flow's memory; the other
// lane goes on. Once it can be written again the lane follows.
func TestStalledLedgerStopsItsLaneOnly(t *testing.T) {
	const parts = 40
	r := newRig(t, 2)
	log := r.listen()
	r.both("orders", parts)
	run := r.start(r.partitions("orders"))
	r.produce("orders", 0, 4000) // all partitions get something, heads are written
	r.same("orders")
	again := r.refuseWrites(partition.ID{Topic: r.settings.Ledger, Partition: 0})
	r.produce("orders", 4000, 4000)
	r.until("a word about the ledger", func() (bool, string) {
		return log.line("our own topic cannot be written", r.settings.Ledger+"-0", "NOT_ENOUGH_REPLICAS"), ""
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.source.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(30_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	fill := func(lane int32, n int) {
		var recs []*kgo.Record
		for i := range int32(parts) {
			for k := range n {
				if ledger.LaneOf("orders", i, 2) == lane {
					recs = append(recs, &kgo.Record{Topic: "orders", Partition: i, Value: append(fmt.Appendf(nil, "%d-%d", i, k), make([]byte, 25_000)...)})
				}
			}
		}
		if err := cl.ProduceSync(t.Context(), recs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	fill(0, 60) // 1.5 MB each, the flow has 16 MiB
	fill(1, 4)
	r.until("the other lane to follow", func() (bool, string) {
		var lag int64
		for i := range int32(parts) {
			if ledger.LaneOf("orders", i, 2) == 1 {
				lag += r.end(r.src, partition.ID{Topic: "orders", Partition: i}) - r.end(r.dst, partition.ID{Topic: "A.orders", Partition: i})
			}
		}
		return lag == 0, fmt.Sprintf("%d records behind, %d of %d bytes used", lag, run.flow.budget.Used(), run.flow.budget.Total())
	})
	again()
	r.same("orders")
	if !log.line("our own topic is written again") {
		t.Error("the log does not say that it is over")
	}
}

// The newest head of a partition is the only one that waits while the ledger takes nothing, however often it is tried.
func TestHeadsDoNotPileUp(t *testing.T) {
	_, _, l := bareLane(t)
	l.sent()
	m := offsetmap.New(offsetmap.Origin{})
	_ = m.Append(offsetmap.Run{Source: 0, Target: 0, Count: 1})
	l.contents.Heads[partition.ID{Topic: "t"}] = ledger.Head{Topic: "t", RemoteTopic: "A.t", ProducerID: 77, Epoch: 8, Map: m.AppendTail(nil)}
	p := l.newPart(Partition{TP: partition.ID{Topic: "t"}, Remote: "A.t"})
	l.step(p, lane.Named{Facts: l.facts(p.Partition)})
	for range 360 { // an hour of tries, ten seconds each
		l.looks = nil
		l.step(p, lane.LookEnded{Err: "no answer"})
		l.act(p, p.core.Step(lane.Tick{}, now()+l.limits.StopRetry+1))
	}
	if n := l.ledger.Waiting(); n != 1 {
		t.Errorf("%d heads of one partition wait; only the last one counts", n)
	}
}

// What a look finds on the target is mirrored: it is counted, and told to MirrorMaker 2's readers.
func TestLandedByALookIsCounted(t *testing.T) {
	f, l, p := livePart(t)
	var got []offsetmap.SourceOffset
	f.syncs = func(_ string, _ int32, up offsetmap.SourceOffset, _ offsetmap.TargetOffset) { got = append(got, up) }
	f.sink(answerAt(p, 0, dataBatch(t, 0, 10)))
	l.handleAll() // the unit is on its way
	l.step(p, lane.Stop{Reason: "say"})
	l.act(p, p.core.Step(lane.Tick{}, now()+l.limits.StopRetry+1))
	l.handle(partFenced{part: p, round: p.round, epoch: 10})
	l.handle(partLooked{part: p, round: p.round, landed: []lane.Landed{{Base: 0, Count: 10, Ours: true, Epoch: 9, Sequence: 0}}, end: 10})
	l.syncIfDue(p, now()+10_000)
	if p.core.Map().Through() != 10 || len(got) != 1 || got[0] != 9 || f.counters.Records.Load() != 10 {
		t.Errorf("mirrored to %d, offset syncs %v, %d records counted", p.core.Map().Through(), got, f.counters.Records.Load())
	}
}

// A record whose time stamp is the largest there is, which any producer may send, is mirrored as any other.
func TestFarFuture(t *testing.T) {
	r := newRig(t, 1)
	log := r.listen()
	r.both("orders", 1)
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64 - r.settings.Limits.OldAfter + 1, time.Now().UnixMilli()} {
		r.stamped("orders", ms)
	}
	r.start(r.partitions("orders"))
	r.until("all of them", func() (bool, string) {
		end := r.end(r.dst, partition.ID{Topic: "A.orders"})
		return end == 3, fmt.Sprintf("the remote partition ends at %d", end)
	})
	if log.line("partition stopped") {
		t.Error("the partition was stopped")
	}
}

// stamped writes a batch of one record with a time stamp, as it is.
func (r *rig) stamped(topic string, ms int64) {
	r.t.Helper()
	b, err := batch.Build([]batch.Record{{Value: []byte("far"), Timestamp: ms}}, batch.None, batch.NoStamp())
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := r.src.DescribeTopics(r.t.Context(), topic)
	if err != nil {
		r.t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, got[0].ID
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = b
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := r.src.Kgo().Broker(int(r.source.LeaderFor(topic, 0))).Request(r.t.Context(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
		r.t.Fatal(err)
	}
}
