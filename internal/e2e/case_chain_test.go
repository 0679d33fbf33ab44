package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// middleCut is how long the middle of the chain is away: longer than a member's session and a lease (10 s), and than a
// request for positions may take.
const middleCut = 16 * time.Second

// middle is the chain A to B to C, mirrored by one process with one file of MirrorMaker 2, as its users have it. The process
// reaches B through a wall; the test itself looks at B past it.
type middle struct {
	tb      testing.TB
	wall    *wall
	b       *testcluster.Real
	first   *flow         // A to B
	whole   *flow         // A to C: one hop's prefix before the other's
	in, out mm2.Heartbeat // the two flows, as their heartbeats name them
	samples []sample
}

func newMiddle(t *testing.T) *middle {
	t.Helper()
	m := &middle{tb: t, in: mm2.Heartbeat{Source: "c69a", Target: "c69b"}, out: mm2.Heartbeat{Source: "c69b", Target: "c69c"}}
	m.b, m.wall = walled(t, "middle", nil, nil)
	text := fmt.Sprintf(`clusters = c69a, c69b, c69c
c69a.bootstrap.servers = %s
c69b.bootstrap.servers = %s
c69c.bootstrap.servers = %s
c69a->c69b.enabled = true
c69a->c69b.topics = c69-.*
c69a->c69b.groups = c69.*
c69b->c69c.enabled = true
c69b->c69c.topics = .*
c69b->c69c.groups = .*
replication.policy.class = org.apache.kafka.connect.mirror.DefaultReplicationPolicy
sync.group.offsets.enabled = true
refresh.topics.interval.seconds = 1
replication.factor = 1
offset-syncs.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
tidemark.lanes = 2
tidemark.positions.interval.ms = 200
`, suite.source.BootstrapString(), m.wall.addr(), suite.target.BootstrapString())
	src := kadm.NewClient(suite.source.Client(t))
	m.first = &flow{tb: t, alias: "c69a", yaml: text, file: "mm2.properties", to: m.b, src: src, dst: kadm.NewClient(m.b.Client(t))}
	m.whole = &flow{tb: t, alias: "c69b.c69a", yaml: text, file: "mm2.properties", src: src, dst: kadm.NewClient(suite.target.Client(t))}
	return m
}

