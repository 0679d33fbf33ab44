package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
)

// dies runs an owner until it kills itself at a failpoint, and gives what it said.
func (f *flow) dies(at string, meanwhile func()) string {
	f.tb.Helper()
	path, err := failing()
	if err != nil {
		f.tb.Fatal(err)
	}
	w := f.worker(path, []string{"TIDEMARK_FAILPOINTS=" + at}, "--instance-id", "one")
	if meanwhile != nil {
		meanwhile()
	}
	select {
	case <-w.done:
	case <-time.After(200 * time.Second):
		f.tb.Fatalf("the owner does not come to %s:\n%s", at, w.output())
	}
	if !strings.Contains(w.output(), "failpoint: ") {
		f.tb.Fatalf("the owner ended by itself: %v\n%s", w.err, w.output())
	}
	return w.output()
}

// unheaded is how many target offsets of a partition no head knows of.
func (f *flow) unheaded(topic string, n int32) int64 {
	f.tb.Helper()
	cl := f.targetClient()
	ends, err := testcluster.Ends(f.tb.Context(), cl, f.remote(topic), testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	at := partition.ID{Topic: topic, Partition: n}
	for _, c := range f.ledgers(suite.target) {
		if _, ok := c.Heads[at]; !ok {
			continue
		}
		m, err := c.Map(at)
		if err != nil {
			f.tb.Fatal(err)
		}
		f.tb.Logf("%s-%d: head through %d at target %d, target end %d", topic, n, m.Through(), m.TargetEnd(), ends[n])
		return ends[n] - int64(m.TargetEnd())
	}
	f.tb.Fatalf("%s-%d has no head", topic, n)
	return 0
}

// left is what a crash has left: a topic whose tail on the target no head knows of, and a neighbour in the same flow.
type left struct {
	*flow
	topic, neighbour string
	source           []testcluster.Rec // all that the source ever held
	landed           []testcluster.Rec // what the target held at the crash
	head             int64             // target offset of the head
	end              int64             // of the target's log at the crash
}

// leaves mirrors a first part of a topic, waits for its head, and has the owner die on the first acknowledgement after that.
func leaves(t *testing.T, f *flow, tail func(topic string)) *left {
	t.Helper()
	l := &left{flow: f, topic: f.alias + "-t", neighbour: f.alias + "-n"}
	for _, topic := range []string{l.topic, l.neighbour} {
		f.produce(testcluster.Load{Topic: topic, Count: 40})
	}
	f.dies("after-ack=3", func() {
		f.same(l.topic, l.neighbour)
		f.until(20*time.Second, "a head", func(context.Context) (bool, string) {
			n := f.unheaded(l.topic, 0) + f.unheaded(l.neighbour, 0)
			return n == 0, fmt.Sprint(n)
		})
		l.head = f.end0(l.topic)
		tail(l.topic)
	})
	var err error
	if l.source, err = testcluster.Read(t.Context(), suite.source.Client(t), l.topic, testcluster.ReadCommitted); err != nil {
		t.Fatal(err)
	}
	if l.landed, err = testcluster.Read(t.Context(), f.targetClient(), f.remote(l.topic), testcluster.ReadUncommitted); err != nil {
		t.Fatal(err)
	}
	l.end = f.end0(l.topic)
	if n := f.unheaded(l.topic, 0); n == 0 {
		t.Fatal("nothing is left without a head")
	}
	t.Logf("%d records on the source, %d on the target, end %d", len(l.source), len(l.landed), l.end)
	return l
}

// pair makes the topics of a flow.
func (f *flow) pair(source, target map[string]string) *flow {
	for _, n := range []string{"-t", "-n"} {
		f.topic(f.alias+n, 1, source)
		if target != nil {
			f.emptyRemote(f.alias+n, 1, target)
		}
	}
	return f
}

// goesOn starts the next owner and waits until both topics hold what is written now.
func (l *left) goesOn() {
	l.tb.Helper()
	w := l.process("--instance-id", "one")
	for _, topic := range []string{l.topic, l.neighbour} {
		l.write(numbered(topic, 0, 1<<40))
		cl := l.targetClient()
		l.until(30*time.Second, "the last record of "+topic, func(ctx context.Context) (bool, string) {
			recs, err := testcluster.ReadPartition(ctx, cl, l.remote(topic), 0, testcluster.ReadUncommitted)
			there := slices.ContainsFunc(recs, func(r testcluster.Rec) bool { seq, ok := r.Seq(); return ok && seq == 1<<40 })
			return err == nil && there, fmt.Sprintf("%d records, %v\n%s", len(recs), err, w.output())
		})
	}
}

// whole compares: of what the source ever held, what it holds now or the target did at the crash, less what was deleted there.
func (l *left) whole(ours func(testcluster.Rec) bool) (want, target []testcluster.Rec) {
	l.tb.Helper()
	now := l.read(suite.source, l.topic)
	target, err := testcluster.Read(l.tb.Context(), l.targetClient(), l.remote(l.topic), testcluster.ReadUncommitted)
	if err != nil {
		l.tb.Fatal(err)
	}
	if ours != nil {
		target = slices.DeleteFunc(target, func(r testcluster.Rec) bool { return !ours(r) })
	}
	starts, err := testcluster.Starts(l.tb.Context(), l.targetClient(), l.remote(l.topic))
	if err != nil {
		l.tb.Fatal(err)
	}
	n := 0
	for i, r := range l.landed { // the i-th landed one is a copy of the i-th source record
		if r.Offset >= starts[0] {
			n++
			want = append(want, l.source[i])
		}
	}
	for _, r := range now {
		if len(l.landed) == 0 || r.Offset > l.source[len(l.landed)-1].Offset {
			want = append(want, r)
		}
	}
	l.tb.Logf("%d wanted, of them %d from before the crash; %d there", len(want), n, len(target))
	if err := testcluster.Compare(want, target).Err(); err != nil {
		l.tb.Errorf("%s: %v", l.topic, err)
	}
	return want, target
}

// places waits until groups all over the topic are where the oracle wants them.
func (l *left) places(want, target []testcluster.Rec) {
	l.tb.Helper()
	end := l.end0(l.topic)
	at := spots{}
	last := want[len(want)-1].Offset
	for i := range int64(9) {
		at.add(fmt.Sprintf("%sg%d", l.alias, i), l.topic, 0, (last+1)*i/8)
	}
	for i, o := range []int64{l.source[min(len(l.landed), len(l.source)-1)].Offset, l.source[len(l.landed)-1].Offset, 40, 39, 41, want[0].Offset} {
		at.add(fmt.Sprintf("%sh%d", l.alias, i), l.topic, 0, o)
	}
	l.commitAll(at)
	for s, c := range at {
		var x int64
		var late error
		l.until(30*time.Second, fmt.Sprintf("%v at %d", s, c), func(ctx context.Context) (bool, string) {
			var err error
			if x, err = l.position(ctx, s.group, s.topic, 0); err != nil || x < 0 {
				r, _, _ := row(ctx, l.targetClient(), l.alias, s)
				return strings.Contains(r.Verdict.String(), "trimmed") || strings.Contains(r.Verdict.String(), "not mirrored"), fmt.Sprint(x, err, r.Verdict.String())
			}
			err = testcluster.CheckPosition(want, c, target, x, end)
			var p *testcluster.PositionError
			if errors.As(err, &p) && len(p.Skipped) > 0 {
				late = err
				return true, ""
			}
			if r, ok, _ := row(ctx, l.targetClient(), l.alias, s); err != nil && ok && r.Verdict.Kind == translate.Bounded {
				return true, "" // it says so
			}
			return err == nil, fmt.Sprint(err)
		})
		if late != nil {
			l.tb.Errorf("%v at %d: %v", s, c, late)
		}
	}
}

func (l *left) trim(r *testcluster.Real, topic string, to int64) {
	l.tb.Helper()
	if err := testcluster.Trim(l.tb.Context(), r.ClientOpts(), topic, 0, to); err != nil {
		l.tb.Fatal(err)
	}
}

// equal writes records of one content, or of several in turn, 1 ms apart, in batches of 70.
func (f *flow) equal(topic string, count, period int64) {
	start := time.UnixMilli(time.Now().UnixMilli())
	var recs []*kgo.Record
	for i := range count {
		v := make([]byte, 1000)
		copy(v, fmt.Sprintf("same %d", i%period))
		recs = append(recs, &kgo.Record{Topic: topic, Timestamp: start.Add(time.Duration(i) * time.Millisecond), Key: []byte("k"), Value: v})
	}
	for some := range slices.Chunk(recs, 70) {
		f.write(some...)
	}
}

// foreign has somebody else write to the remote topic.
func (l *left) foreign(n int) {
	l.tb.Helper()
	cl := suite.target.Client(l.tb, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range n {
		if err := cl.ProduceSync(l.tb.Context(), &kgo.Record{Topic: l.remote(l.topic), Key: []byte("k"), Value: fmt.Appendf(nil, "foreign %d", i)}).FirstErr(); err != nil {
			l.tb.Fatal(err)
		}
	}
}

func notForeign(r testcluster.Rec) bool { return !strings.HasPrefix(string(r.Value), "foreign") }

// set changes settings of a topic.
func (l *left) set(a *kadm.Client, topic string, values map[string]string) {
	l.tb.Helper()
	var alter []kadm.AlterConfig
	for k, v := range values {
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: k, Value: &v})
	}
	got, err := a.AlterTopicConfigs(l.tb.Context(), alter, topic)
	if err == nil {
		_, err = got.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		l.tb.Fatal(err)
	}
}

