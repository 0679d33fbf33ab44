package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// resender sends batches in order and, after a failure, sends those without
// success again in order, as identical bytes: what a lane does.
type resender struct {
	p       *Producer
	tp      partition.ID
	batches [][]byte

	mu      sync.Mutex
	pending int // batches under way
	failed  bool
	acked   []bool
	results []Result
	order   []int // Done calls
	done    chan struct{}
}

func newResender(t testing.TB, p *Producer, tp partition.ID, count, per int, pid int64) *resender {
	r := &resender{p: p, tp: tp, acked: make([]bool, count), done: make(chan struct{})}
	for i := range count {
		r.batches = append(r.batches, numbered(t, i*per, per, 50, pid))
	}
	return r
}

// send sends everything that has no success yet.
func (r *resender) send() {
	r.mu.Lock()
	r.failed = false
	var again []int
	for i, ok := range r.acked {
		if !ok {
			again = append(again, i)
		}
	}
	r.pending += len(again)
	r.mu.Unlock()
	for _, i := range again {
		r.p.Send(Batch{TP: r.tp, Bytes: r.batches[i], Done: func(res Result) { r.result(i, res) }})
	}
}

func (r *resender) result(i int, res Result) {
	r.mu.Lock()
	r.order = append(r.order, i)
	r.results = append(r.results, res)
	r.pending--
	if res.Code == 0 && res.Err == nil {
		r.acked[i] = true
	} else {
		r.failed = true
	}
	idle, failed := r.pending == 0, r.failed
	r.mu.Unlock()
	switch {
	case idle && failed:
		r.send()
	case idle:
		close(r.done)
	}
}

func (r *resender) wait(t testing.TB) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		t.Fatal("not everything was acknowledged")
	}
}

func TestProduceKeepsOrderAtEveryDepth(t *testing.T) {
	for depth := 1; depth <= 5; depth++ {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			t.Parallel()
			c := fake(t, 2, "t", 4)
			var mu sync.Mutex
			most, now := 0, 0
			n := netTo(t, c, nil)
			p := startProducer(t, n, ProduceOptions{Depth: depth})
			c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
				p.mu.Lock()
				defer p.mu.Unlock()
				mu.Lock()
				defer mu.Unlock()
				for _, b := range p.brokers {
					now = b.flying
					most = max(most, now)
				}
				seen := map[partition.ID]bool{}
				for _, rt := range req.(*kmsg.ProduceRequest).Topics {
					for _, rp := range rt.Partitions {
						tp := partition.ID{Topic: rt.Topic, Partition: rp.Partition}
						if seen[tp] {
							t.Errorf("%v is twice in a request", tp)
						}
						seen[tp] = true
					}
				}
				return nil, nil, false
			})
			var rs []*resender
			for part := range int32(4) {
				r := newResender(t, p.Producer, partition.ID{Topic: "t", Partition: part}, 100, 3, 77)
				rs = append(rs, r)
				r.send()
			}
			for part, r := range rs {
				r.wait(t)
				wantRun(t, r.order, 100) // one Done each, in order, no failure
				for i, res := range r.results {
					if res.BaseOffset != int64(3*i) {
						t.Fatalf("batch %d has base offset %d", i, res.BaseOffset)
					}
				}
				wantRun(t, stored(t, n, partition.ID{Topic: "t", Partition: int32(part)}, 300), 300)
			}
			mu.Lock()
			defer mu.Unlock()
			if most > depth || depth > 1 && most < 2 {
				t.Errorf("at most %d requests were under way, depth %d", most, depth)
			}
		})
	}
}

func TestProduceFollowsTheLeader(t *testing.T) {
	c := fake(t, 3, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{Depth: 3})
	tp := partition.ID{Topic: "t"}
	if r := p.send(tp, numbered(t, 0, 1, 10, -1)); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	asked := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Observe: true, Count: -1})
	var produced int
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if produced++; produced%20 == 0 {
			if err := c.MoveTopicPartition("t", 0, (c.LeaderFor("t", 0)+1)%3); err != nil {
				t.Error(err)
			}
		}
		return nil, nil, false
	})
	r := newResender(t, p.Producer, tp, 200, 2, 5)
	r.send()
	r.wait(t)
	refused := 0
	for _, res := range r.results {
		if res.Code == kerr.NotLeaderForPartition.Code {
			refused++
		}
	}
	if refused == 0 {
		t.Error("the leader never moved")
	}
	// KIP-951: the answers name the new leader.
	if hits := asked.Hits(); hits > 1 {
		t.Errorf("%d metadata requests for %d moves", hits, refused)
	}
	got := stored(t, n, tp, 401)
	wantRun(t, got[1:], 400)
}

