package wire

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
	"tidemark/internal/partition"
)

func TestFetchFollowsTheLeaderByHints(t *testing.T) {
	c := fake(t, 3, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 300, 1, 50)
	asked := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Observe: true, Count: -1})
	f := startFetcher(t, n, FetchOptions{PartitionMaxBytes: 300})
	f.Want(tp, 0, -1)
	var got []int
	for moves := 0; len(got) < 300; {
		x := f.next()
		if x.Code != 0 || x.Err != nil {
			t.Fatalf("%+v", x)
		}
		more, err := numbers(x.Records, x.Offset)
		if err != nil {
			t.Fatal(err)
		}
		x.Release()
		got = append(got, more...)
		if len(got) > 30*(moves+1) {
			moves++
			if err := c.MoveTopicPartition("t", 0, (c.LeaderFor("t", 0)+1)%3); err != nil {
				t.Fatal(err)
			}
		}
		f.Want(tp, x.Offset+int64(len(more)), -1)
	}
	wantRun(t, got, 300)
	if hits := asked.Hits(); hits > 1 {
		t.Errorf("%d metadata requests, though each answer named the leader", hits)
	}
}

func TestFetchFollowsTheLeaderByMetadata(t *testing.T) {
	c := fake(t, 2, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 2, 1, 50)
	f := startFetcher(t, n, FetchOptions{PartitionMaxBytes: 1})
	f.Want(tp, 0, -1)
	f.next().Release()
	// The old leader knows nothing about the new one.
	c.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.TopicID = req.Topics[0].TopicID
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.ErrorCode = kerr.NotLeaderForPartition.Code
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	if err := c.MoveTopicPartition("t", 0, 1-c.LeaderFor("t", 0)); err != nil {
		t.Fatal(err)
	}
	f.Want(tp, 1, -1)
	x := f.next()
	if x.Code != 0 || x.Err != nil || x.Offset != 1 {
		t.Fatalf("%+v", x)
	}
	x.Release()
}

func TestTopicThatIsGoneOrNew(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	tp := partition.ID{Topic: "t"}
	fill(t, startProducer(t, n, ProduceOptions{}), tp, 3, 1, 10)
	f := startFetcher(t, n, FetchOptions{MaxWait: 30 * time.Millisecond})
	f.Want(tp, 0, -1)
	f.next().Release()
	f.Want(tp, 3, -1)

	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	x := f.next()
	if x.Code != kerr.UnknownTopicOrPartition.Code && x.Code != kerr.UnknownTopicID.Code {
		t.Fatalf("deleted: %+v", x)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	f.Want(tp, 0, -1) // the caller knows now
	if x := f.any(); x.Code != 0 || x.HighWatermark != 0 {
		t.Fatalf("the new topic: %+v", x)
	}

	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	if x = f.next(); x.Code != kerr.UnknownTopicID.Code {
		t.Fatalf("created again: %+v", x)
	}
}

func TestDivergingEpoch(t *testing.T) {
	c := fake(t, 1, "t", 1)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, 9, 10)}}
	var epoch atomic.Int32
	s.shape = func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		epoch.Store(req.Topics[0].Partitions[0].LastFetchedEpoch)
		p := &resp.Topics[0].Partitions[0]
		p.RecordBatches = []byte{}
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 3, 5
	}
	s.serve(c)
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{MaxWait: 20 * time.Millisecond})
	f.Want(partition.ID{Topic: "t"}, 7, 4)
	x := f.next()
	if x.Diverging == nil || *x.Diverging != (EpochEnd{3, 5}) || x.Offset != 7 || x.Code != 0 || epoch.Load() != 4 {
		t.Errorf("%+v, sent epoch %d", x, epoch.Load())
	}
	f.silent(80 * time.Millisecond) // disarmed
}

