//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestShapesOnRealBrokers fills the standard set and checks that each topic is
// what its shape says, down to the batches on the broker.
func TestShapesOnRealBrokers(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	r := shared.source
	cl := r.Client(t)
	for _, s := range Shapes("shape.") {
		t.Run(s.Load.Topic, func(t *testing.T) {
			must(t, s.Fill(ctx, r.ClientOpts()))
			if s.Compacted {
				must(t, WaitCompacted(ctx, cl, s.Load.Topic, 0))
			}
			checkShape(ctx, t, cl, s)
		})
	}
}

func checkShape(ctx context.Context, t *testing.T, cl *kgo.Client, s Shape) {
	t.Helper()
	committed, err := Read(ctx, cl, s.Load.Topic, ReadCommitted)
	must(t, err)
	all, err := Read(ctx, cl, s.Load.Topic, ReadUncommitted)
	must(t, err)
	batches, err := Batches(ctx, cl, s.Load.Topic, 0)
	must(t, err)
	starts, err := Starts(ctx, cl, s.Load.Topic)
	must(t, err)
	markers := slices.ContainsFunc(batches, func(b Batch) bool { return b.Control })
	switch {
	case s.Transactional:
		aborted := len(all) - len(committed)
		if aborted < 5 || len(all) != int(s.Load.Count) || !markers {
			t.Errorf("%d of %d records aborted, markers %v", aborted, len(all), markers)
		}
	case s.Compacted:
		if len(all) >= int(s.Load.Count)/2 || gaps(batches) == 0 {
			t.Errorf("%d of %d records left with %d gaps", len(all), s.Load.Count, gaps(batches))
		}
	case s.TrimTo > 0:
		if starts[0] != s.TrimTo || all[0].Offset != s.TrimTo || batches[0].Base >= s.TrimTo {
			t.Errorf("log start %d, first record %d, first batch %d; want %d inside a batch",
				starts[0], all[0].Offset, batches[0].Base, s.TrimTo)
		}
	default:
		if len(all) != int(s.Load.Count) || len(committed) != len(all) {
			t.Errorf("%d records, %d committed, want %d", len(all), len(committed), s.Load.Count)
		}
	}
	if s.Load.OneByOne && len(batches) != int(s.Load.Count) {
		t.Errorf("%d batches for %d records", len(batches), s.Load.Count)
	}
	if strings.Contains(s.Load.Topic, "plain-") { // kgo leaves batches of a record or two uncompressed
		want := int8(slices.Index(Codecs(), s.Load.Codec))
		for _, b := range batches {
			if b.Codec != want {
				t.Errorf("batch at %d has codec %d, want %d (%s)", b.Base, b.Codec, want, s.Load.Codec)
			}
		}
	}
	if s.Load.Varied {
		checkVaried(t, s.Load, all)
	}
}

// checkVaried compares what the broker holds with what was produced: null and
// empty must not become each other on the way through broker and reader.
func checkVaried(t *testing.T, l Load, got []Rec) {
	t.Helper()
	l.Start = time.UnixMilli(got[0].Timestamp)
	for _, r := range got {
		seq, _ := r.Seq()
		want := l.record(seq)
		if !sameBytes(r.Key, want.Key) || !sameBytes(r.Value, want.Value) || !sameHeaders(r.Headers, want.Headers) {
			t.Errorf("seq %d: got key %s headers %s, want %s %s", seq,
				show(r.Key), showHeaders(r.Headers), show(want.Key), showHeaders(want.Headers))
		}
	}
}

// TestKillAndRestart kills the target's only broker under a client. What was
// acknowledged is there afterwards, and the client goes on.
func TestKillAndRestart(t *testing.T) {
	ctx := within(t)
	r := shared.target
	cl := r.Client(t)
	l := Load{Topic: "survivor", Count: 100}
	must(t, CreateTopic(ctx, r.ClientOpts(), l.Topic, 1, nil))
	must(t, Produce(ctx, r.ClientOpts(), l))
	pid := r.BrokerPID(0)
	must(t, r.Kill(0))
	if err := dialOnce(ctx, r.BrokerAddr(0)); err == nil {
		t.Error("a killed broker accepts connections")
	}
	began := time.Now()
	must(t, r.Restart(ctx, 0))
	t.Logf("ready again after %v", time.Since(began).Round(10*time.Millisecond))
	if r.BrokerPID(0) == pid {
		t.Error("the broker has the process id of the killed one")
	}
	l.First = l.Count
	must(t, Produce(ctx, r.ClientOpts(), l))
	recs, err := Read(ctx, cl, l.Topic, ReadUncommitted)
	must(t, err)
	if len(recs) != 200 {
		t.Errorf("%d records, want 200", len(recs))
	}
}

