package wire

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// Without permission nothing is written: what is queued comes back as surely unsent, and with permission it goes out.
func TestProduceOnlyWhileAllowed(t *testing.T) {
	c := fake(t, 1, "t", 2)
	n := netTo(t, c, nil)
	var allowed atomic.Bool
	p := startProducer(t, n, ProduceOptions{Allowed: allowed.Load})
	var asked atomic.Int64
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	for i := range 2 {
		tp := partition.ID{Topic: "t", Partition: int32(i)}
		if r := p.send(tp, numbered(t, 0, 1, 10, -1)); !errors.Is(r.Err, ErrUnsent) {
			t.Errorf("not allowed: %+v", r)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were written", n)
	}
	allowed.Store(true)
	if r := p.send(partition.ID{Topic: "t"}, numbered(t, 0, 1, 10, -1)); r.Err != nil || r.Code != 0 {
		t.Errorf("allowed: %+v", r)
	}
}

// What waited for too long is not written: it comes back as surely unsent, with what is queued behind it, also when the
// wait is behind another batch of the partition. What has time, or none to keep, goes out.
func TestProduceNotAfter(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	tp := partition.ID{Topic: "t"}
	asked := make(chan struct{}, 8)
	wait := make(chan struct{}, 8)
	p := startProducer(t, n, ProduceOptions{Depth: 2, Allowed: func() bool {
		asked <- struct{}{}
		<-wait
		return true
	}})
	results := make(chan Result, 3)
	send := func(until time.Time) {
		p.Send(Batch{TP: tp, Bytes: numbered(t, 0, 1, 10, -1), NotAfter: until, Done: func(r Result) { results <- r }})
	}
	soon := time.Now().Add(50 * time.Millisecond)
	send(soon)
	send(time.Time{})
	<-asked // a connection is there
	<-time.After(time.Until(soon) + time.Millisecond)
	wait <- struct{}{}
	for range 2 {
		if r := p.await(results); !errors.Is(r.Err, ErrUnsent) {
			t.Errorf("too late: %+v", r)
		}
	}
	close(wait)
	held := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-held })
		return nil, nil, false
	})
	send(time.Now().Add(time.Hour))
	soon = time.Now().Add(50 * time.Millisecond)
	<-asked
	send(time.Now().Add(-time.Hour))
	send(soon)
	<-time.After(time.Until(soon) + time.Millisecond)
	close(held)
	if r := p.await(results); r.Err != nil || r.Code != 0 {
		t.Errorf("in time: %+v", r)
	}
	for range 2 {
		if r := p.await(results); !errors.Is(r.Err, ErrUnsent) {
			t.Errorf("too late behind another one: %+v", r)
		}
	}
	send(time.Time{})
	if r := p.await(results); r.Err != nil || r.Code != 0 || r.BaseOffset != 1 {
		t.Errorf("without a limit: %+v", r)
	}
}

// A batch that was made for a topic is refused by another topic under its name; a batch for whichever has the name goes on.
func TestProduceToTheTopicThatIsMeant(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 1, 1, 10)
	was, err := n.md.TopicID("t")
	if err != nil {
		t.Fatal(err)
	}
	send := func(id [16]byte) Result {
		done := make(chan Result, 1)
		p.Send(Batch{TP: tp, TopicID: id, Bytes: numbered(t, 0, 1, 10, -1), Done: func(r Result) { done <- r }})
		return p.await(done)
	}
	if r := send(was); r.Err != nil || r.Code != 0 || r.BaseOffset != 1 {
		t.Errorf("the topic itself: %+v", r)
	}
	other := was
	other[0] ^= 1
	if r := send(other); r.Code != kerr.UnknownTopicID.Code {
		t.Errorf("another topic under the name: %+v", r)
	}
	if r := send([16]byte{}); r.Err != nil || r.Code != 0 || r.BaseOffset != 2 {
		t.Errorf("by name: %+v", r)
	}
}

func TestProduceRequestsAreBounded(t *testing.T) {
	c := fake(t, 1, "t", 6, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "20000000"}), kfake.BlackholeProduce())
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	sizes := make(chan []int, 10)
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		var s []int
		for _, rt := range req.(*kmsg.ProduceRequest).Topics {
			for _, rp := range rt.Partitions {
				s = append(s, len(rp.Records))
			}
		}
		sizes <- s
		return nil, nil, false
	})
	five := numbered(t, 0, 1, 5<<20, -1)
	huge := numbered(t, 0, 1, 17<<20, -1)
	var done []<-chan Result
	for part := range int32(6) {
		b := five
		if part == 3 {
			b = huge
		}
		done = append(done, p.queue(partition.ID{Topic: "t", Partition: part}, b))
	}
	for _, d := range done {
		if r := p.await(d); r.Code != 0 || r.Err != nil {
			t.Errorf("%+v", r)
		}
	}
	batches := 0
	for batches < 6 {
		s := <-sizes
		total := 0
		for _, n := range s {
			total += n
		}
		if total > maxProduce && len(s) > 1 {
			t.Errorf("a request holds %d batches with %d bytes", len(s), total)
		}
		batches += len(s)
	}
}

// TestProduceOnAConnectionThatJustBroke is about the moment between looking at
// a connection and writing to it.
func TestProduceOnAConnectionThatJustBroke(t *testing.T) {
	for _, halted := range []bool{false, true} {
		c := fake(t, 1, "t", 1)
		n := netTo(t, c, nil)
		p := n.NewProducer(ProduceOptions{})
		b := newProduceBroker(p, 0)
		conn, err := n.dial(testContext(t), c.ListenAddrs()[0])
		if err != nil {
			t.Fatal(err)
		}
		b.link.conn = conn
		l := &line{tp: partition.ID{Topic: "t"}, broker: b}
		p.lines[l.tp] = l
		var results []Result
		for i := range 3 {
			p.Send(Batch{TP: l.tp, Bytes: numbered(t, i, 1, 10, -1), Done: func(r Result) { results = append(results, r) }})
		}
		cut := errors.New("cut")
		conn.close(cut)
		if halted {
			// An earlier batch failed with the connection; it is told already.
			l.halted, l.moved = true, true
		}
		if err := b.produce(); !errors.Is(err, cut) {
			t.Errorf("produce: %v", err)
		}
		if b.flying != 0 || l.flying != 0 {
			t.Errorf("%d requests and %d batches are under way", b.flying, l.flying)
		}
		if !halted {
			if len(l.queue) != 3 || !l.listed || len(results) != 0 {
				t.Errorf("%d batches queued, %d results", len(l.queue), len(results))
			}
			continue
		}
		if len(l.queue) != 0 || l.halted || l.broker != nil || len(results) != 3 {
			t.Errorf("%d batches queued, %d results, halted %v", len(l.queue), len(results), l.halted)
		}
		for _, r := range results {
			if !errors.Is(r.Err, ErrUnsent) {
				t.Errorf("%+v", r)
			}
		}
	}
}
