package e2e

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
	"tidemark/internal/engine"
	"tidemark/internal/testcluster"
)

// suite is the pair of real clusters that all tests share, one that asks who connects and checks their rights, one of
// three brokers, and one that forgets producers within seconds; the last three are started by the first test that asks for
// them.
var suite struct {
	source, target            *testcluster.Real
	secured, three, forgetful func() (*testcluster.Real, error)
}

// startLater starts a cluster for the first test that asks for it, in a time of its own: the suite may be minutes old.
func startLater(opts testcluster.RealOptions) (*testcluster.Real, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return testcluster.StartReal(ctx, opts)
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "real brokers:", err)
		return 1
	}
	if err := testcluster.Tools(ctx); err != nil {
		return fail(err)
	}
	if _, err := testcluster.Libs(ctx); err != nil {
		return fail(err)
	}
	var g errgroup.Group
	g.Go(func() (err error) {
		suite.source, err = testcluster.StartReal(ctx, testcluster.RealOptions{Name: "source", Brokers: 1, HeapMB: 768})
		return err
	})
	g.Go(func() (err error) {
		suite.target, err = testcluster.StartReal(ctx, testcluster.RealOptions{Name: "target", Brokers: 1, HeapMB: 768})
		return err
	})
	var secured, three, forgetful *testcluster.Real
	suite.secured = sync.OnceValues(func() (_ *testcluster.Real, err error) {
		secured, err = startLater(securedOptions())
		return secured, err
	})
	suite.three = sync.OnceValues(func() (_ *testcluster.Real, err error) {
		three, err = startLater(threeOptions())
		return three, err
	})
	suite.forgetful = sync.OnceValues(func() (_ *testcluster.Real, err error) {
		forgetful, err = startLater(forgetfulOptions())
		return forgetful, err
	})
	err := g.Wait()
	defer func() {
		for _, r := range []*testcluster.Real{suite.source, suite.target, secured, three, forgetful} {
			if r != nil {
				_ = r.Stop()
			}
		}
	}()
	if err != nil {
		return fail(err)
	}
	if err := atOnce(4); err != nil {
		return fail(err)
	}
	return m.Run()
}

// atOnce has n tests run beside each other unless -parallel says otherwise: they wait for time-outs and restarts most of the
// time, whatever the number of cores.
func atOnce(n int) error {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if told {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}

// flow is one test's flow between the shared clusters. Its source alias is the test's own, so that ledger, verdicts and
// remote topics are too.
type flow struct {
	tb       testing.TB
	alias    string // of the source
	yaml     string
	file     string            // the name of the file that processes get; empty: flow.yaml
	binary   string            // of processes, where it is not this revision's
	from, to *testcluster.Real // where they are not the shared ones
	cfg      *config.Config
	src, dst *kadm.Client
	scl, tcl *kgo.Client // of embedded clusters
	log      *slog.Logger
}

// newFlow makes a flow that mirrors topics with the given prefix pattern.
func newFlow(t testing.TB, alias, topics, groups, extra string) *flow {
	t.Helper()
	yaml := fmt.Sprintf(`
clusters:
  %[1]s: {bootstrap: %[2]q}
  T: {bootstrap: %[3]q}
flows:
  - {from: %[1]s, to: T, topics: [%[4]q], groups: [%[5]q], replication_factor: 1, offset_syncs_replication_factor: 1,
     checkpoints_replication_factor: 1, heartbeats_replication_factor: 1, lanes: 4, positions_interval: 200ms%[6]s}
`, alias, suite.source.BootstrapString(), suite.target.BootstrapString(), topics, groups, extra)
	cfg, err := configfile.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{tb: t, alias: alias, yaml: yaml, cfg: cfg, log: slog.New(slog.NewTextHandler(&testLog{t: t}, nil))}
	f.src = kadm.NewClient(suite.source.Client(t))
	f.dst = kadm.NewClient(suite.target.Client(t))
	return f
}

// reads is the cluster that the flow reads.
func (f *flow) reads() *testcluster.Real { return cmp.Or(f.from, suite.source) }

// writes is the cluster that the flow writes.
func (f *flow) writes() *testcluster.Real { return cmp.Or(f.to, suite.target) }

// testLog writes to the test's log until the test has ended.
type testLog struct {
	t  testing.TB
	mu sync.Mutex
}

func (w *testLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// start runs the flow in this process; the returned func stops it cleanly and gives the engine's error.
func (f *flow) start() (stop func() error) {
	f.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := engine.Run(ctx, f.cfg, f.cfg.Flows, engine.Options{Log: f.log})
		if ctx.Err() == nil { // a test that waits for its records would not say why they do not come
			f.tb.Errorf("flow %s ended by itself: %v", f.alias, err)
		}
		done <- err
	}()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			select {
			case err = <-done:
			case <-time.After(300 * time.Second):
				err = errors.New("the engine does not stop")
			}
		})
		return err
	}
	f.tb.Cleanup(func() { _ = stop() })
	return stop
}

