package groups

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lanes = 4

// clock is a time that the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// said is a checkpoint as the environment gets it.
type said struct {
	group    string
	remote   partition.ID
	up, down int64
	metadata string
}

// env stands in for the flow. What it publishes comes back through Apply as from a log, unless lose is set.
type env struct {
	mu          sync.Mutex
	owner       *Owner
	fates       map[string]Fate
	lose        bool
	expired     atomic.Bool
	published   []publication
	checkpoints []said
}

func (e *env) Topic(name string) (Fate, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok := e.fates[name]
	return f, ok
}

func (e *env) fate(name string, f Fate) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fates[name] = f
}

func (e *env) Leased() bool { return !e.expired.Load() }

func (e *env) Publish(lane int32, key verdicts.Key, row *verdicts.Row) {
	e.mu.Lock()
	e.published = append(e.published, publication{key, row})
	lose := e.lose
	e.mu.Unlock()
	if lane != e.owner.lane(key.Group) {
		panic("a row was published to another group's partition")
	}
	if lose {
		return
	}
	if row != nil { // through the codec, as from the log
		b, err := row.EncodeRow()
		if err != nil {
			panic(err)
		}
		back, err := verdicts.ParseRow(b)
		if err != nil {
			panic(err)
		}
		row = &back
	}
	e.owner.Apply(key, row)
}

func (e *env) Checkpoint(group string, remote partition.ID, up, down int64, metadata string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checkpoints = append(e.checkpoints, said{group, remote, up, down, metadata})
}

// taken gives what was published and handed over since the last call.
func (e *env) since() (rows []publication, checkpoints []said) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rows, checkpoints = e.published, e.checkpoints
	e.published, e.checkpoints = nil, nil
	return rows, checkpoints
}

// logged keeps what was logged.
type logged struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// fix is an Owner of all lanes over an embedded pair.
type fix struct {
	*testing.T
	src, dst       *testcluster.Fake
	source, target *kafka.Client
	owner          *Owner
	env            *env
	clock          *clock
	log            *logged
	positions      map[string]map[partition.ID]kafka.Committed // hand-made source
	info           map[string]Info
}

var (
	sourceID = [16]byte{1}
	targetID = [16]byte{2}
)

// newFix mirrors topics "orders" and "bills" to "A.orders" and "A.bills"; "logs" is not mirrored.
func newFix(t *testing.T, opts ...kfake.Opt) *fix {
	t.Helper()
	opts = append([]kfake.Opt{kfake.SeedTopics(10, "orders", "bills", "logs", "A.orders", "A.bills")}, opts...)
	f := &fix{T: t, clock: &clock{at: time.Now()}, log: &logged{}, positions: map[string]map[partition.ID]kafka.Committed{}, info: map[string]Info{}}
	f.src, f.dst = testcluster.NewPair(t, opts...)
	f.source, f.target = openClient(t, "A", f.src), openClient(t, "B", f.dst)
	f.env = &env{fates: map[string]Fate{
		"orders": {Mirrored: true, Remote: "A.orders", SourceID: sourceID, TargetID: targetID},
		"bills":  {Mirrored: true, Remote: "A.bills", SourceID: sourceID, TargetID: targetID},
		"logs":   {Why: "excluded by logs"},
	}}
	f.owner = f.newOwner(true)
	return f
}

