package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// javaRecord is a record as Consume.java prints it.
type javaRecord struct {
	offset    int64
	partition int32
	key       string
	value     string
}

// java reads records on the target with Kafka's own consumer, one where count is not named.
func (f *flow) java(options, client map[string]string) []javaRecord {
	f.tb.Helper()
	props := map[string]string{"bootstrap.servers": suite.target.BootstrapString()}
	maps.Copy(props, client)
	options["timeout"] = "60000"
	out, err := testcluster.RunJava(f.tb.Context(), "Consume.java", testcluster.JavaArgs(props, options)...)
	if err != nil {
		f.tb.Fatal(err)
	}
	var recs []javaRecord
	for line := range strings.Lines(strings.TrimSpace(out) + "\n") {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 4)
		if len(fields) != 4 {
			f.tb.Fatalf("Consume.java printed %q", line)
		}
		offset, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			f.tb.Fatalf("Consume.java printed %q: %v", line, err)
		}
		partition, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil {
			f.tb.Fatalf("Consume.java printed %q: %v", line, err)
		}
		recs = append(recs, javaRecord{offset: offset, partition: int32(partition), key: fields[2], value: fields[3]})
	}
	return recs
}

// unread is the number of the first record at or above a committed source offset.
func (f *flow) unread(topic string, committed int64) int64 {
	f.tb.Helper()
	for _, r := range f.read(suite.source, topic) {
		if r.Offset >= committed {
			seq, ok := r.Seq()
			if !ok {
				f.tb.Fatalf("source offset %d has no number", r.Offset)
			}
			return seq
		}
	}
	f.tb.Fatalf("%s holds nothing at or above offset %d", topic, committed)
	return -1
}

