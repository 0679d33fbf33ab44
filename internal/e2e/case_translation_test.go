package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// sourceEnd is the source's log end of one partition.
func (f *flow) sourceEnd(topic string, partition int32) int64 {
	f.tb.Helper()
	ends, err := testcluster.Ends(f.tb.Context(), f.reads().Client(f.tb), topic, testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	return ends[partition]
}

// TestCase01TransactionMarkers: markers and aborted records take source offsets and no target offsets. A tool that
// takes the distance for constant puts groups beyond the target's log end and loses what comes next. Here a group
// stands at every single offset of a log of 500 transactions, mirrored by both isolation levels.
func TestCase01TransactionMarkers(t *testing.T) {
	t.Parallel()
	const topic = "c01-t"
	f := newFlow(t, "c01", topic, "c01-.*", "")
	u := newFlow(t, "c01u", topic, "c01-.*", ", isolation: read_uncommitted")
	f.topic(topic, 1, nil)
	f.transactions(testcluster.Load{Topic: topic, Count: 1500}, 1)
	end := f.sourceEnd(topic, 0)
	if end < 1900 {
		t.Fatalf("%d offsets are too few for 1500 records and their markers", end)
	}
	at := spots{}
	for c := range end + 1 {
		at.add(fmt.Sprintf("c01-%d", c), topic, 0, c)
	}
	f.commitAll(at)
	f.start()
	u.start()
	f.exact(at, testcluster.ReadCommitted)
	u.exact(at, testcluster.ReadUncommitted)
	f.same(topic)
	source, target := u.copied(topic, testcluster.ReadUncommitted)
	if err := testcluster.Compare(source, target).Err(); err != nil {
		t.Errorf("read uncommitted: %v", err)
	}
	t.Logf("%d positions exact in each of two flows", len(at))

	// The log goes on: who stood behind the last marker reads the first new record next, not a later one.
	f.transactions(testcluster.Load{Topic: topic, First: 1500, Count: 200}, 2)
	f.exact(at, testcluster.ReadCommitted)
	u.exact(at, testcluster.ReadUncommitted)
}

// TestCase10TimestampsDoNotTranslate: positions are right whatever the timestamps say: 1000 records in one millisecond,
// hours back and forth, and a target that stamps records itself.
func TestCase10TimestampsDoNotTranslate(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "c10", "c10-.*", "c10-.*", "")
	for _, topic := range []string{"c10-same", "c10-back", "c10-append"} {
		f.topic(topic, 1, nil)
	}
	f.emptyRemote("c10-append", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	now := time.Now().Truncate(time.Millisecond)
	f.produce(testcluster.Load{Topic: "c10-same", Count: 1000, Start: now})
	for i, hours := range []int{0, -5, -1, -30, 0, -2} {
		f.produce(testcluster.Load{
			Topic: "c10-back", First: int64(i) * 50, Count: 50, BatchBytes: 900,
			Start: now.Add(time.Duration(hours) * time.Hour), Step: -time.Second,
		})
	}
	f.produce(testcluster.Load{Topic: "c10-append", Count: 300, Start: now.Add(-90 * 24 * time.Hour), BatchBytes: 2000})
	at := spots{}
	for _, topic := range []string{"c10-same", "c10-back", "c10-append"} {
		end := f.sourceEnd(topic, 0)
		for c := int64(0); c <= end; c += 13 {
			at.add(fmt.Sprintf("c10-%d", c), topic, 0, c)
		}
		at.add("c10-end", topic, 0, end)
	}
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	f.same("c10-same", "c10-back")
	source, target := f.copied("c10-append", testcluster.ReadCommitted)
	for i := range target {
		if target[i].Timestamp < now.UnixMilli() {
			t.Fatalf("target offset %d keeps timestamp %d: the topic does not stamp records itself and the test is void", target[i].Offset, target[i].Timestamp)
		}
		target[i].Timestamp = 0
	}
	for i := range source {
		source[i].Timestamp = 0
	}
	if err := testcluster.Compare(source, target).Err(); err != nil {
		t.Errorf("append time on the target: %v", err)
	}
}

// TestCase10RecordOfTheYear2100: brokers of today refuse records dated far in the future. Where the source took one
// and the target does not, that partition stops and says why; its neighbours go on, and so does it once the target's
// limit is raised, without losing or repeating anything.
func TestCase10RecordOfTheYear2100(t *testing.T) {
	t.Parallel()
	const topic = "c10y-t"
	f := newFlow(t, "c10y", topic, "c10y-.*", "")
	f.topic(topic, 2, map[string]string{"message.timestamp.after.max.ms": "9223372036854775807"})
	f.emptyRemote(topic, 2, nil)
	strange := numbered(topic, 0, 20)
	strange.Timestamp = time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)
	for seq := range int64(20) {
		f.write(numbered(topic, 0, seq))
	}
	f.write(strange)
	for seq := int64(21); seq < 40; seq++ {
		f.write(numbered(topic, 0, seq))
	}
	f.write(numbered(topic, 1, 1000), numbered(topic, 1, 1001))
	at := spots{}
	at.add("c10y-a", topic, 0, 7)
	at.add("c10y-b", topic, 0, 30)
	at.add("c10y-c", topic, 1, 1)
	f.commitAll(at)
	f.start()
	tcl := suite.target.Client(t)
	for _, group := range []string{"c10y-a", "c10y-b"} {
		f.stopped(tcl, spot{group, topic, 0}, "timestamp", "message.timestamp.after.max.ms", f.remote(topic))
	}
	f.write(numbered(topic, 1, 1002))
	f.until(30*time.Second, "the neighbour goes on", func(ctx context.Context) (bool, string) {
		ends, err := testcluster.Ends(ctx, tcl, f.remote(topic), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error()
		}
		return ends[1] == 3 && ends[0] <= 20, fmt.Sprint(ends)
	})
	limit := "9223372036854775807"
	if _, err := f.dst.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "message.timestamp.after.max.ms", Value: &limit}}, f.remote(topic)); err != nil {
		t.Fatal(err)
	}
	f.exact(at, testcluster.ReadCommitted)
	f.same(topic)
}

