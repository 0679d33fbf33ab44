package engine

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// slowly makes each fetch of a topic give one batch only, and that late, and none before open is closed. It counts them.
func (s *site) slowly(topic string, open <-chan struct{}, late time.Duration) *atomic.Int32 {
	s.t.Helper()
	meta, err := s.client().ListTopics(s.t.Context(), topic)
	if err != nil {
		s.t.Fatal(err)
	}
	id, n := meta[topic].ID, new(atomic.Int32)
	s.fake.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		if !slices.ContainsFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == topic || kadm.TopicID(t.TopicID) == id }) {
			return nil, nil, false
		}
		n.Add(1)
		req.MaxBytes = 1
		s.fake.SleepControl(func() {
			<-open
			pause.For(s.t.Context(), late)
		})
		return nil, nil, false
	})
	return n
}

// TestCase06MapIsReadToItsEnd: a flow that starts again says nothing about a group before it has read its map to the end,
// slow as that may be, also where the target has lost the group meanwhile: no position and no checkpoint is older than what
// was there before, and none is about a commit that came since.
func TestCase06MapIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const topic, remote, group = "orders", "A.orders", "billing"
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill(topic, 0)
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders], checkpoints_interval: 100ms")
	conn := []kgo.Opt{kgo.SeedBrokers(s.fake.ListenAddrs()...)}
	produced := int64(0)
	more := func() int64 { // every transaction leaves a hole
		if _, _, err := testcluster.ProduceTransactions(t.Context(), conn, testcluster.Load{Topic: topic, First: produced, Count: 60}, testcluster.Transactions{Seed: uint64(produced)}); err != nil {
			t.Fatal(err)
		}
		produced += 60
		source, err := testcluster.Read(t.Context(), fresh(t, s), topic, testcluster.ReadCommitted)
		if err != nil {
			t.Fatal(err)
		}
		// A commit that is ahead of the mirror would be held, rightly.
		e.until("the records", func() bool { return endOf(t, target, remote) == int64(len(source)) })
		return endOf(t, s, topic)
	}
	at := func() int64 { // -1 where there is none
		got, err := target.client().FetchOffsets(t.Context(), group)
		if o, ok := got.Lookup(remote, 0); err == nil && ok {
			return o.At
		}
		return -1
	}
	// right says whether a position is exact for what was committed.
	right := func(committed, x int64) error {
		source, err := testcluster.Read(t.Context(), fresh(t, s), topic, testcluster.ReadCommitted)
		if err != nil {
			return err
		}
		copied, err := testcluster.Read(t.Context(), fresh(t, target), remote, testcluster.ReadUncommitted)
		if err != nil {
			return err
		}
		if err := testcluster.Compare(source, copied).Err(); err != nil {
			return err
		}
		return testcluster.CheckPosition(source, committed, copied, x, endOf(t, target, remote))
	}
	committed, last := int64(0), int64(-1)
	goOn := func() {
		t.Helper()
		committed = more() - 2
		s.commit(group, topic, committed)
		e.until("the position follows", func() bool {
			x := at()
			if x >= 0 && x < last {
				t.Fatalf("the position went back from %d to %d", last, x)
			}
			return x > last && right(committed, x) == nil
		})
		last = at()
	}
	stop := e.run()
	for range 10 {
		goOn()
	}
	committed = more() - 2
	e.halt(stop)
	if _, err := target.client().DeleteGroups(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	e.until("the group is gone", func() bool { return at() < 0 })
	s.commit(group, topic, committed)
	open := make(chan struct{})
	opened := sync.OnceFunc(func() { close(open) })
	t.Cleanup(opened)
	fetches := target.slowly("tidemark-ledger.A.internal", open, 300*time.Millisecond)
	stop = e.run()
	e.until("the ledger is read", func() bool { return fetches.Load() > 0 })
	for range 20 { // as many rounds as positions and checkpoints have in 2 s
		// What was said about the commit of before still holds. Of the new one nobody knows yet.
		if x := at(); x >= 0 && x != last {
			t.Fatalf("before the ledger was read the position is %d, want none or %d", x, last)
		}
		pause.For(t.Context(), 100*time.Millisecond)
	}
	opened()
	e.until("the position follows", func() bool {
		x := at()
		if x >= 0 && x < last {
			t.Fatalf("the position went back from %d to %d", last, x)
		}
		return x > last && right(committed, x) == nil
	})
	last = at()
	for range 3 {
		goOn()
	}
	e.halt(stop)
	recs, err := testcluster.Read(t.Context(), fresh(t, target), "A.checkpoints.internal", testcluster.ReadUncommitted)
	if err != nil || len(recs) < 3 {
		t.Fatal(len(recs), err)
	}
	was := mm2.Checkpoint{}
	for _, r := range recs {
		c, err := mm2.ParseCheckpoint(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if c.Upstream < was.Upstream || c.Downstream < was.Downstream {
			t.Errorf("checkpoint %d -> %d follows %d -> %d", c.Upstream, c.Downstream, was.Upstream, was.Downstream)
		}
		if err := right(c.Upstream, c.Downstream); err != nil {
			t.Errorf("checkpoint %d -> %d: %v", c.Upstream, c.Downstream, err)
		}
		was = c
	}
}

// forgetter is a listener behind a firewall that forgets connections which were idle for longer than a fetch may wait: what is sent on one
// afterwards is dropped, and nobody is told.
type forgetter struct {
	net.Listener
	idle  time.Duration
	drops *atomic.Int32
}

func (f forgetter) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &forgotten{Conn: c, from: f, used: time.Now()}, nil
}