// patience is how many times longer than on a machine at rest a condition is waited for: a test beside much else, on half a
// core, is slow and right.
const patience = 5

// until waits for a condition that a machine at rest brings within d.
func (f *flow) until(d time.Duration, what string, ok func(ctx context.Context) (bool, string)) {
	f.tb.Helper()
	ctx, cancel := context.WithTimeout(f.tb.Context(), patience*d)
	defer cancel()
	err := testcluster.Await(ctx, what, func(ctx context.Context) (bool, string, error) {
		done, why := ok(ctx)
		return done, why, nil
	})
	if err != nil {
		f.tb.Fatal(err)
	}
}

func (f *flow) read(r *testcluster.Real, topic string) []testcluster.Rec {
	f.tb.Helper()
	recs, err := testcluster.Read(f.tb.Context(), r.Client(f.tb), topic, testcluster.ReadCommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	return recs
}

// mirrored waits until the remote topic holds as many committed records as the source topic, and gives both.
func (f *flow) mirrored(topic string) (source, target []testcluster.Rec) {
	f.tb.Helper()
	scl, tcl := f.reads().Client(f.tb), f.targetClient()
	source = f.read(f.reads(), topic)
	f.until(60*time.Second, "all of "+topic+" on the target", func(ctx context.Context) (bool, string) {
		if ok, why := atLeast(ctx, tcl, f.alias+"."+topic, len(source)); !ok {
			return false, why
		}
		var err error
		target, err = testcluster.Read(ctx, tcl, f.alias+"."+topic, testcluster.ReadCommitted)
		if err != nil {
			return false, err.Error()
		}
		return len(target) >= len(source), fmt.Sprintf("%d of %d records", len(target), len(source))
	})
	source, err := testcluster.Read(f.tb.Context(), scl, topic, testcluster.ReadCommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	return source, target
}

// atLeast says whether a topic has offsets enough to hold n records: to ask costs next to nothing, and to read all of it
// again and again until they are there would keep the machine busy that is to bring them.
func atLeast(ctx context.Context, cl *kgo.Client, topic string, n int) (bool, string) {
	starts, err := testcluster.Starts(ctx, cl, topic)
	if err != nil {
		return false, err.Error()
	}
	ends, err := testcluster.Ends(ctx, cl, topic, testcluster.ReadUncommitted)
	if err != nil {
		return false, err.Error()
	}
	there := int64(0)
	for p, end := range ends {
		there += end - starts[p]
	}
	return there >= int64(n), fmt.Sprintf("%d offsets for %d records", there, n)
}

// commit sets a group's position on the source.
func (f *flow) commit(group string, at map[string]map[int32]int64) {
	f.tb.Helper()
	o := kadm.Offsets{}
	for topic, ps := range at {
		for p, offset := range ps {
			o.AddOffset(topic, p, offset, -1)
		}
	}
	if err := f.src.CommitAllOffsets(f.tb.Context(), group, o); err != nil {
		f.tb.Fatal(err)
	}
}

// benchFlow is a flow of one topic, for benchmarks.
func benchFlow(b *testing.B, alias, topic string) *flow {
	return newFlow(b, alias, topic, "none", os.Getenv("BENCH_FLOW"))
}