// TestFreeze stops the source's broker for a moment: its port accepts
// connections, nothing answers, and after Thaw it does.
func TestFreeze(t *testing.T) {
	ctx := within(t)
	r := shared.source
	cl := r.Client(t, kgo.RetryTimeout(500*time.Millisecond), kgo.RequestTimeoutOverhead(time.Second))
	must(t, r.Freeze(0))
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := kadm.NewClient(cl).ListBrokers(short)
	dialErr := dialOnce(ctx, r.BrokerAddr(0))
	must(t, r.Thaw(0))
	if err == nil {
		t.Error("a frozen broker answered")
	}
	if dialErr != nil {
		t.Errorf("a frozen broker's port: %v", dialErr)
	}
	must(t, r.awaitReady(ctx))
}

// TestKcatAndJava has four implementations write and read one topic each:
// records of Go, C and Java must reach all three.
func TestKcatAndJava(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	r := shared.source
	for _, codec := range Codecs() {
		topic := "interop-" + string(codec)
		must(t, CreateTopic(ctx, r.ClientOpts(), topic, 1, nil))
		must(t, Produce(ctx, r.ClientOpts(), Load{Topic: topic, Count: 10, Codec: codec}))
		var lines []string
		for seq := range int64(10) {
			lines = append(lines, fmt.Sprintf("key-%d\t%s", 10+seq, Value(10+seq, 40)))
		}
		must(t, KcatProduce(ctx, r.KcatProps(), KcatLoad{Topic: topic, Codec: codec, Lines: lines}))
		if codec == "zstd" || codec == "lz4" { // a JVM costs two CPU seconds
			out, err := RunJava(ctx, "Produce.java", JavaArgs(r.JavaProps(), map[string]string{
				"topic": topic, "first": "20", "count": "10", "client.compression.type": string(codec), "client.batch.size": "200",
			})...)
			must(t, err)
			if !strings.HasPrefix(out, "20:20\n21:21\n") {
				t.Errorf("Java producer printed %q", out)
			}
		}
		recs, err := Read(ctx, r.Client(t), topic, ReadCommitted)
		must(t, err)
		got, err := KcatConsume(ctx, r.KcatProps(), KcatRead{Topic: topic})
		must(t, err)
		if len(got) != len(recs) || len(recs) < 20 {
			t.Fatalf("%s: kcat reads %d records, Read %d", topic, len(got), len(recs))
		}
		for i, k := range got {
			if seq, ok := recs[i].Seq(); !ok || seq != int64(i) || k.Offset != recs[i].Offset ||
				k.Value != string(recs[i].Value) || k.Key != string(recs[i].Key) || k.Timestamp != recs[i].Timestamp {
				t.Errorf("%s: record %d is %+v to kcat, %+v to Read", topic, i, k, recs[i])
			}
		}
	}
	readByGroups(ctx, t, r, "interop-zstd")
}