type forgotten struct {
	net.Conn
	from forgetter

	mu   sync.Mutex
	used time.Time
	gone bool
}

// passes says whether the firewall still knows the connection.
func (c *forgotten) passes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone && time.Since(c.used) > c.from.idle {
		c.gone = true
		c.from.drops.Add(1)
	}
	c.used = time.Now()
	return !c.gone
}

func (c *forgotten) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || c.passes() {
			return n, err
		}
	}
}

func (c *forgotten) Write(p []byte) (int, error) {
	if !c.passes() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// TestCase49IdleConnectionsAreForgotten: a record after a pause arrives once, although what lies between has forgotten the
// connection: at once where the flow was told not to use connections that rested for longer, and within one request
// time-out, with the 5 s on top that a producer waits, where it was not.
func TestCase49IdleConnectionsAreForgotten(t *testing.T) {
	const request = time.Second
	for _, tc := range []struct {
		name, idle string
		pauses     int
		most       time.Duration
	}{
		{"told", ", idle_timeout: 3s", 1, 3 * request},
		{"not told", "", 1, request + 5*time.Second + 5*time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, target, drops := newSite(t, "S"), &site{t: t, conns: new(atomic.Int32)}, new(atomic.Int32)
			var err error
			target.fake, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("T"), kfake.ListenFn(func(network, address string) (net.Listener, error) {
				var lc net.ListenConfig
				l, err := lc.Listen(t.Context(), network, address)
				return forgetter{l, 6 * time.Second, drops}, err
			}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(target.fake.Close)
			s.fill("orders", 10)
			e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders], emit_heartbeats: false, clients: {record_producer: {request_timeout: 1s"+tc.idle+
				"}, target_admin: {idle_timeout: 3s}, target_consumer: {idle_timeout: 3s}, target_producer: {idle_timeout: 3s}}")
			stop := e.run()
			e.until("the first records", func() bool { return endOf(t, target, "A.orders") == 10 })
			for i := range int64(tc.pauses) {
				pause := time.NewTimer(7500 * time.Millisecond)
				<-pause.C
				s.fill("orders", 1)
				began := time.Now()
				e.until("a record after a pause", func() bool { return endOf(t, target, "A.orders") >= 11+i })
				took := time.Since(began).Round(10 * time.Millisecond)
				t.Logf("after a pause a record takes %v", took)
				if took > tc.most {
					t.Errorf("a record after a pause took %v, want at most %v", took, tc.most)
				}
			}
			s.commit("billing", "orders", 9)
			e.until("billing on the target", func() bool {
				cl := fresh(t, target)
				defer cl.Close()
				got, err := kadm.NewClient(cl).FetchOffsets(t.Context(), "billing")
				o, ok := got.Lookup("A.orders", 0)
				return err == nil && ok && o.At == 9
			})
			if end := endOf(t, target, "A.orders"); end != 10+int64(tc.pauses) {
				t.Errorf("the target holds %d records, want %d", end, 10+tc.pauses)
			}
			if drops.Load() == 0 && tc.idle == "" { // where it was told nobody uses such a connection
				t.Error("no connection was forgotten: the test shows nothing")
			}
			e.halt(stop)
		})
	}
}

// fresh is a client with connections that nobody has forgotten.
func fresh(t *testing.T, s *site) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.fake.ListenAddrs()...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close) // a second time where it was closed already
	return cl
}

func endOf(t *testing.T, s *site, topic string) int64 {
	t.Helper()
	cl := fresh(t, s)
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(t.Context(), topic)
	o, ok := ends.Lookup(topic, 0)
	if err != nil || !ok {
		return -1
	}
	return o.Offset
}

// TestCase51TwentyStartsFromNothing starts three workers at once where nothing of the flow is there yet, twenty times. Each
// time all of them come up, and everything is mirrored once.
func TestCase51TwentyStartsFromNothing(t *testing.T) {
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s, target := newSite(t, "S"), newSite(t, "T")
			for n := range 4 {
				s.fill(fmt.Sprintf("orders-%d", n), 50)
			}
			s.commit("billing", "orders-1", 20)
			e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: ['orders-.*']")
			stops := []func() error{e.run(), e.run(), e.run()}
			e.until("everything on the target", func() bool {
				return target.stands("billing", "A.orders-1", 20) && !slices.ContainsFunc([]int{0, 1, 2, 3}, func(n int) bool {
					return !target.holds(fmt.Sprintf("A.orders-%d", n), 50)
				})
			})
			for _, stop := range stops {
				e.halt(stop)
			}
		})
	}
}
