package wire

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// TestFetchAsTheOptionsSay: the sizes and the wait of the options are in the requests.
func TestFetchAsTheOptionsSay(t *testing.T) {
	c := fake(t, 1, "t", 1)
	got := make(chan kmsg.FetchRequest, 1)
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		got <- *req.(*kmsg.FetchRequest)
		return nil, nil, false
	})
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{MinBytes: 1234, MaxBytes: 234567, PartitionMaxBytes: 34567, MaxWait: 123 * time.Millisecond, Isolation: 1})
	f.Want(partition.ID{Topic: "t"}, 0, -1)
	r := <-got
	if r.MinBytes != 1234 || r.MaxBytes != 234567 || r.MaxWaitMillis != 123 || r.Topics[0].Partitions[0].PartitionMaxBytes != 34567 || r.IsolationLevel != 1 {
		t.Errorf("the request says %+v", r)
	}
}

// TestProduceRequestBytes: batches that together are larger than the option go in requests of their own.
func TestProduceRequestBytes(t *testing.T) {
	const parts = 4
	c := fake(t, 1, "t", parts)
	batches := make(chan int, parts)
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		n := 0
		for _, rt := range req.(*kmsg.ProduceRequest).Topics {
			n += len(rt.Partitions)
		}
		batches <- n
		return nil, nil, false
	})
	p := startProducer(t, netTo(t, c, nil), ProduceOptions{RequestBytes: 5000})
	var done []<-chan Result
	for part := range int32(parts) {
		done = append(done, p.queue(partition.ID{Topic: "t", Partition: part}, numbered(t, 0, 1, 4000, -1)))
	}
	for _, d := range done {
		if r := p.await(d); r.Code != 0 || r.Err != nil {
			t.Errorf("%+v", r)
		}
		if n := <-batches; n != 1 {
			t.Errorf("a request holds %d batches of 4,000 bytes, the bound is 5,000", n)
		}
	}
}

// TestRequestTimeoutOfTheCluster: a broker that does not answer is given up after the cluster's own time-out, and it is told
// that time for the replication of a batch.
func TestRequestTimeoutOfTheCluster(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, func(kc *kafka.Cluster) { kc.Settings.RequestTimeout = 200 * time.Millisecond })
	told := make(chan int32, 10)
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		told <- req.(*kmsg.ProduceRequest).TimeoutMillis
		return nil, nil, false
	})
	p := startProducer(t, n, ProduceOptions{})
	if r := p.send(partition.ID{Topic: "t"}, numbered(t, 0, 1, 10, -1)); r.Err != nil || r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	if ms := <-told; ms != 200 {
		t.Errorf("the broker was told %d ms", ms)
	}
	conn, err := n.dial(testContext(t), c.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close(ErrClosed)
	hold := make(chan struct{})
	defer close(hold)
	c.ControlKey(int16(kmsg.ApiVersions), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	began := time.Now()
	if err := conn.hello(testContext(t)); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("a broker that says nothing: %v after %v", err, time.Since(began))
	}
}

// TestBackoffsOfTheCluster: the pauses begin and end where the settings say.
func TestBackoffsOfTheCluster(t *testing.T) {
	n := New(kafka.Cluster{Settings: kafka.Settings{RetryBackoff: time.Second, ReconnectBackoff: 80 * time.Millisecond, ReconnectBackoffMax: 160 * time.Millisecond}}, nil, nil)
	for _, c := range []struct {
		b           backoff
		failures    int
		least, most time.Duration
	}{
		{n.seekBackoff(), 1, 800 * time.Millisecond, 1200 * time.Millisecond},
		{n.seekBackoff(), 9, 800 * time.Millisecond, 1200 * time.Millisecond}, // above the default's maximum, so its own
		{n.dialBackoff(), 1, 70 * time.Millisecond, 90 * time.Millisecond},
		{n.dialBackoff(), 9, 140 * time.Millisecond, 180 * time.Millisecond},
	} {
		if d := c.b.after(c.failures); d < c.least || d > c.most {
			t.Errorf("%v after %d failures, want %v to %v", d, c.failures, c.least, c.most)
		}
	}
}

// TestIdleConnectionIsNotUsedAgain: a connection that rested for longer than the cluster's settings say is given up before
// the next request, not by it; one that rested for less stays.
func TestIdleConnectionIsNotUsedAgain(t *testing.T) {
	for _, tc := range []struct {
		idle  time.Duration
		conns int64
	}{{100 * time.Millisecond, 3}, {time.Minute, 0}} {
		c := fake(t, 1, "t", 1)
		var dials atomic.Int64
		n := netTo(t, c, func(kc *kafka.Cluster) {
			kc.Settings.IdleTimeout = tc.idle
			kc.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}
		})
		p := startProducer(t, n, ProduceOptions{})
		before := int64(0)
		for i := range 4 {
			if r := p.send(partition.ID{Topic: "t"}, numbered(t, i, 1, 10, -1)); r.Err != nil || r.Code != 0 || r.BaseOffset != int64(i) {
				t.Fatalf("%v: %+v", tc.idle, r)
			}
			if i == 0 { // metadata was asked for as well
				before = dials.Load()
			}
			pause := time.NewTimer(200 * time.Millisecond)
			<-pause.C
		}
		if got := dials.Load() - before; got != tc.conns {
			t.Errorf("rests of 200ms with an idle time-out of %v: %d more connections, want %d", tc.idle, got, tc.conns)
		}
	}
}