// TestConsumersResume: consumers of three implementations, and of both group protocols, start on the target from the
// position that the mirror wrote and read the first unread record first. They take part as members and fail where the
// group has no position.
func TestConsumersResume(t *testing.T) {
	t.Parallel()
	const topic, c = "cr-t", 137
	f := newFlow(t, "cr", topic, "cr-.*", "")
	f.topic(topic, 1, nil)
	f.transactions(testcluster.Load{Topic: topic, Count: 200}, 4)
	names := []string{"cr-java-classic", "cr-java-consumer", "cr-kcat", "cr-franz"}
	at := spots{}
	for _, g := range names {
		at.add(g, topic, 0, c)
	}
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	want := f.unread(topic, c)

	read := map[string][]byte{}
	read["cr-java-classic"] = []byte(f.java(map[string]string{"topic": f.remote(topic), "group": "cr-java-classic"}, nil)[0].value)
	read["cr-java-consumer"] = []byte(f.java(map[string]string{"topic": f.remote(topic), "group": "cr-java-consumer"}, map[string]string{"group.protocol": "consumer"})[0].value)
	got, err := testcluster.KcatConsume(t.Context(), suite.target.KcatProps(), testcluster.KcatRead{
		Topic: f.remote(topic), Group: "cr-kcat", Count: 1, Props: map[string]string{"auto.offset.reset": "error", "isolation.level": "read_committed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	read["cr-kcat"] = []byte(got[0].Value)
	read["cr-franz"] = f.join("cr-franz", topic).read(1)[0].Value
	for _, g := range names {
		if seq, ok := testcluster.SeqOf(read[g]); !ok || seq != want {
			t.Errorf("%s reads %q first, want seq %d", g, read[g], want)
		}
	}

	// What they committed there is their own from now on: the mirror leaves it, although the source is behind.
	other := spots{}
	other.add("cr-other", topic, 0, c)
	f.commitAll(other)
	f.exact(other, testcluster.ReadCommitted)
	first := f.mustPosition("cr-other", topic)
	for _, g := range names[:2] {
		if x := f.mustPosition(g, topic); x <= first {
			t.Errorf("%s committed behind its first record and stands at %d, translated was %d", g, x, first)
		}
	}
}

func (f *flow) mustPosition(group, topic string) int64 {
	f.tb.Helper()
	x, err := f.position(f.tb.Context(), group, topic, 0)
	if err != nil || x < 0 {
		f.tb.Fatalf("%s has no position of %s-0 on the target: %v", group, f.remote(topic), err)
	}
	return x
}

// TestJavaReadsOurCheckpoints: Kafka's own RemoteClusterUtils and console formatters read what the mirror emits, and get
// the numbers that the oracle wants.
func TestJavaReadsOurCheckpoints(t *testing.T) {
	t.Parallel()
	const topic, group = "cj-t", "cj-g"
	f := newFlow(t, "cj", topic, "cj-.*", "")
	f.topic(topic, 2, nil)
	f.transactions(testcluster.Load{Topic: topic, Partitions: 2, Count: 300}, 5)
	at := spots{}
	at.add(group, topic, 0, 101)
	at.add(group, topic, 1, f.sourceEnd(topic, 1))
	o := kadm.Offsets{}
	for s, c := range at {
		o.Add(kadm.Offset{Topic: topic, Partition: s.partition, At: c, LeaderEpoch: -1, Metadata: fmt.Sprintf("note-%d", s.partition)})
	}
	if err := f.src.CommitAllOffsets(t.Context(), group, o); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.exact(at, testcluster.ReadCommitted)

	var lines, answers []string
	checkpoints := map[int32]mm2.Checkpoint{}
	for s, c := range at {
		x, err := f.position(t.Context(), group, topic, s.partition)
		if err != nil {
			t.Fatal(err)
		}
		note := fmt.Sprintf("note-%d", s.partition)
		cp := mm2.Checkpoint{Group: group, Topic: f.remote(topic), Partition: s.partition, Upstream: c, Downstream: x, Metadata: note}
		checkpoints[s.partition] = cp
		lines = append(lines, cp.String())
		answers = append(answers, fmt.Sprintf("%s %d %d %s", f.remote(topic), s.partition, x, note))
	}
	slices.Sort(answers)
	f.emitted(checkpoints)
	out, err := testcluster.RunJava(t.Context(), "Translate.java", testcluster.JavaArgs(
		map[string]string{"bootstrap.servers": suite.target.BootstrapString()}, map[string]string{"alias": f.alias, "group": group, "timeout": "60000"})...)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out); got != strings.Join(answers, "\n") {
		t.Errorf("RemoteClusterUtils answers\n%s\nwant\n%s", got, strings.Join(answers, "\n"))
	}

	f.prints(suite.target, f.alias+".checkpoints.internal", testcluster.CheckpointFormatter, lines...)
	last, err := lastSync(t.Context(), suite.source.Client(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	f.prints(suite.source, "mm2-offset-syncs.T.internal", testcluster.OffsetSyncFormatter, last.String())
	f.prints(suite.target, "heartbeats", testcluster.HeartbeatFormatter, "sourceClusterAlias=cj, targetClusterAlias=T")
}

// emitted waits until the newest checkpoints are these.
func (f *flow) emitted(want map[int32]mm2.Checkpoint) {
	f.tb.Helper()
	cl := suite.target.Client(f.tb)
	f.until(30*time.Second, "checkpoints", func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, f.alias+".checkpoints.internal", testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error()
		}
		have := map[int32]mm2.Checkpoint{}
		for _, r := range recs {
			c, err := mm2.ParseCheckpoint(r.Key, r.Value)
			if err != nil {
				f.tb.Fatalf("checkpoint at offset %d: %v", r.Offset, err)
			}
			have[c.Partition] = c
		}
		for p, c := range want {
			if have[p] != c {
				return false, fmt.Sprintf("have %v, want %v", have[p], c)
			}
		}
		return true, ""
	})
}

// prints asserts that a console formatter prints lines with these texts.
func (f *flow) prints(r *testcluster.Real, topic, formatter string, texts ...string) {
	f.tb.Helper()
	got, err := testcluster.ConsoleFormatter(f.tb.Context(), r.BootstrapString(), topic, formatter)
	if err != nil {
		f.tb.Fatal(err)
	}
	for _, text := range texts {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, text) }) {
			f.tb.Errorf("%s of %s prints no %q, its last line is %q", formatter, topic, text, got[len(got)-1])
		}
	}
}
