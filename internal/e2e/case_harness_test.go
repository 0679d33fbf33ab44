package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/configfile"
	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// heard keeps the log lines of a flow, beside the test's own log.
type heard struct {
	next io.Writer

	mu    sync.Mutex
	lines []string
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	h.lines = append(h.lines, string(p))
	h.mu.Unlock()
	return h.next.Write(p)
}

// line says whether one line holds all parts.
func (h *heard) line(parts ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.lines, func(line string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	})
}

// listen makes the flow's log readable for the test; call it before start.
func (f *flow) listen() *heard {
	h := &heard{next: &testLog{t: f.tb}}
	f.log = slog.New(slog.NewTextHandler(h, nil))
	return h
}

// rewrite changes the flow's file before start.
func (f *flow) rewrite(from, to string) {
	f.tb.Helper()
	if !strings.Contains(f.yaml, from) {
		f.tb.Fatalf("the flow's file has no %q", from)
	}
	f.yaml = strings.ReplaceAll(f.yaml, from, to)
	cfg, err := configfile.Parse("test.yaml", []byte(f.yaml))
	if err != nil {
		f.tb.Fatal(err)
	}
	f.cfg = cfg
}

func (f *flow) remote(topic string) string { return f.alias + "." + topic }

// topic creates a topic on the source.
func (f *flow) topic(name string, partitions int32, configs map[string]string) {
	f.tb.Helper()
	if err := testcluster.CreateTopic(f.tb.Context(), f.reads().ClientOpts(), name, partitions, configs); err != nil {
		f.tb.Fatal(err)
	}
}

// emptyRemote creates a remote topic before the mirror would.
func (f *flow) emptyRemote(topic string, partitions int32, configs map[string]string) {
	f.tb.Helper()
	if err := testcluster.CreateTopic(f.tb.Context(), f.writes().ClientOpts(), f.remote(topic), partitions, configs); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *flow) produce(l testcluster.Load) {
	f.tb.Helper()
	if err := testcluster.Produce(f.tb.Context(), f.reads().ClientOpts(), l); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *flow) transactions(l testcluster.Load, seed uint64) {
	f.tb.Helper()
	if _, _, err := testcluster.ProduceTransactions(f.tb.Context(), f.reads().ClientOpts(), l, testcluster.Transactions{Seed: seed}); err != nil {
		f.tb.Fatal(err)
	}
}