func TestProduceUnsentAfterFailure(t *testing.T) {
	c := fake(t, 1, "t", 2)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{Depth: 2})
	bad, good := partition.ID{Topic: "t"}, partition.ID{Topic: "t", Partition: 1}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.MessageTooLarge})
	hold := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.DropControl()
		<-hold // until all are queued
		return nil, nil, false
	})
	var done []<-chan Result
	for i := range 5 {
		done = append(done, p.queue(bad, numbered(t, i, 1, 10, -1)))
	}
	ok := p.queue(good, numbered(t, 0, 1, 10, -1))
	close(hold)
	if r := p.await(done[0]); r.Code != kerr.MessageTooLarge.Code || r.Err != nil || r.BaseOffset != -1 || r.Message == "" {
		t.Errorf("first: %+v", r)
	}
	unsent := 0
	for _, d := range done[1:] {
		r := p.await(d)
		if errors.Is(r.Err, ErrUnsent) {
			unsent++
			if !r.Sent.IsZero() {
				t.Errorf("an unsent batch was sent at %v", r.Sent)
			}
		}
	}
	if unsent < 3 { // one may have been under way already
		t.Errorf("%d batches came back unsent", unsent)
	}
	if r := p.await(ok); r.Code != 0 || r.Err != nil {
		t.Errorf("the neighbour: %+v", r)
	}
	if r := p.send(bad, numbered(t, 0, 1, 10, -1)); r.Code != 0 || r.Err != nil {
		t.Errorf("after the failure: %+v", r)
	}
}

func TestProduceBlackHoleIsInDoubt(t *testing.T) {
	c := fake(t, 1, "t", 2)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{Timeout: 150 * time.Millisecond, Depth: 2})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 1, 1, 10)
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, true })
	began := time.Now()
	var order []int
	var mu sync.Mutex
	results := make(chan Result, 5)
	for i := range 5 {
		p.Send(Batch{TP: tp, Bytes: numbered(t, i, 1, 10, -1), Done: func(r Result) {
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			results <- r
		}})
	}
	doubt := 0
	for range 5 {
		r := <-results
		switch {
		case r.Err == nil:
			t.Errorf("a batch got an answer: %+v", r)
		case !errors.Is(r.Err, ErrUnsent):
			doubt++
			if r.Sent.Before(began) || !strings.Contains(r.Err.Error(), "did not answer Produce within 250ms") {
				t.Errorf("in doubt: %+v", r)
			}
		}
	}
	if took := time.Since(began); took < 200*time.Millisecond || took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if doubt < 1 || doubt > 2 {
		t.Errorf("%d batches are in doubt, want those under way", doubt)
	}
	wantRun(t, order, 5)
	if r := p.send(tp, numbered(t, 0, 1, 10, -1)); r.Err != nil || r.Code != 0 {
		t.Errorf("on the next connection: %+v", r)
	}
}

func TestProduceWithoutLeader(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	gone := partition.ID{Topic: "t", Partition: 9}
	if r := p.send(gone, numbered(t, 0, 1, 10, -1)); r.Code != kerr.UnknownTopicOrPartition.Code || r.Err != nil || r.Message == "" {
		t.Errorf("no such partition: %+v", r)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: kerr.LeaderNotAvailable, Count: -1})
	n.md = netTo(t, c, nil).md // one that knows nothing
	p = startProducer(t, n, ProduceOptions{Timeout: 200 * time.Millisecond})
	began := time.Now()
	r := p.send(partition.ID{Topic: "t"}, numbered(t, 0, 1, 10, -1))
	if !errors.Is(r.Err, ErrUnsent) || time.Since(began) < 200*time.Millisecond {
		t.Errorf("no leader: after %v %+v", time.Since(began), r)
	}
}

func TestProducerEndsEveryBatch(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 1, 1, 10)
	reached := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(reached)
		return nil, nil, true // never answered
	})
	var done []<-chan Result
	for i := range 3 {
		done = append(done, p.queue(tp, numbered(t, i, 1, 10, -1)))
	}
	<-reached
	began := time.Now()
	p.stop()
	if took := time.Since(began); took > time.Second {
		t.Errorf("stopping took %v", took)
	}
	for i, d := range done {
		select {
		case r := <-d:
			if r.Err == nil || errors.Is(r.Err, ErrUnsent) != (i > 0) {
				t.Errorf("batch %d: %+v", i, r)
			}
			if i == 0 && !errors.Is(r.Err, context.Canceled) {
				t.Errorf("batch %d: %v", i, r.Err)
			}
		default:
			t.Errorf("batch %d has no result after Run", i)
		}
	}
	if r := p.send(tp, numbered(t, 0, 1, 10, -1)); !errors.Is(r.Err, ErrUnsent) {
		t.Errorf("after the end: %+v", r)
	}
}