// TestCase12QuietTopics: the last records of a topic that nobody writes to any more are covered like all others.
func TestCase12QuietTopics(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "c12", "c12-.*", "c12-.*", "")
	f.topic("c12-six", 6, nil)
	f.topic("c12-hundred", 1, nil)
	stop := f.start()
	at := spots{}
	lengths := []int64{1, 0, 1, 0, 0, 1}
	for p, n := range lengths {
		if n > 0 {
			f.write(numbered("c12-six", int32(p), int64(p)))
		}
		at.add("c12-six", "c12-six", int32(p), n)
	}
	f.produce(testcluster.Load{Topic: "c12-hundred", Count: 100})
	at.add("c12-hundred", "c12-hundred", 0, 50)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	for p, n := range lengths {
		f.reaches("c12-six", "c12-six", int32(p), n) // lag 0
	}
	f.reaches("c12-hundred", "c12-hundred", 0, 50)
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	// The same after a restart, when no record ever passes the mirror again.
	at.add("c12-late", "c12-hundred", 0, 100)
	at.add("c12-late", "c12-six", 1, 0)
	at.add("c12-late", "c12-six", 5, 1)
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	f.reaches("c12-late", "c12-hundred", 0, 100)
}

// TestCase21LaggingGroups: 200,000 records with transactions in between, and groups that stand anywhere, also before
// nearly all of it. Every one of them resumes exactly: replays 0, skips 0.
func TestCase21LaggingGroups(t *testing.T) {
	t.Parallel()
	const topic = "c21-t"
	f := newFlow(t, "c21", topic, "c21-.*", "")
	f.topic(topic, 1, nil)
	seq := int64(0)
	for part := range 4 {
		f.produce(testcluster.Load{Topic: topic, First: seq, Count: 49_800, Codec: "lz4", BatchBytes: 32 << 10})
		seq += 49_800
		f.transactions(testcluster.Load{Topic: topic, First: seq, Count: 200}, uint64(part))
		seq += 200
	}
	end := f.sourceEnd(topic, 0)
	at := spots{}
	rnd := rand.New(rand.NewPCG(21, 21))
	places := []int64{0, 1, 10, 10_000, 49_800, 49_877, end / 2, end - 1000, end - 1, end}
	for range 10 {
		places = append(places, rnd.Int64N(end))
	}
	for _, c := range places {
		at.add(fmt.Sprintf("c21-%d", c), topic, 0, c)
	}
	f.commitAll(at)
	trail := f.trail(at)
	stop := f.start()
	f.exact(at, testcluster.ReadCommitted)
	f.same(topic)
	trail()
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	// Groups that appear after a restart are translated by what the ledger holds, at any depth.
	late := spots{}
	for i := range 10 {
		late.add(fmt.Sprintf("c21-late-%d", i), topic, 0, rnd.Int64N(end+1))
	}
	f.commitAll(late)
	f.start()
	f.exact(late, testcluster.ReadCommitted)
}

