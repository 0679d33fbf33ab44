package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
	"tidemark/internal/pause"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.FieldsFunc(l.buf.String(), func(r rune) bool { return r == '\n' })
}

func (l *lines) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// pass lets time go by in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestWaitsAreToldOnce: of many requests of one kind that go without an answer one line is written when ten seconds are over,
// and one when the last of them is answered; what fails and is asked for again goes on being waited for.
func TestWaitsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		w := NewWaits("B", out.log())
		boom := func() error { return errors.New("dial refused") }
		first := w.begin("InitProducerID", "lane.0", boom, nil)
		second := w.begin("InitProducerID", "lane.1", boom, nil)
		quick := w.begin("Metadata", "", boom, nil)
		pass(9 * time.Second)
		quick.end(nil)
		if got := out.all(); len(got) != 0 || len(w.List()) != 0 {
			t.Fatalf("said after 9 s: %q, %v", got, w.List())
		}
		pass(2 * time.Second)
		want := `level=WARN msg="waiting for a cluster that does not do what it was asked for" cluster=B request=InitProducerID subject=lane.0 waited=10s why="dial refused"`
		if got := out.all(); len(got) != 1 || got[0] != want && strings.Replace(got[0], "lane.1", "lane.0", 1) != want {
			t.Fatalf("said after 11 s:\n%s", strings.Join(got, "\n"))
		}
		if got := w.List(); len(got) != 1 || got[0].More != 1 || got[0].Why != "dial refused" || time.Since(got[0].Since) != 11*time.Second {
			t.Fatalf("list %+v", got)
		}
		first.end(context.DeadlineExceeded)
		pass(30 * time.Second)
		again := w.begin("InitProducerID", "lane.0", boom, nil)
		pass(15 * time.Second)
		second.end(nil)
		if got := w.List(); len(got) != 1 || got[0].For != "InitProducerID of lane.0" || time.Since(got[0].Since) != 56*time.Second {
			t.Fatalf("list %+v", got)
		}
		again.end(nil)
		if got := out.all(); len(got) != 2 || !strings.Contains(got[1], `msg="not waiting any more" cluster=B request=InitProducerID waited=56s`) || len(w.List()) != 0 {
			t.Fatalf("in the end:\n%s\n%v", strings.Join(got, "\n"), w.List())
		}
	})
}

// TestNoAnswerAtAllIsOneLine: where no broker answers, one request says so for all kinds; a code is news.
func TestNoAnswerAtAllIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		w := NewWaits("B", out.log())
		n := 0
		away := func() error { n++; return fmt.Errorf("dial 127.0.0.1:%d refused", n) }
		waits := []*wait{w.begin("Metadata", "", away, nil), w.begin("ListOffsets", "orders-0", away, nil), w.begin("EndTxn", "lane.0", away, nil)}
		pass(11 * time.Second)
		if got := w.List(); len(out.all()) != 1 || len(got) != 1 || got[0].More != 2 {
			t.Fatalf("%+v\n%s", got, strings.Join(out.all(), "\n"))
		}
		refused := w.begin("InitProducerID", "lane.1", away, nil)
		refused.because(kerr.ConcurrentTransactions)
		pass(11 * time.Second)
		if got := w.List(); len(out.all()) != 2 || len(got) != 2 {
			t.Fatalf("%+v\n%s", got, strings.Join(out.all(), "\n"))
		}
		for _, p := range append(waits, refused) {
			p.end(nil)
		}
		if got := out.all(); len(got) != 4 || len(w.List()) != 0 {
			t.Fatalf("%s", strings.Join(got, "\n"))
		}
	})
}

// TestWaitsAreForgotten: what failed and is not asked for again, as of a lane that went to another worker, is no wait for ever.
func TestWaitsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		w := NewWaits("B", out.log())
		p := w.begin("EndTxn", "lane.0", nil, nil)
		pass(20 * time.Second)
		p.end(context.DeadlineExceeded)
		pass(time.Minute)
		if len(w.List()) != 1 {
			t.Fatal("forgotten within a minute")
		}
		pass(time.Minute)
		if got := w.List(); len(got) != 0 {
			t.Fatalf("still waits: %v", got)
		}
		if got := out.all(); len(got) != 2 || !strings.Contains(got[1], "not asked for any more") {
			t.Fatalf("log:\n%s", strings.Join(got, "\n"))
		}
		// One that the caller gave up is not waited for.
		p = w.begin("EndTxn", "lane.0", nil, nil)
		pass(20 * time.Second)
		p.end(context.Canceled)
		if got := w.List(); len(got) != 0 {
			t.Fatalf("waits: %v", got)
		}
	})
}