// TestCase69MiddleCut: the middle cluster of a chain is away for long, its connections half open, while A goes on. The
// process lives and says which cluster it is, and the heartbeats of the flow that reads from B go on, since no flow in the
// other direction sends them. Afterwards every record of A is on B and on C once and in order, and every group stands at
// its first unread record on both, also one that began meanwhile.
func TestCase69MiddleCut(t *testing.T) {
	t.Parallel()
	m := newMiddle(t)
	for topic, partitions := range map[string]int32{"c69-plain": 3, "c69-tx": 1} {
		m.whole.topic(topic, partitions, nil)
	}
	began := time.Now()
	w := m.whole.process()
	stop := m.load()
	m.goesOn()
	m.beats(m.b, "heartbeats", m.in, began)
	m.beats(suite.target, "heartbeats", m.out, began)
	m.beats(suite.target, "c69b.heartbeats", m.in, began)

	m.wall.up()
	cut := time.Now()
	over := time.NewTimer(middleCut)
	defer over.Stop()
	m.whole.topic("c69-late", 1, nil)
	m.whole.produce(testcluster.Load{Topic: "c69-late", Count: 40})
	m.whole.commit("c69-new", map[string]map[int32]int64{"c69-late": {0: 15}, "c69-plain": {1: 20}})
	m.away(w)
	<-over.C // no event to wait for: it is the time itself that ends sessions
	healed := time.Now()
	m.wall.down()

	m.goesOn()
	m.beats(suite.target, "c69b.heartbeats", m.in, healed)
	t.Logf("all goes on %v after a cut of %v", time.Since(healed).Round(time.Millisecond), healed.Sub(cut).Round(time.Millisecond))
	stop()
	m.atRest()
	m.never()
	// Beats that were on their way when the wall went up, or came down, arrive with their own times: of those that were tried in
	// between, each for ten seconds, only the last one can.
	if n := m.beatsBetween(m.b, m.in, cut.Add(5*time.Second), healed); n > 1 {
		t.Errorf("%d heartbeats on B are from when it was away", n)
	}
	if n := m.beatsBetween(suite.target, m.out, cut, healed); n < 5 {
		t.Errorf("%d heartbeats of %s->%s on C while B was away for %v, want one each second", n, m.out.Source, m.out.Target, healed.Sub(cut))
	}
	m.named()
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// load writes to A until it is stopped, moves the group c69-g behind that, and looks where the group stands meanwhile.
func (m *middle) load() (stop func()) {
	m.tb.Helper()
	ctx, cancel := context.WithCancel(m.tb.Context())
	var g errgroup.Group
	g.Go(func() error {
		for i := int64(0); paced(ctx); i++ {
			if err := m.round(context.WithoutCancel(ctx), i); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for paced(ctx) {
			m.sample(ctx)
		}
		return nil
	})
	return func() {
		cancel()
		if err := g.Wait(); err != nil {
			m.tb.Errorf("load: %v", err)
		}
	}
}

// round is one round of the load: what the group has read is all of the rounds before, and a little more.
func (m *middle) round(ctx context.Context, i int64) error {
	conn := suite.source.ClientOpts()
	if err := testcluster.Produce(ctx, conn, testcluster.Load{Topic: "c69-plain", Partitions: 3, First: i * 90, Count: 90, BatchBytes: 2000}); err != nil {
		return err
	}
	tx := testcluster.Load{Topic: "c69-tx", First: i * 10, Count: 10}
	if _, _, err := testcluster.ProduceTransactions(ctx, conn, tx, testcluster.Transactions{Seed: uint64(i)}); err != nil {
		return err
	}
	read := kadm.Offsets{}
	for p := range int32(3) {
		read.AddOffset("c69-plain", p, 30*i+int64(p), -1)
	}
	return m.whole.src.CommitAllOffsets(ctx, "c69-g", read)
}

// sample is where the group stood in c69-plain-0, looked up on C first and on A last; -1 is nowhere.
type sample struct{ c, b, a int64 }

// sample takes one; a look that fails is none.
func (m *middle) sample(ctx context.Context) {
	c, err := m.whole.position(ctx, "c69-g", "c69-plain", 0)
	if err != nil {
		return
	}
	b, err := m.first.position(ctx, "c69-g", "c69-plain", 0)
	if err != nil {
		return
	}
	got, err := m.whole.src.FetchOffsets(ctx, "c69-g")
	if o, ok := got.Lookup("c69-plain", 0); err == nil && ok {
		m.samples = append(m.samples, sample{c: c, b: b, a: o.At})
	}
}

// goesOn waits until B and C get more records than now, and the group moves there.
func (m *middle) goesOn() {
	m.tb.Helper()
	for _, f := range []*flow{m.first, m.whole} {
		for _, topic := range []string{"c69-plain", "c69-tx"} {
			m.rises("the end of "+f.remote(topic), 50, func(ctx context.Context) (int64, error) {
				listed, err := f.dst.ListEndOffsets(ctx, f.remote(topic))
				if err == nil {
					err = listed.Error()
				}
				o, ok := listed.Lookup(f.remote(topic), 0)
				if err == nil && !ok {
					err = fmt.Errorf("no %s", f.remote(topic))
				}
				return o.Offset, err
			})
		}
		m.rises("c69-g in "+f.remote("c69-plain"), 50, func(ctx context.Context) (int64, error) {
			at, err := f.position(ctx, "c69-g", "c69-plain", 0)
			if err == nil && at < 0 {
				err = fmt.Errorf("no position")
			}
			return at, err
		})
	}
}

// rises waits until an offset is n higher than when it was first seen.
func (m *middle) rises(what string, n int64, look func(context.Context) (int64, error)) {
	m.tb.Helper()
	from := int64(-1)
	m.whole.until(60*time.Second, fmt.Sprintf("%s %d higher", what, n), func(ctx context.Context) (bool, string) {
		at, err := look(ctx)
		if err != nil {
			return false, err.Error()
		}
		if from < 0 {
			from = at
		}
		return at >= from+n, fmt.Sprintf("at %d, first at %d", at, from)
	})
}

// away asserts that one sees which cluster is away: in the log, and by asking. What can be known without B is shown.
func (m *middle) away(w *worker) {
	m.tb.Helper()
	var g errgroup.Group
	g.Go(func() error {
		out, errs, code := m.whole.says("status", "FILE", "--flow", "c69a:c69b")
		if code != 1 || out != "" {
			m.tb.Errorf("status of A->B: exit code %d, want 1\n%s", code, out)
		}
		m.all(errs, "flow c69a->c69b", "cluster c69b")
		return nil
	})
	g.Go(func() error {
		out, errs, code := m.whole.says("status", "FILE")
		if code != 1 {
			m.tb.Errorf("status of both flows: exit code %d, want 1", code)
		}
		m.all(out, "flow c69b->c69c", "c69a.c69-plain")
		m.all(errs, "flow c69b->c69c: the source cannot be asked", "flow c69a->c69b: ", "on cluster c69b")
		return nil
	})
	for _, flow := range []string{"c69a->c69b", "c69b->c69c"} {
		m.whole.until(60*time.Second, "a warning of "+flow+" that names B", func(context.Context) (bool, string) {
			return slices.ContainsFunc(strings.Split(w.output(), "\n"), func(line string) bool {
				return strings.Contains(line, "level=WARN") && strings.Contains(line, "flow="+flow) &&
					(strings.Contains(line, "cluster=c69b") || strings.Contains(line, "cluster c69b"))
			}), w.output()
		})
	}
	m.whole.until(60*time.Second, "the word that nothing is written to B", func(context.Context) (bool, string) {
		return strings.Contains(w.output(), `msg="the target does not answer: nothing is written to it until it does" flow=c69a->c69b cluster=c69b`), w.output()
	})
	_ = g.Wait()
	select {
	case <-w.done:
		m.tb.Fatalf("the process has ended: %v", w.err)
	default:
	}
}

func (m *middle) all(text string, parts ...string) {
	m.tb.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			m.tb.Errorf("it does not say %q:\n%s", p, text)
		}
	}
}