// TestCase23AlignedOffsets: where both sides have equal offsets all the time, positions still follow to the end, and so
// do the offset syncs that MirrorMaker 2 would translate by.
func TestCase23AlignedOffsets(t *testing.T) {
	t.Parallel()
	const topic, n = "c23-t", 100_000
	f := newFlow(t, "c23", topic, "c23-.*", "")
	f.topic(topic, 1, nil)
	f.start()
	f.produce(testcluster.Load{Topic: topic, Count: n, Codec: "zstd", BatchBytes: 64 << 10})
	at := spots{}
	for _, lag := range []int64{0, 1, 50, 100, 1000, 10_000, 50_000, n - 1} {
		at.add(fmt.Sprintf("c23-%d", lag), topic, 0, n-lag)
	}
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	f.reaches("c23-0", topic, 0, n)
	scl := suite.source.Client(t)
	f.until(30*time.Second, "an offset sync of the last record", func(ctx context.Context) (bool, string) {
		sync, err := lastSync(ctx, scl, topic)
		return err == nil && sync.Upstream == n-1 && sync.Downstream == n-1, fmt.Sprintf("%v, %v", sync, err)
	})
}

// trail looks at positions on the target all the time, from before the mirror's start. The returned func ends it and
// judges every number that was ever seen there: none lay beyond the log end or below an earlier one, and a consumer that
// had started at it would have skipped nothing.
func (f *flow) trail(at spots) (judge func()) {
	type sighting struct {
		spot
		x int64
	}
	var seen []sighting
	var g errgroup.Group
	ctx, cancel := context.WithCancel(f.tb.Context())
	f.tb.Cleanup(cancel)
	tcl := suite.target.Client(f.tb)
	names := at.groups()
	g.Go(func() error {
		last := map[spot]int64{}
		for paced(ctx) {
			got := f.dst.FetchManyOffsets(ctx, names...)
			for s := range at {
				o, ok := got[s.group].Fetched.Lookup(f.remote(s.topic), s.partition)
				if x, known := last[s]; !ok || o.At < 0 || known && o.At == x {
					continue
				} else if known && o.At < x {
					return fmt.Errorf("%v moved back from %d to %d", s, x, o.At)
				}
				last[s] = o.At
				seen = append(seen, sighting{s, o.At})
				ends, err := testcluster.Ends(ctx, tcl, f.remote(s.topic), testcluster.ReadUncommitted)
				if err == nil && ends[s.partition] < o.At {
					return fmt.Errorf("%v stands at %d, the log ends at %d", s, o.At, ends[s.partition])
				}
			}
		}
		return nil
	})
	return func() {
		f.tb.Helper()
		cancel()
		if err := g.Wait(); err != nil {
			f.tb.Error(err)
		}
		unread := map[spot]int64{}
		topics := map[string]contents{}
		for s, committed := range at {
			if _, ok := topics[s.topic]; !ok {
				topics[s.topic] = f.held(s.topic, testcluster.ReadCommitted)
			}
			if first, ok := firstUnread(s, committed, topics[s.topic]); ok {
				unread[s] = first
			}
		}
		for _, s := range seen {
			if first, ok := unread[s.spot]; ok && s.x > first {
				f.tb.Errorf("%v, committed at %d, stood at %d while its first unread record is at %d", s.spot, at[s.spot], s.x, first)
			}
		}
		f.tb.Logf("%d positions seen on the way of %d", len(seen), len(at))
	}
}

// lastSync is the newest offset sync of partition 0 of a topic.
func lastSync(ctx context.Context, scl *kgo.Client, topic string) (mm2.OffsetSync, error) {
	recs, err := testcluster.Read(ctx, scl, "mm2-offset-syncs.T.internal", testcluster.ReadUncommitted)
	if err != nil {
		return mm2.OffsetSync{}, err
	}
	var last mm2.OffsetSync
	for _, r := range recs {
		if s, err := mm2.ParseOffsetSync(r.Key, r.Value); err == nil && s.Topic == topic && s.Partition == 0 {
			last = s
		}
	}
	return last, nil
}