// write sends records as they are, to the partitions that they name. Each call ends with the acknowledgements, so that
// the records of two calls never share a batch.
func (f *flow) write(recs ...*kgo.Record) {
	f.tb.Helper()
	cl, err := kgo.NewClient(append(f.reads().ClientOpts(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	if err != nil {
		f.tb.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(f.tb.Context(), recs...).FirstErr(); err != nil {
		f.tb.Fatal(err)
	}
}

// numbered is record seq of a partition, stamped now.
func numbered(topic string, partition int32, seq int64) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: partition, Timestamp: time.Now(),
		Key: fmt.Appendf(nil, "key-%d", seq), Value: testcluster.Value(seq, 60),
	}
}

// copied waits until the remote topic holds as many records as the source topic, read by an isolation level, and gives
// both.
func (f *flow) copied(topic string, iso testcluster.Isolation) (source, target []testcluster.Rec) {
	f.tb.Helper()
	tcl := f.writes().Client(f.tb)
	source, err := testcluster.Read(f.tb.Context(), f.reads().Client(f.tb), topic, iso)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.until(60*time.Second, "all of "+topic+" on the target", func(ctx context.Context) (bool, string) {
		if ok, why := atLeast(ctx, tcl, f.remote(topic), len(source)); !ok {
			return false, why
		}
		target, err = testcluster.Read(ctx, tcl, f.remote(topic), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error()
		}
		return len(target) >= len(source), fmt.Sprintf("%d of %d records", len(target), len(source))
	})
	return source, target
}

// same asserts that the target holds what the source holds, to the byte.
func (f *flow) same(topics ...string) {
	f.tb.Helper()
	for _, topic := range topics {
		source, target := f.copied(topic, testcluster.ReadCommitted)
		if err := testcluster.Compare(source, target).Err(); err != nil {
			f.tb.Errorf("%s: %v", topic, err)
		}
	}
}

// spot is one position of a group on the source.
type spot struct {
	group, topic string
	partition    int32
}

// spots are committed source offsets.
type spots map[spot]int64

func (s spots) add(group, topic string, partition int32, offset int64) {
	s[spot{group, topic, partition}] = offset
}

func (s spots) groups() []string {
	set := map[string]bool{}
	for at := range s {
		set[at.group] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// commitAll commits positions on the source, each group with one request.
func (f *flow) commitAll(s spots) {
	f.tb.Helper()
	by := map[string]kadm.Offsets{}
	for at, c := range s {
		o := by[at.group]
		o.AddOffset(at.topic, at.partition, c, -1)
		by[at.group] = o
	}
	g, ctx := errgroup.WithContext(f.tb.Context())
	g.SetLimit(8)
	for group, o := range by {
		g.Go(func() error { return f.src.CommitAllOffsets(ctx, group, o) })
	}
	if err := g.Wait(); err != nil {
		f.tb.Fatal(err)
	}
}

// contents is what a topic holds on both sides, at rest, by partition.
type contents struct {
	source, target map[int32][]testcluster.Rec
	ends           map[int32]int64 // of the target
}

// held waits until a topic is copied and gives its contents.
func (f *flow) held(topic string, iso testcluster.Isolation) contents {
	f.tb.Helper()
	source, target := f.copied(topic, iso)
	ends, err := testcluster.Ends(f.tb.Context(), f.writes().Client(f.tb), f.remote(topic), testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	c := contents{source: map[int32][]testcluster.Rec{}, target: map[int32][]testcluster.Rec{}, ends: ends}
	for p := range ends {
		c.source[p], c.target[p] = testcluster.OfPartition(source, p), testcluster.OfPartition(target, p)
	}
	return c
}

// exact waits until every position on the target is right by the oracle: the next record read there is the first one
// that the group had not read on the source. It is fatal at any time that a position skips a record, lies beyond the
// log end, or moves back.
func (f *flow) exact(at spots, iso testcluster.Isolation) {
	f.tb.Helper()
	topics := map[string]contents{}
	for s := range at {
		if _, ok := topics[s.topic]; !ok {
			topics[s.topic] = f.held(s.topic, iso)
		}
	}
	names := at.groups()
	unread := map[spot]int64{}
	for s, committed := range at {
		if first, ok := firstUnread(s, committed, topics[s.topic]); ok {
			unread[s] = first
		}
	}
	seen := map[spot]int64{}
	judged := map[spot]bool{}
	faults := map[spot]string{}
	f.until(60*time.Second, fmt.Sprintf("%d exact positions", len(at)), func(ctx context.Context) (bool, string) {
		got := f.dst.FetchManyOffsets(ctx, names...)
		if err := got.Error(); err != nil {
			return false, err.Error()
		}
		for s, committed := range at {
			o, ok := got[s.group].Fetched.Lookup(f.remote(s.topic), s.partition)
			x, known := seen[s]
			switch first, some := unread[s]; {
			case !ok || o.At < 0:
				faults[s] = fmt.Sprintf("%v has no position", s)
			case known && o.At < x:
				f.tb.Fatalf("%v moved back from %d to %d", s, x, o.At)
			case some && o.At > first:
				f.tb.Fatalf("%v, committed at %d, stands at %d while its first unread record is at %d", s, committed, o.At, first)
			case o.At != x || !known: // the whole oracle looks once it stands still
				seen[s], judged[s], faults[s] = o.At, false, fmt.Sprintf("%v has just moved to %d", s, o.At)
			case !judged[s]:
				judged[s] = true
				if faults[s] = f.fault(s, committed, o.At, topics[s.topic]); faults[s] == "" {
					delete(faults, s)
				}
			}
		}
		for _, why := range faults {
			return false, fmt.Sprintf("%d of %d are wrong or missing, one: %s", len(faults), len(at), why)
		}
		return true, ""
	})
}

// firstUnread is where the first record that a group has not read stands on the target. Order is the same on both
// sides, so no other unread record lies below it. It is false where there is none, or none with a number.
func firstUnread(s spot, committed int64, c contents) (int64, bool) {
	source, target := c.source[s.partition], c.target[s.partition]
	i := slices.IndexFunc(source, func(r testcluster.Rec) bool { return r.Offset >= committed })
	if i < 0 {
		return -1, false
	}
	want, numbered := source[i].Seq()
	if !numbered {
		return -1, false
	}
	j := slices.IndexFunc(target, func(r testcluster.Rec) bool {
		seq, ok := r.Seq()
		return ok && seq == want
	})
	if j < 0 {
		return -1, false
	}
	return target[j].Offset, true
}

// fault judges one position. What no later news can heal is fatal at once.
func (f *flow) fault(s spot, committed, x int64, c contents) string {
	err := testcluster.CheckPosition(c.source[s.partition], committed, c.target[s.partition], x, c.ends[s.partition])
	if err == nil {
		return ""
	}
	var p *testcluster.PositionError
	if errors.As(err, &p) && (len(p.Skipped) > 0 || x > c.ends[s.partition]) {
		f.tb.Fatalf("%v: %v", s, err)
	}
	return fmt.Sprintf("%v: %v", s, err)
}

// position is a committed offset on the target, -1 where there is none.
func (f *flow) position(ctx context.Context, group, topic string, partition int32) (int64, error) {
	got, err := f.dst.FetchOffsets(ctx, group)
	if err != nil {
		return -1, err
	}
	if o, ok := got.Lookup(f.remote(topic), partition); ok {
		return o.At, nil
	}
	return -1, nil
}

// row is what the verdicts topic on a cluster says last about a position.
func row(ctx context.Context, cl *kgo.Client, alias string, s spot) (verdicts.Row, bool, error) {
	recs, err := testcluster.Read(ctx, cl, ledger.VerdictsName(alias), testcluster.ReadUncommitted)
	if err != nil {
		return verdicts.Row{}, false, err
	}
	key := string(verdicts.Key{Group: s.group, Topic: s.topic, Partition: s.partition}.EncodeKey())
	for _, r := range slices.Backward(recs) {
		switch {
		case string(r.Key) != key:
		case r.Value == nil:
			return verdicts.Row{}, false, nil
		default:
			v, err := verdicts.ParseRow(r.Value)
			return v, err == nil, err
		}
	}
	return verdicts.Row{}, false, nil
}

// stopped waits until the verdict about a position is that its partition is stopped, for a reason that holds all parts.
func (f *flow) stopped(cl *kgo.Client, s spot, parts ...string) {
	f.tb.Helper()
	f.until(60*time.Second, fmt.Sprintf("%s-%d stopped", s.topic, s.partition), func(ctx context.Context) (bool, string) {
		r, ok, err := row(ctx, cl, f.alias, s)
		if err != nil || !ok {
			return false, fmt.Sprintf("no row, %v", err)
		}
		missing := slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(r.Verdict.Reason, p) })
		return r.Verdict.Kind == translate.PartitionStopped && !missing, r.Verdict.String()
	})
}

// member is a consumer of a group on the target.
type member struct {
	tb testing.TB
	cl *kgo.Client
}

// join makes a consumer of a group on the target. Without options it fails where the group has no position.
func (f *flow) join(group, topic string, opts ...kgo.Opt) *member {
	f.tb.Helper()
	all := append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(f.remote(topic)), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
	}, opts...)
	return &member{tb: f.tb, cl: f.writes().Client(f.tb, all...)}
}

// read gives at least n records, and fails where the consumer reports an error instead.
func (m *member) read(n int) []*kgo.Record {
	m.tb.Helper()
	ctx, cancel := context.WithTimeout(m.tb.Context(), 300*time.Second)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		fs := m.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			m.tb.Fatalf("%d of %d records read: %v", len(out), n, err)
		}
		out = append(out, fs.Records()...)
	}
	return out
}