// atRest asserts, with nothing written any more, that B and C hold what A holds, with all groups exact there.
func (m *middle) atRest() {
	m.tb.Helper()
	topics := []string{"c69-plain", "c69-tx", "c69-late"}
	at := m.first.anywhere(69, 5, topics...)
	end := spots{}
	for _, topic := range topics {
		ends, err := testcluster.Ends(m.tb.Context(), suite.source.Client(m.tb), topic, testcluster.ReadUncommitted)
		if err != nil {
			m.tb.Fatal(err)
		}
		for p, e := range ends {
			end.add("c69-end", topic, p, e)
			at.add("c69-end", topic, p, e)
		}
	}
	m.whole.commitAll(end)
	for group, got := range m.whole.src.FetchManyOffsets(m.tb.Context(), "c69-g", "c69-new") {
		if got.Err != nil {
			m.tb.Fatal(got.Err)
		}
		got.Fetched.Each(func(o kadm.OffsetResponse) { at.add(group, o.Topic, o.Partition, o.At) })
	}
	for _, args := range []string{"status FILE --check", "groups FILE --check --flow c69a:c69b", "groups FILE --check --flow c69b:c69c"} {
		m.whole.until(60*time.Second, args, func(context.Context) (bool, string) {
			out, errs, code := m.whole.says(strings.Fields(args)...)
			return code == 0, fmt.Sprintf("exit %d: %s\n%s", code, out, errs)
		})
	}
	for _, f := range []*flow{m.first, m.whole} {
		f.same(topics...)
		f.exact(at, testcluster.ReadCommitted)
	}
}

