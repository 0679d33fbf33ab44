package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
	"tidemark/internal/pause"
)

type testLog struct{ t *testing.T }

func (w testLog) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

type ends struct {
	t              *testing.T
	source, target *kfake.Cluster
	src, dst       *kadm.Client
	cfg            *config.Config
}

func newEnds(t *testing.T, extra string) *ends {
	t.Helper()
	e := &ends{t: t}
	start := func(id string) *kfake.Cluster {
		c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.ClusterID(id))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	e.source, e.target = start("cluster-a"), start("cluster-b")
	e.src, e.dst = admin(t, e.source), admin(t, e.target)
	e.cfg = e.parse(fmt.Sprintf(`
clusters:
  A: {bootstrap: %q}
  B: {bootstrap: %q}
flows:
  - {from: A, to: B, replication_factor: 1, offset_syncs_replication_factor: 1, checkpoints_replication_factor: 1,
     heartbeats_replication_factor: 1, lanes: 4, positions_interval: 100ms%s}
`, strings.Join(e.source.ListenAddrs(), ","), strings.Join(e.target.ListenAddrs(), ","), extra))
	return e
}

func admin(t *testing.T, c *kfake.Cluster) *kadm.Client {
	t.Helper()
	// A topic that is not there yet is looked for again at once, not after 5 s.
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

func (e *ends) parse(yaml string) *config.Config {
	e.t.Helper()
	cfg, err := configfile.Parse("test.yaml", []byte(yaml))
	if err != nil {
		e.t.Fatal(err)
	}
	return cfg
}

// run starts the engine; the returned func stops it and gives its error.
func (e *ends) run() func() error { return e.runWith(testLog{e.t}) }

// runWith is run with a log of the test's own.
func (e *ends) runWith(to io.Writer) func() error {
	log := slog.New(slog.NewTextHandler(to, nil))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, e.cfg, e.cfg.EnabledFlows(), Options{Log: log}) }()
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(150 * time.Second):
			return errors.New("the engine does not stop")
		}
	}
	e.t.Cleanup(func() { _ = stop() })
	return stop
}

func (e *ends) until(what string, ok func() bool) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 150*time.Second)
	defer cancel()
	for !ok() {
		if !pause.For(ctx, 20*time.Millisecond) {
			e.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestMirrorAndPositions(t *testing.T) {
	e := newEnds(t, "")
	ctx := t.Context()
	if _, err := e.src.CreateTopics(ctx, 3, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(e.source.ListenAddrs()...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i := range 300 {
		cl.Produce(ctx, &kgo.Record{Topic: "orders", Value: fmt.Appendf(nil, "seq=%d", i)}, nil)
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	commit := kadm.Offsets{}
	commit.AddOffset("orders", 0, 0, -1)
	commit.AddOffset("orders", 1, 42, -1)
	commit.AddOffset("orders", 2, 100, -1)
	if err := e.src.CommitAllOffsets(ctx, "billing", commit); err != nil {
		t.Fatal(err)
	}
	stop := e.run()
	e.until("positions of billing on the target", func() bool {
		got, err := e.dst.FetchOffsets(ctx, "billing")
		if err != nil {
			return false
		}
		for p, want := range []int64{0, 42, 100} {
			if o, ok := got.Lookup("A.orders", int32(p)); !ok || o.At != want {
				return false
			}
		}
		return true
	})
	e.until("all records on the target", func() bool {
		got, err := e.dst.ListEndOffsets(ctx, "A.orders")
		n := int64(0)
		got.Each(func(o kadm.ListedOffset) { n += o.Offset })
		return err == nil && n == 300
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestSameClusterIsRefused(t *testing.T) {
	e := newEnds(t, "")
	addr := strings.Join(e.source.ListenAddrs(), ",")
	e.cfg = e.parse(fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows:\n  - {from: A, to: B}\n", addr, addr))
	err := Run(t.Context(), e.cfg, e.cfg.Flows, Options{Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrSameCluster) {
		t.Fatalf("got %v", err)
	}
}
