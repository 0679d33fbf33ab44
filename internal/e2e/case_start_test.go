package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// TestCase02NeverAnUntranslatedNumber: the source's log is empty when mirroring begins, and groups hold numbers of
// records that are gone, or that never were. None of these numbers may appear on the target, where the log ends at 0;
// the first record that comes later is read there by everyone who reads it on the source.
func TestCase02NeverAnUntranslatedNumber(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "c02", "c02-.*", "c02-.*", "")
	f.topic("c02-trimmed", 1, nil)
	f.topic("c02-six", 6, nil)
	f.produce(testcluster.Load{Topic: "c02-trimmed", Count: 100})
	if err := testcluster.Trim(t.Context(), suite.source.ClientOpts(), "c02-trimmed", 0, 100); err != nil {
		t.Fatal(err)
	}
	f.produce(testcluster.Load{Topic: "c02-six", Count: 100}) // partition 0 only
	at := spots{}
	at.add("c02-end", "c02-trimmed", 0, 100)
	for p := range int32(6) {
		at.add("c02-six", "c02-six", p, 0)
	}
	at.add("c02-six", "c02-six", 0, 100)
	at.add("c02-beyond", "c02-six", 3, 100) // a partition that is empty: the number is of another time
	// These lie below the log start: what they had not read is gone, and they go on with what comes.
	at.add("c02-low", "c02-trimmed", 0, 40)
	at.add("c02-zero", "c02-trimmed", 0, 0)
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	for s := range at {
		if s.partition != 0 || s.topic != "c02-six" {
			f.reaches(s.group, s.topic, s.partition, 0)
		}
	}

	f.write(numbered("c02-trimmed", 0, 100))
	f.write(numbered("c02-six", 3, 1000))
	f.exact(at, testcluster.ReadCommitted)
	f.readsFirst("c02-low", "c02-trimmed", 100)
	f.readsFirst("c02-zero", "c02-trimmed", 100)
	f.readsFirst("c02-end", "c02-trimmed", 100)
	f.readsFirst("c02-six", "c02-six", 1000)
}

// readsFirst asserts which record a consumer of a group on the target reads first.
func (f *flow) readsFirst(group, topic string, seq int64) {
	f.tb.Helper()
	got := f.join(group, topic).read(1)
	if s, ok := testcluster.SeqOfRecord(got[0]); !ok || s != seq {
		f.tb.Errorf("%s reads %.20q first, want seq %d", group, got[0].Value, seq)
	}
}

// TestCase03CommittedZeroIsNotNeverCommitted: a group that committed 0 stands at 0 on the target too, or a consumer that
// starts at the end there loses everything; a partition that it never committed gets no commit.
func TestCase03CommittedZeroIsNotNeverCommitted(t *testing.T) {
	t.Parallel()
	const topic, group = "c03-t", "c03-g"
	f := newFlow(t, "c03", topic, group, "")
	f.topic(topic, 3, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 3, Count: 60})
	at := spots{}
	at.add(group, topic, 0, 10)
	at.add(group, topic, 1, 0)
	f.commitAll(at)
	stop := f.start()
	f.exact(at, testcluster.ReadCommitted)
	f.reaches(group, topic, 1, 0)
	if at, err := f.position(t.Context(), group, topic, 2); err != nil || at != -1 {
		t.Errorf("partition 2 was never committed and stands at %d on the target (%v)", at, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	m := f.join(group, topic, kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	read := map[string]bool{}
	for _, r := range m.read(30) {
		read[fmt.Sprintf("%d/%d", r.Partition, r.Offset)] = true
	}
	for i := range 20 {
		if i >= 10 && !read[fmt.Sprintf("0/%d", i)] || !read[fmt.Sprintf("1/%d", i)] {
			t.Fatalf("the consumer that starts at the end where it has no position read %v", read)
		}
	}
	if len(read) != 30 {
		t.Errorf("read %d records, want the last 10 of partition 0 and all 20 of partition 1", len(read))
	}
}

// TestCase61EmptyTopicsExist: topics without a single record are created with their settings and partitions, also one
// that appears while the mirror runs; and a topic that grows is followed, data included.
func TestCase61EmptyTopicsExist(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "c61", "c61-.*", "c61-.*", ", refresh_topics_interval: 500ms")
	configs := map[string]string{"retention.ms": "777000", "cleanup.policy": "compact,delete", "max.message.bytes": "77777"}
	for i := range int32(4) {
		f.topic(fmt.Sprintf("c61-%d", i), i+1, configs)
	}
	f.start()
	f.exists("c61-0", 1, configs)
	f.topic("c61-4", 5, configs)
	for i := range int32(5) {
		f.exists(fmt.Sprintf("c61-%d", i), i+1, configs)
	}

	// A group on empty topics stands at their end, 0, and so reads what comes first.
	at := spots{}
	at.add("c61-g", "c61-0", 0, 0)
	at.add("c61-g", "c61-4", 4, 0)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)

	if _, err := f.src.UpdatePartitions(t.Context(), 4, "c61-0"); err != nil {
		t.Fatal(err)
	}
	f.until(30*time.Second, "four partitions on the source", func(ctx context.Context) (bool, string) {
		ends, err := testcluster.Ends(ctx, suite.source.Client(t), "c61-0", testcluster.ReadUncommitted)
		return err == nil && len(ends) == 4, fmt.Sprint(ends, err)
	})
	f.produce(testcluster.Load{Topic: "c61-0", Partitions: 4, Count: 40})
	f.exists("c61-0", 4, configs)
	at = spots{}
	for p := range int32(4) {
		at.add("c61-grown", "c61-0", p, int64(p))
	}
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	f.same("c61-0")
}

// exists waits until a remote topic has partitions and settings as named. Settings that differ once the topic exists
// are wrong at once: it must be created with them.
func (f *flow) exists(topic string, partitions int32, configs map[string]string) {
	f.tb.Helper()
	f.until(30*time.Second, f.remote(topic), func(ctx context.Context) (bool, string) {
		got, err := f.dst.ListTopics(ctx, f.remote(topic))
		if err != nil || !got.Has(f.remote(topic)) {
			return false, fmt.Sprintf("not there, %v", err)
		}
		f.configured(ctx, topic, configs)
		return len(got[f.remote(topic)].Partitions) == int(partitions), fmt.Sprintf("%d partitions", len(got[f.remote(topic)].Partitions))
	})
}

// configured fails where a remote topic does not have these settings.
func (f *flow) configured(ctx context.Context, topic string, configs map[string]string) {
	f.tb.Helper()
	got, err := f.dst.DescribeTopicConfigs(ctx, f.remote(topic))
	if err == nil {
		_, err = got.On(f.remote(topic), nil)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	have := map[string]string{}
	for _, c := range got[0].Configs {
		have[c.Key] = c.MaybeValue()
	}
	for k, want := range configs {
		if have[k] != want {
			f.tb.Fatalf("%s has %s=%q, want %q", f.remote(topic), k, have[k], want)
		}
	}
}