// TestTakeoverAfterAnotherPolicy: a log cleaner has taken records of the tail, and cleanup.policy has no compact any more when
// the next owner looks.
func TestTakeoverAfterAnotherPolicy(t *testing.T) {
	for name, equal := range map[string]bool{"source": false, "equal": true, "target": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compact := map[string]string{"cleanup.policy": "compact"}
			remote := map[string]string{"cleanup.policy": "delete"}
			if name == "target" {
				remote = compact
			}
			f := newFlow(t, "tbp"+name, "tbp"+name+"-.*", "tbp"+name+"[gh].*", ", sync_topic_configs: false").pair(compact, remote)
			some := func(first, count int64) {
				if equal {
					f.equal(f.alias+"-t", count, 1)
					return
				}
				f.produce(testcluster.Load{Topic: f.alias + "-t", First: first, Count: count, Keys: 7, ValueBytes: 1000, BatchBytes: 80000, TombstoneEvery: 13})
			}
			l := leaves(t, f, func(string) { some(40, 600) })
			cleaned := func(a *kadm.Client, r *testcluster.Real, topic string, roll func()) {
				settings := testcluster.CompactedConfigs()
				delete(settings, "segment.bytes")
				l.set(a, topic, settings)
				roll()
				if err := testcluster.WaitCompacted(t.Context(), r.Client(t), topic, 0); err != nil {
					t.Fatal(err)
				}
				l.set(a, topic, map[string]string{"cleanup.policy": "delete"})
			}
			if name == "target" {
				cleaned(f.dst, suite.target, f.remote(l.topic), func() { l.foreign(1) })
				l.goesOn()
				target := slices.DeleteFunc(f.read(suite.target, f.remote(l.topic)), func(r testcluster.Rec) bool { return !notForeign(r) })
				if err := testcluster.CompareCompacted(f.read(suite.source, l.topic), target, testcluster.Compaction{Target: true, Tombstones: true}).Err(); err != nil {
					t.Error(err)
				}
				return
			}
			cleaned(f.src, suite.source, l.topic, func() { some(640, 1) })
			some(641, 300)
			l.goesOn()
			l.places(l.whole(nil))
		})
	}
}

// TestTakeoverAfterTrims: both logs are trimmed to within the tail, strangers write, and an owner dies while it takes over.
func TestTakeoverAfterTrims(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "tbt", "tbt-.*", "tbt[gh].*", "").pair(nil, nil)
	l := leaves(t, f, func(topic string) { f.equal(topic, 600, 1) })
	l.foreign(7)
	f.dies("after-fence=5", nil) // behind the four lanes' own topics come the partitions
	l.foreign(3)
	l.trim(suite.target, l.remote(l.topic), (l.head+l.end)/2)
	l.trim(suite.source, l.topic, (40+l.source[len(l.landed)-1].Offset)/2)
	l.goesOn()
	l.places(l.whole(notForeign))
}
