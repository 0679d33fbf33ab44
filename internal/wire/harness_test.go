package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test; reaching it is a failure.
const patience = 100 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// fake starts an embedded cluster with a seeded topic.
func fake(t testing.TB, brokers int, topic string, partitions int32, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, topic)}, opts...)
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// netTo opens a Net to an embedded cluster. change, if not nil, may set
// security or the dialer.
func netTo(t testing.TB, c *kfake.Cluster, change func(*kafka.Cluster)) *Net {
	t.Helper()
	cl := kafka.Cluster{Alias: "A", Bootstrap: c.ListenAddrs()}
	if change != nil {
		change(&cl)
	}
	log := slog.New(slog.DiscardHandler)
	client, err := kafka.Open(cl, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	n := New(cl, kafka.NewMetadata(client), log)
	t.Cleanup(n.Close)
	return n
}

// background runs fn until stop is called, which fails the test if fn did not
// end with the context's error. The test's end calls stop.
func background(t testing.TB, fn func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- fn(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run ended with %v, want the context's error", err)
				}
			case <-time.After(patience):
				t.Error("Run did not end")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// fetcher is a Fetcher under test, whose deliveries are read from a channel.
type fetcher struct {
	*Fetcher
	t    testing.TB
	got  chan Fetched
	stop func()
}

func startFetcher(t testing.TB, n *Net, o FetchOptions) *fetcher {
	t.Helper()
	f := &fetcher{t: t, got: make(chan Fetched, 1000)}
	f.Fetcher = n.NewFetcher(o, func(x Fetched) { f.got <- x })
	f.stop = background(t, f.Run)
	return f
}

// next is the next delivery that is not about offsets alone.
func (f *fetcher) next() Fetched {
	f.t.Helper()
	for {
		x := f.any()
		if len(x.Records) > 0 || x.Code != 0 || x.Err != nil || x.Diverging != nil {
			return x
		}
	}
}

func (f *fetcher) any() Fetched {
	f.t.Helper()
	select {
	case x := <-f.got:
		return x
	case <-time.After(patience):
		f.t.Fatal("nothing was fetched")
		panic("unreachable")
	}
}

// silent fails the test if something is delivered within d.
func (f *fetcher) silent(d time.Duration) {
	f.t.Helper()
	select {
	case x := <-f.got:
		f.t.Fatalf("delivered %+v, want nothing", x)
	case <-time.After(d):
	}
}

// producer is a Producer under test.
type producer struct {
	*Producer
	t    testing.TB
	stop func()
}

func startProducer(t testing.TB, n *Net, o ProduceOptions) *producer {
	t.Helper()
	p := &producer{Producer: n.NewProducer(o), t: t}
	p.margin = 100 * time.Millisecond
	p.stop = background(t, p.Run)
	return p
}

// send is Send followed by the wait for its result.
func (p *producer) send(tp partition.ID, b []byte) Result {
	p.t.Helper()
	return p.await(p.queue(tp, b))
}

func (p *producer) queue(tp partition.ID, b []byte) <-chan Result {
	done := make(chan Result, 1)
	p.Send(Batch{TP: tp, Bytes: b, Done: func(r Result) { done <- r }})
	return done
}

func (p *producer) await(done <-chan Result) Result {
	p.t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		p.t.Fatal("no result")
		panic("unreachable")
	}
}

// numbered is a batch of count records whose values begin with first,
// first+1, ..., padded to size bytes. The sequence is first as well.
func numbered(t testing.TB, first, count, size int, pid int64) []byte {
	t.Helper()
	recs := make([]batch.Record, count)
	for i := range recs {
		v := make([]byte, max(size, 8))
		binary.BigEndian.PutUint64(v, uint64(first+i))
		recs[i] = batch.Record{Timestamp: time.Now().UnixMilli(), Value: v}
	}
	stamp := batch.NoStamp()
	if pid >= 0 {
		stamp = batch.Stamp{ProducerID: pid, Epoch: 0, Sequence: int32(first)}
	}
	b, err := batch.Build(recs, batch.None, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// numbers are the numbers in the values of whole batches, from offset pos on.
func numbers(records []byte, pos int64) ([]int, error) {
	var out []int
	for len(records) > 0 {
		v, rest, err := batch.Next(records)
		if err != nil {
			return nil, err
		}
		if err := v.CheckCRC(); err != nil {
			return nil, err
		}
		records = rest
		if v.Control() {
			continue
		}
		if err := batch.Each(v, func(r batch.Record) error {
			if r.Offset >= pos {
				out = append(out, int(binary.BigEndian.Uint64(r.Value)))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// stored reads what a partition holds from offset 0 to end.
func stored(t testing.TB, n *Net, tp partition.ID, end int64) []int {
	t.Helper()
	var out []int
	err := n.Scan(testContext(t), tp, 0, end, 0, func(v batch.View, _ bool) error {
		got, err := numbers(v, 0)
		out = append(out, got...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wantRun fails the test unless got is 0, 1, ... n-1.
func wantRun(t testing.TB, got []int, n int) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%d records, want %d", len(got), n)
	}
	for i := range got {
		if got[i] != i {
			t.Fatalf("record %d is number %d: %v", i, got[i], around(got, i))
		}
	}
}

func around(s []int, i int) string {
	return fmt.Sprint(s[max(0, i-3):min(len(s), i+4)])
}

// fill produces count batches of per records to a partition.
func fill(t testing.TB, p *producer, tp partition.ID, count, per, size int) {
	t.Helper()
	var done []<-chan Result
	for i := range count {
		done = append(done, p.queue(tp, numbered(t, i*per, per, size, -1)))
	}
	for _, d := range done {
		if r := p.await(d); r.Code != 0 || r.Err != nil {
			t.Fatalf("produce: %+v", r)
		}
	}
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