// never asserts, in records, that the group stood nowhere on C beyond where it was on B, nor on B beyond A; and that it never
// went back.
func (m *middle) never() {
	m.tb.Helper()
	onB, onC := m.first.held("c69-plain", testcluster.ReadCommitted), m.whole.held("c69-plain", testcluster.ReadCommitted)
	below := func(c contents, at int64) int64 {
		i, _ := slices.BinarySearchFunc(c.target[0], at, func(r testcluster.Rec, at int64) int { return int(r.Offset - at) })
		return int64(i)
	}
	last := sample{-1, -1, -1}
	for _, s := range m.samples {
		b, c := below(onB, s.b), below(onC, s.c)
		if c > b || b > s.a || s.b < last.b || s.c < last.c {
			m.tb.Errorf("the group stood at %+v after %+v: before it lie %d records on C, %d on B", s, last, c, b)
		}
		last = s
	}
	m.tb.Logf("%d looks at the group; its %d records end at %d on B, at %d on C", len(m.samples), len(onB.source[0]), onB.ends[0], onC.ends[0])
}

// beats waits for a heartbeat of a flow in a topic that bears a time or a later one.
func (m *middle) beats(r *testcluster.Real, topic string, want mm2.Heartbeat, after time.Time) {
	m.tb.Helper()
	cl := r.Client(m.tb, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(after.UnixMilli())))
	defer cl.Close()
	m.whole.until(60*time.Second, fmt.Sprintf("a heartbeat of %s->%s in %s", want.Source, want.Target, topic), func(ctx context.Context) (bool, string) {
		some, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return slices.ContainsFunc(cl.PollFetches(some).Records(), func(rec *kgo.Record) bool {
			h, err := mm2.ParseHeartbeat(rec.Key, rec.Value)
			return err == nil && h.Source == want.Source && h.Target == want.Target && h.Timestamp >= after.UnixMilli()
		}), "none"
	})
}

// beatsBetween counts the heartbeats of a flow on its target that bear a time between two.
func (m *middle) beatsBetween(r *testcluster.Real, want mm2.Heartbeat, from, to time.Time) (n int) {
	m.tb.Helper()
	recs, err := testcluster.Read(m.tb.Context(), r.Client(m.tb), "heartbeats", testcluster.ReadUncommitted)
	if err != nil {
		m.tb.Fatal(err)
	}
	for _, rec := range recs {
		h, err := mm2.ParseHeartbeat(rec.Key, rec.Value)
		if err == nil && h.Source == want.Source && h.Target == want.Target && h.Timestamp > from.UnixMilli() && h.Timestamp < to.UnixMilli() {
			n++
		}
	}
	return n
}

// named asserts which topics the chain has made: remote names tell the way, and nothing internal is carried on, or back.
func (m *middle) named() {
	m.tb.Helper()
	for _, c := range []struct {
		r    *testcluster.Real
		want []string
	}{
		{suite.source, []string{"c69-late", "c69-plain", "c69-tx", "mm2-offset-syncs.c69b.internal"}},
		{m.b, []string{
			"c69a.c69-late", "c69a.c69-plain", "c69a.c69-tx", "c69a.checkpoints.internal", "mm2-offset-syncs.c69c.internal",
			"tidemark-ledger.c69a.internal", "tidemark-verdicts.c69a.internal",
		}},
		{suite.target, []string{
			"c69b.c69a.c69-late", "c69b.c69a.c69-plain", "c69b.c69a.c69-tx", "c69b.checkpoints.internal", "c69b.heartbeats",
			"tidemark-ledger.c69b.internal", "tidemark-verdicts.c69b.internal",
		}},
	} {
		got, err := topicNames(m.tb.Context(), kadm.NewClient(c.r.Client(m.tb)))
		if err != nil {
			m.tb.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(name string) bool { // A has heartbeats if another test mirrors to it
			return !strings.Contains(name, "c69") || strings.HasSuffix(name, "c69a.heartbeats")
		})
		if !slices.Equal(got, c.want) {
			m.tb.Errorf("topics of %s: %v, want %v", c.r.Name(), got, c.want)
		}
	}
}