// TestWaitsLookForACause: a cause that waiting does not cure is said after three seconds, once for all that wait for it, and
// with the broker's own code.
func TestWaitsLookForACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		w := NewWaits("B", out.log())
		looked := 0
		look := func(_ context.Context, err error) string {
			if looked++; errors.Is(err, kerr.CoordinatorNotAvailable) {
				return "set it to 1"
			}
			return ""
		}
		waits := []*wait{w.begin("InitProducerID", "lane.0", nil, look), w.begin("InitProducerID", "lane.1", nil, look)}
		w.retried("InitProducerID", kerr.CoordinatorNotAvailable)
		pass(4 * time.Second)
		if got := out.all(); len(got) != 1 || !strings.Contains(got[0], "set it to 1 (COORDINATOR_NOT_AVAILABLE") || looked != 1 {
			t.Fatalf("after 4 s, %d looks:\n%s", looked, strings.Join(got, "\n"))
		}
		pass(10 * time.Second)
		if got := out.all(); len(got) != 1 || w.List()[0].More != 1 {
			t.Fatalf("after 14 s: %v\n%s", w.List(), strings.Join(got, "\n"))
		}
		for _, p := range waits {
			p.end(nil)
		}
	})
}

// TestFranzSaysWhyItAsksAgain: requests that franz-go makes again without a word are told with the broker's code, and what
// they are about. The line of its log that this reads is nobody's contract.
func TestFranzSaysWhyItAsksAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		key  kmsg.Key
		ask  func(context.Context, *Client) error
		want string
	}{
		"coordinator": {kmsg.FindCoordinator, func(ctx context.Context, c *Client) error {
			_, err := c.InitProducer(ctx, "txn", time.Minute)
			return err
		}, "request=InitProducerID subject=txn"},
		"identity": {kmsg.InitProducerID, func(ctx context.Context, c *Client) error {
			_, err := c.InitProducer(ctx, "txn", time.Minute)
			return err
		}, "request=InitProducerID subject=txn"},
		"commit": {kmsg.FindCoordinator, func(ctx context.Context, c *Client) error {
			_, err := c.CommitPositions(ctx, "billing", map[partition.ID]Committed{{Topic: "orders"}: {Offset: 1}})
			return err
		}, "request=OffsetCommit subject=billing"},
	} {
		t.Run(name, func(t *testing.T) {
			fc, at := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
			var out lines
			c, err := Open(at, out.log())
			noError(t, err)
			defer c.Close()
			c.waits.tellAfter, c.waits.lookAfter = 200*time.Millisecond, 150*time.Millisecond
			ctx, cancel := context.WithCancel(deadline(t))
			defer cancel()
			fault := fc.Fault(kfake.Fault{Keys: []kmsg.Key{tc.key}, Err: kerr.CoordinatorNotAvailable, TopLevel: tc.key == kmsg.InitProducerID, Count: -1})
			done := make(chan error, 1)
			go func() { done <- tc.ask(ctx, c) }()
			for !strings.Contains(strings.Join(out.all(), "\n"), tc.want) || len(c.waits.List()) != 1 {
				if !pause.For(ctx, time.Millisecond) {
					t.Fatal(ctx.Err())
				}
			}
			if got := out.all(); !strings.Contains(got[0], "COORDINATOR_NOT_AVAILABLE") {
				t.Errorf("said %q", got)
			}
			fault.Remove()
			noError(t, <-done)
			if got := out.all(); len(got) != 2 || !strings.Contains(got[1], "not waiting any more") {
				t.Errorf("in the end:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

func TestNoCoordinator(t *testing.T) {
	for name, tc := range map[string]struct {
		state txnState
		want  string // in the words; empty: none
	}{
		"too many replicas":       {txnState{Described: true, Brokers: 1, Factor: []int{3}}, "transaction.state.log.replication.factor is 3 and the cluster has 1 broker; set it to at most 1"},
		"of one broker only":      {txnState{Described: true, Brokers: 2, Factor: []int{1, 3}}, "is 3 and the cluster has 2 brokers"},
		"not seen":                {txnState{Brokers: 1, Factor: []int{3}}, "unless it is there already"},
		"setting not seen":        {txnState{Described: true, Brokers: 1}, "DESCRIBE_CONFIGS on it is missing"},
		"there":                   {txnState{Described: true, Exists: true, Brokers: 1, Factor: []int{3}}, ""},
		"will be made":            {txnState{Described: true, Brokers: 3, Factor: []int{3, 3, 3}}, ""},
		"nothing is known at all": {txnState{}, ""},
	} {
		if got := tc.state.obstacle(); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestGivenUp: whoever asked and was told to stop got nothing done.
func TestGivenUp(t *testing.T) {
	fc, at := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	var out lines
	c, err := Open(at, out.log())
	noError(t, err)
	defer c.Close()
	c.waits.tellAfter, c.waits.lookAfter = 20*time.Millisecond, 15*time.Millisecond
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.CoordinatorNotAvailable, TopLevel: true, Count: -1})
	ctx, cancel := context.WithCancel(deadline(t))
	done := make(chan error, 1)
	go func() { _, err := c.InitProducer(ctx, "id", time.Minute); done <- err }()
	for len(c.waits.List()) != 1 {
		if !pause.For(ctx, time.Millisecond) {
			t.Fatal(ctx.Err())
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("it was done")
	}
	if got := out.all(); len(got) != 2 || !strings.Contains(got[1], "it was given up") {
		t.Errorf("in the end:\n%s", strings.Join(got, "\n"))
	}
}