func TestThrottleHoldsTheConnection(t *testing.T) {
	c := fake(t, 1, "t", 1)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, 9, 10)}}
	s.shape = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		if len(s.requests) == 2 {
			resp.ThrottleMillis = 300
			resp.Topics[0].Partitions[0].RecordBatches = []byte{} // as brokers do
		}
	}
	s.serve(c)
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{PartitionMaxBytes: 1})
	tp := partition.ID{Topic: "t"}
	f.Want(tp, 0, -1)
	for want := range int64(3) {
		x := f.next()
		if x.Offset != want {
			t.Fatalf("%+v", x)
		}
		x.Release()
		f.Want(tp, want+1, -1)
	}
	s.mu.Lock()
	gap := s.times[2].Sub(s.times[1])
	s.mu.Unlock()
	if gap < 290*time.Millisecond {
		t.Errorf("the next fetch came %v after the throttled one", gap)
	}

	p := startProducer(t, n, ProduceOptions{})
	c.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		resp.ThrottleMillis = 300
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = "t", req.Topics[0].TopicID
		rt.Partitions = append(rt.Partitions, kmsg.NewProduceResponseTopicPartition())
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	if r := p.send(tp, numbered(t, 0, 1, 10, -1)); r.Err != nil {
		t.Fatal(r.Err)
	}
	began := time.Now()
	if r := p.send(tp, numbered(t, 0, 1, 10, -1)); r.Err != nil || r.Sent.Sub(began) < 250*time.Millisecond {
		t.Errorf("sent %v after a throttled answer: %+v", r.Sent.Sub(began), r)
	}
}

func TestFetchEndsQuickly(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{MaxWait: 20 * time.Second})
	f.Want(partition.ID{Topic: "t"}, 0, -1)
	eventually(t, "a long poll is under way", func() bool { return f.opt.Budget.Used() > 0 })
	began := time.Now()
	f.stop()
	if took := time.Since(began); took > time.Second {
		t.Errorf("stopping took %v", took)
	}
}

func TestScanReadsControlBatches(t *testing.T) {
	c := fake(t, 2, "t", 1)
	n := netTo(t, c, nil)
	ctx := testContext(t)
	txn, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Close()
	for i := range 6 {
		if err := txn.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := txn.ProduceSync(ctx, kgo.StringRecord("12345678"), kgo.StringRecord("12345678")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := txn.EndTransaction(ctx, kgo.TransactionEndTry(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	tp := partition.ID{Topic: "t"}
	for isolation := range int8(2) {
		var next, control, data, dropped int64
		err := n.Scan(ctx, tp, 0, 18, isolation, func(v batch.View, aborted bool) error {
			if aborted {
				dropped += int64(v.Count())
			}
			if v.BaseOffset() != next {
				t.Errorf("batch at %d, want %d", v.BaseOffset(), next)
			}
			next = v.NextOffset()
			if v.Control() {
				control++
			} else {
				data += int64(v.Count())
			}
			return v.CheckCRC()
		})
		// Every second transaction was aborted, which only read_committed tells.
		if err != nil || next != 18 || control != 6 || data != 12 || dropped != 6*int64(isolation) {
			t.Errorf("isolation %d: up to %d with %d control batches and %d records, %d of them aborted: %v",
				isolation, next, control, data, dropped, err)
		}
	}
	// From the middle of a batch, to the middle of another.
	var bases []int64
	err = n.Scan(ctx, tp, 4, 7, 0, func(v batch.View, _ bool) error { bases = append(bases, v.BaseOffset()); return nil })
	if err != nil || len(bases) != 3 || bases[0] != 3 || bases[1] != 5 || bases[2] != 6 {
		t.Errorf("batches at %v: %v", bases, err)
	}
	if err := n.Scan(ctx, tp, 5, 5, 0, nil); err != nil {
		t.Errorf("nothing to scan: %v", err)
	}
	stop := errors.New("enough")
	if err := n.Scan(ctx, tp, 0, 18, 0, func(batch.View, bool) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if err := c.DeleteRecords("t", 0, 12); err != nil {
		t.Fatal(err)
	}
	err = n.Scan(ctx, tp, 3, 18, 0, func(batch.View, bool) error { return nil })
	if e, ok := errors.AsType[*ErrOutOfRange](err); !ok || e.LogStart != 12 || e.Offset != 3 || e.TP != tp {
		t.Errorf("got %v", err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed})
	err = n.Scan(ctx, tp, 12, 18, 0, func(batch.View, bool) error { return nil })
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("got %v", err)
	}
}

func TestScanWaitsForTheLog(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 1, 1, 10)
	got := make(chan int64, 10)
	ended := make(chan error, 1)
	ctx := testContext(t)
	go func() {
		ended <- n.Scan(ctx, tp, 0, 2, 0, func(v batch.View, _ bool) error { got <- v.BaseOffset(); return nil })
	}()
	<-got
	fill(t, p, tp, 1, 1, 10)
	if err := <-ended; err != nil || len(got) != 1 {
		t.Errorf("%d more batches: %v", len(got), err)
	}
}