func openClient(t *testing.T, alias string, c *testcluster.Fake, opts ...kgo.Opt) *kafka.Client {
	t.Helper()
	cl, err := kafka.Open(kafka.Cluster{Alias: alias, Bootstrap: c.Bootstrap()}, nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// newOwner is a process that takes all lanes over, with the log's rows read.
func (f *fix) newOwner(write bool) *Owner {
	o := NewOwner(f.target, f.env, lanes, write, events.From(slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	o.now = f.clock.now
	for n := range int32(lanes) {
		o.Own(n, true)
	}
	f.clock.pass(reading)
	f.env.owner = o
	o.Obey(f.Context(), nil, f.clock.now())
	return o
}

// takes has the owner take all of its groups' lane over, as another process left it, with what people have decided.
func (f *fix) takes(lane int32) {
	f.owner.Own(lane, true)
	f.clock.pass(time.Millisecond)
	f.owner.Obey(f.Context(), f.owner.controls, f.clock.now())
}

func orders(p int32) partition.ID { return partition.ID{Topic: "orders", Partition: p} }

// commit sets a hand-made position of the source; an offset below 0 removes it.
func (f *fix) commit(group string, tp partition.ID, offset int64, metadata ...string) {
	if f.positions[group] == nil {
		f.positions[group] = map[partition.ID]kafka.Committed{}
	}
	if offset < 0 {
		delete(f.positions[group], tp)
		return
	}
	f.positions[group][tp] = kafka.Committed{Offset: offset, LeaderEpoch: 7, Metadata: strings.Join(metadata, "")}
}

// poll hands the hand-made source over.
func (f *fix) poll() {
	s := Snapshot{At: f.clock.now(), Groups: map[string]Info{}, Positions: map[string]map[partition.ID]kafka.Committed{}}
	maps.Copy(s.Groups, f.info)
	for g, ps := range f.positions {
		if _, ok := s.Groups[g]; !ok {
			s.Groups[g] = Info{Type: "classic", State: "Empty", Protocol: "consumer"}
		}
		s.Positions[g] = maps.Clone(ps)
	}
	f.owner.Take(s)
}

// made is a lane's row.
func made(committed int64, v translate.Verdict, metadata ...string) verdicts.Row {
	return verdicts.Row{
		Version: verdicts.Version, RemoteTopic: "A.orders", SourceTopic: hexID(sourceID), TargetTopic: hexID(targetID),
		Committed: committed, CommitAt: -1, ClaimEpoch: 3, SourceEnd: 1000, Verdict: v, Metadata: strings.Join(metadata, ""),
	}
}

func exact(to int64) translate.Verdict {
	return translate.Verdict{Kind: translate.Exact, Target: offsetmap.TargetOffset(to)}
}

func none(k translate.Kind, reason string) translate.Verdict {
	return translate.Verdict{Kind: k, Target: translate.NoPosition, Reason: reason}
}

// judge is a lane that publishes a row.
func (f *fix) judge(group string, tp partition.ID, committed int64, v translate.Verdict, metadata ...string) {
	r := made(committed, v, metadata...)
	r.RemoteTopic, r.At = "A."+tp.Topic, f.clock.now()
	f.owner.Apply(verdicts.Key{Group: group, Topic: tp.Topic, Partition: tp.Partition}, &r)
}

// round is one round, in which nothing may go wrong with the target.
func (f *fix) round() {
	f.Helper()
	if err := f.owner.Round(f.ctx()); err != nil {
		f.Fatal(err)
	}
}

func (f *fix) ctx() context.Context {
	ctx, cancel := context.WithTimeout(f.Context(), 150*time.Second)
	f.Cleanup(cancel)
	return ctx
}

// state checks a group's state.
func (f *fix) state(group string, want translate.WriteKind) translate.WriteState {
	f.Helper()
	s := f.owner.States()[group]
	if s.Kind != want {
		f.Errorf("%s is %q (%v), want %v", group, s.Kind, s, want)
	}
	return s
}

// at is what the target has for a remote partition; -1 if nothing.
func (f *fix) at(group string, tp partition.ID) int64 {
	f.Helper()
	c, ok := f.all(group)[partition.ID{Topic: "A." + tp.Topic, Partition: tp.Partition}]
	if !ok {
		return -1
	}
	return c.Offset
}

func (f *fix) all(group string) map[partition.ID]kafka.Committed {
	f.Helper()
	got, failed, err := f.target.FetchPositions(f.ctx(), []string{group}, false)
	if err != nil || failed[group] != nil {
		f.Fatal(err, failed)
	}
	return got[group]
}

// want checks the target's position.
func (f *fix) want(group string, tp partition.ID, offset int64) {
	f.Helper()
	if got := f.at(group, tp); got != offset {
		f.Errorf("%s stands at %d on A.%v, want %d", group, got, tp, offset)
	}
}

// others commits on the target as a client of the application does, with a leader epoch if it read something.
func (f *fix) others(group string, tp partition.ID, offset int64, epoch int32) {
	f.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = 8, group
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "A." + tp.Topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = tp.Partition, offset, epoch, new("")
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(f.ctx(), f.target.Kgo())
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		f.Fatal(err, resp)
	}
}

// counts counts requests of a kind that reach a cluster.
func counts(c *testcluster.Fake, key kmsg.Key) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
}

// join enters a group and returns once the group is Stable; the returned function leaves it.
func join(t *testing.T, c *testcluster.Fake, admin *kafka.Client, group, topic string) (leave func()) {
	t.Helper()
	cl, err := kgo.NewClient(append(c.ClientOpts(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	})
	var once sync.Once
	leave = func() {
		once.Do(func() {
			cancel()
			wg.Wait()
			cl.Close()
		})
	}
	t.Cleanup(leave)
	await(t, group+" to have members", func() bool { return listed(t, admin, group).State == "Stable" })
	return leave
}

func listed(t *testing.T, admin *kafka.Client, group string) kafka.Group {
	t.Helper()
	all, err := admin.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if g.ID == group {
			return g
		}
	}
	return kafka.Group{}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	err := testcluster.Await(ctx, what, func(context.Context) (bool, string, error) { return is(), "", nil })
	if err != nil {
		t.Fatal(err)
	}
}

func reader(t *testing.T, c *kafka.Client, log *logged) *Reader {
	t.Helper()
	filter, err := mm2.NewFilter([]string{".*"}, []string{"secret-.*"})
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(c, filter, events.From(slog.New(slog.NewTextHandler(log, nil))))
}

func keyOf(group string, p int32) verdicts.Key {
	return verdicts.Key{Group: group, Topic: "orders", Partition: p}
}