// readByGroups lets kcat and Java take turns in one group: each resumes where
// the other has committed.
func readByGroups(ctx context.Context, t *testing.T, r *Real, topic string) {
	t.Helper()
	args := func(group string, more map[string]string) []string {
		opts := map[string]string{"topic": topic, "group": group, "count": "5"}
		maps.Copy(opts, more)
		return JavaArgs(r.JavaProps(), opts)
	}
	out, err := RunJava(ctx, "Consume.java", args("nobody", nil)...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(err.Error(), "no position") {
		t.Errorf("a group without positions: %q, %v", out, err)
	}
	got, err := KcatConsume(ctx, r.KcatProps(), KcatRead{
		Topic: topic, Group: "turns", Count: 7,
		Props: map[string]string{"auto.offset.reset": "earliest"},
	})
	must(t, err)
	if len(got) != 7 || got[6].Offset != 6 {
		t.Fatalf("kcat as a member read %+v", got)
	}
	for i, protocol := range []string{"classic", "consumer"} {
		out, err = RunJava(ctx, "Consume.java", args("turns", map[string]string{"client.group.protocol": protocol})...)
		must(t, err)
		first := 7 + 5*i
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if want := fmt.Sprintf("%d:0:key-%d:seq=%d|", first, first, first); len(lines) != 5 || !strings.HasPrefix(lines[0], want) {
			t.Errorf("%s consumer printed %q, want 5 lines from %q", protocol, lines, want)
		}
	}
}

func TestJavaTransactions(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	r := shared.source
	must(t, CreateTopic(ctx, r.ClientOpts(), "java-transactions", 1, nil))
	_, err := RunJava(ctx, "Produce.java", JavaArgs(r.JavaProps(), map[string]string{
		"topic": "java-transactions", "count": "20", "txid": "java-tx", "txsize": "5", "abort": "2", "timestamp": "1678785933000",
	})...)
	must(t, err)
	recs, err := Read(ctx, r.Client(t), "java-transactions", ReadCommitted)
	must(t, err)
	var seqs []string
	for _, rec := range recs {
		seq, _ := rec.Seq()
		seqs = append(seqs, strconv.FormatInt(seq, 10))
	}
	if got := strings.Join(seqs, " "); got != "0 1 2 3 4 10 11 12 13 14" || recs[5].Offset != 12 {
		t.Errorf("committed records are %s, the sixth at %d", got, recs[5].Offset)
	}
}

// TestSecuredClusters starts one cluster for each kind of security and reaches
// it from Go, C and Java.
func TestSecuredClusters(t *testing.T) {
	t.Parallel()
	for _, o := range []RealOptions{
		{Name: "sasl", Security: SASLPlaintext, Features: map[string]int{"transaction.version": 0}},
		{Name: "tls", Security: SSL, Authorizer: true},
		{Name: "sasl-tls", Security: SASLSSL, Authorizer: true, Users: []User{{"bob", "bob-secret"}}},
	} {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			ctx := within(t)
			r, err := StartReal(ctx, o)
			must(t, err)
			t.Cleanup(func() { must(t, r.Stop()) })
			l := Load{Topic: "secret", Count: 10}
			must(t, CreateTopic(ctx, r.ClientOpts(), l.Topic, 1, nil))
			must(t, Produce(ctx, r.ClientOpts(), l))
			got, err := KcatConsume(ctx, r.KcatProps(), KcatRead{Topic: l.Topic})
			must(t, err)
			if len(got) != 10 {
				t.Errorf("kcat read %d records", len(got))
			}
			if o.Security.tls() { // without it the properties are a part of sasl-tls's
				_, err = RunJava(ctx, "Produce.java", JavaArgs(r.JavaProps(), map[string]string{"topic": l.Topic, "count": "1"})...)
				must(t, err)
			}
			if o.Security.sasl() {
				checkMechanisms(ctx, t, r)
			}
			if len(o.Users) > 0 {
				_, err := Read(ctx, NewClient(t, r.ClientOptsAs(o.Users[0], "PLAIN")), l.Topic, ReadUncommitted)
				if !errors.Is(err, kerr.TopicAuthorizationFailed) {
					t.Errorf("a user without rights: %v", err)
				}
			}
		})
	}
}

func checkMechanisms(ctx context.Context, t *testing.T, r *Real) {
	t.Helper()
	for _, m := range mechanisms() {
		cl := NewClient(t, r.ClientOptsAs(Admin(), m))
		if _, err := Ends(ctx, cl, "secret", ReadUncommitted); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
	wrong := NewClient(t, r.ClientOptsAs(User{Admin().Name, "wrong"}, "SCRAM-SHA-256"), kgo.RetryTimeout(time.Second))
	if err := wrong.Ping(ctx); err == nil {
		t.Error("a wrong password was accepted")
	}
}

// TestThreeBrokers loses one of three: the other two go on, and the lost one
// comes back with its replicas in sync.
func TestThreeBrokers(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	began := time.Now()
	r, err := StartReal(ctx, RealOptions{Name: "three", Brokers: 3})
	must(t, err)
	t.Cleanup(func() { must(t, r.Stop()) })
	t.Logf("three brokers ready after %v", time.Since(began).Round(10*time.Millisecond))
	l := Load{Topic: "replicated", Partitions: 3, Count: 90}
	must(t, CreateTopic(ctx, r.ClientOpts(), l.Topic, 3, map[string]string{"min.insync.replicas": "2"}))
	must(t, Produce(ctx, r.ClientOpts(), l))
	must(t, r.Kill(1))
	l.First = l.Count
	must(t, Produce(ctx, r.ClientOpts(), l))
	must(t, r.Restart(ctx, 1))
	admin := kadm.NewClient(r.Client(t))
	must(t, Await(ctx, "three replicas in sync", func(ctx context.Context) (bool, string, error) {
		topics, err := admin.ListTopics(ctx, l.Topic)
		if err != nil {
			return false, "", err
		}
		for _, p := range topics[l.Topic].Partitions {
			if len(p.ISR) != 3 || !slices.Contains(p.ISR, r.NodeID(1)) {
				return false, fmt.Sprintf("partition %d has ISR %v", p.Partition, p.ISR), nil
			}
		}
		return true, "", nil
	}))
	recs, err := Read(ctx, r.Client(t), l.Topic, ReadUncommitted)
	must(t, err)
	if len(recs) != 180 {
		t.Errorf("%d records, want 180", len(recs))
	}
}

func TestStartRealSaysWhyABrokerEnded(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	_, err := StartReal(ctx, RealOptions{Name: "broken", Props: map[string]string{"num.io.threads": "0"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Fatalf("got %v", err)
	}
	entries, err := os.ReadDir(os.TempDir())
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "tidemark-broken-") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	for _, o := range []RealOptions{{Brokers: 2}, {Authorizer: true}} {
		if _, err := StartReal(ctx, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
