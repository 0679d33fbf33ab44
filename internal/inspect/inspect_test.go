package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/configfile"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

func TestTargetThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	cfg, err := configfile.Parse("flow.yaml", fmt.Appendf(nil, "clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows: [{from: A, to: B}]\n", w.from, deaf(t)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(cfg, cfg.Flows[0], Options{Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	began := time.Now()
	if _, err = r.Flow(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestNewerFormat: a lane that a newer build wrote is trouble, and the other lanes are shown.
func TestNewerFormat(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	w.head(ledger.Head{Topic: "orders", SourceEnd: 9}, 9, offsetmap.Origin{})
	other := (ledger.LaneOf("orders", 0, lanes) + 1) % lanes
	w.produce(w.target, &kgo.Record{Topic: ledger.TopicName("A"), Partition: other, Key: []byte("claim"), Value: []byte{99, 1, 2, 3, 4, 5}})
	got := w.flow()
	if got.Complete() || len(got.Trouble) != 1 || !strings.Contains(got.Trouble[0].Error, "run the build that wrote it or a newer one") {
		t.Errorf("trouble: %+v", got.Trouble)
	}
	if p := w.partition(got, "orders", 0); p.MirroredTo != 9 {
		t.Errorf("the good lane: %+v", p)
	}
	var found bool
	for _, f := range got.Findings() {
		found = found || strings.Contains(f, "read "+ledger.TopicName("A"))
	}
	if !found {
		t.Errorf("trouble is no finding: %q", got.Findings())
	}
}

func TestRemarks(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	w.topic(w.target, "A.small", 1)
	w.topic(w.source, "small", 2)
	w.topic(w.source, "narrow", 1)
	w.topic(w.target, "A.narrow", 3)
	w.topic(w.source, "left", 1)
	w.extra = ", topics_exclude: [left]"
	w.produce(w.target, &kgo.Record{Topic: "A.orders", Partition: 1, Value: []byte("not ours")})
	other := [16]byte{1}
	w.head(ledger.Head{Topic: "orders", SourceEnd: 5}, 5, offsetmap.Origin{SourceTopicID: other, TargetTopicID: other})
	w.head(ledger.Head{Topic: "gone", SourceEnd: 5}, 5, offsetmap.Origin{})
	w.head(ledger.Head{Topic: "left", SourceEnd: 5}, 5, offsetmap.Origin{})
	f := w.flow()
	for _, c := range []struct {
		topic     string
		partition int32
		state     status.State
		want      string
	}{
		{"orders", 0, status.Idle, "the source topic was created anew; remote topic A.orders was created anew on the target, and positions of the former one do not hold in it (docs/stopped.md); the source's log ends at 0, below what was mirrored"},
		{"orders", 1, status.New, "remote topic A.orders holds 1 offsets that Tidemark did not write"},
		{"gone", 0, status.Idle, "the topic is not on the source any more"},
		{"left", 0, status.Idle, `not mirrored any more: excluded by topics.exclude pattern "left"`},
		{"small", 0, status.New, "no worker has begun with it yet"},
		{"narrow", 0, status.New, "remote topic A.narrow has 3 partitions and the source topic 1: the others stay empty"},
		{"small", 1, status.New, "remote topic A.small has only 1 partitions"},
	} {
		p := w.partition(f, c.topic, c.partition)
		if p.State != c.state || !strings.Contains(p.Reason, c.want) {
			t.Errorf("%s-%d is %s: %q, want %s: %q", c.topic, c.partition, p.State, p.Reason, c.state, c.want)
		}
	}
}

// TestRowsAndHeads: with the source gone the newer of row and head says how far the source was.
func TestRowsAndHeads(t *testing.T) {
	w := newWorld(t)
	w.from = "127.0.0.1:1"
	at := time.Now().UTC().Truncate(time.Millisecond)
	exact := translate.Verdict{Kind: translate.Exact, Target: 3}
	w.head(ledger.Head{Topic: "orders", SourceEnd: 70, At: at}, 40, offsetmap.Origin{})
	w.row("old", verdicts.Row{RemoteTopic: "A.orders", Committed: 3, SourceEnd: 50, Verdict: exact, At: at.Add(-time.Hour)})
	w.row("young", verdicts.Row{RemoteTopic: "A.orders", Committed: 3, SourceEnd: 80, Verdict: exact, At: at.Add(time.Second)})
	got, err := w.reader(Options{}).Groups(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{67, 77} {
		if p := got.Groups[i].Positions[0]; p.Lag != want || p.SourceLive || p.Now != status.Unknown {
			t.Errorf("%s: lag %d, want %d: %+v", got.Groups[i].Group, p.Lag, want, p)
		}
	}
}

func TestReverseTakesTheRemoteName(t *testing.T) {
	for _, c := range []struct{ extra, remote, ask string }{
		{"", "A.orders", "A.orders"}, {"", "A.orders", "orders"}, {", policy: identity", "orders", "orders"},
	} {
		w := newWorld(t)
		w.extra = c.extra
		w.topic(w.target, c.remote, 2)
		w.head(ledger.Head{Topic: "orders", RemoteTopic: c.remote, SourceEnd: 9}, 9, offsetmap.Origin{SourceStart: 0})
		got, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: c.ask, Offset: 4, Reverse: true})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got.SourceAt != 4 || !got.Exact || got.Topic != "orders" || got.RemoteTopic != c.remote {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestNothingIsChanged is IN1: whatever is asked, no request that could change a cluster leaves.
func TestNothingIsChanged(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	w.head(ledger.Head{Topic: "orders", SourceEnd: 9}, 9, offsetmap.Origin{})
	w.row("billing", verdicts.Row{RemoteTopic: "A.orders", Committed: 3, SourceEnd: 9, Verdict: translate.Verdict{Kind: translate.Exact, Target: 3}})
	harmless := map[kmsg.Key]bool{
		kmsg.ApiVersions: true, kmsg.Metadata: true, kmsg.Fetch: true, kmsg.ListOffsets: true, kmsg.ListGroups: true,
		kmsg.OffsetFetch: true, kmsg.FindCoordinator: true, kmsg.DescribeGroups: true,
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	watch := func(c *testcluster.Fake) {
		c.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			mu.Lock()
			defer mu.Unlock()
			if !harmless[kmsg.Key(req.Key())] {
				t.Errorf("a request that changes things: %s", kmsg.NameForKey(req.Key()))
			}
			if m, ok := req.(*kmsg.MetadataRequest); ok && m.AllowAutoTopicCreation {
				t.Error("a metadata request that may create topics")
			}
			seen[kmsg.NameForKey(req.Key())] = true
			return nil, nil, false
		})
	}
	watch(w.source)
	watch(w.target)
	r := w.reader(Options{})
	var errs []error
	ask := func(_ any, err error) { errs = append(errs, err) }
	ask(r.Flow(t.Context()))
	ask(r.Groups(t.Context(), nil))
	ask(r.Translate(t.Context(), "billing"))
	ask(r.Lookup(t.Context(), Query{Topic: "orders", Offset: 3}))
	ask(r.Ledger(t.Context(), true))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(context.Context) (status.MM2Records, error){r.Checkpoints, r.OffsetSyncs, r.Heartbeats} {
		_, err := read(t.Context())
		if never := (*ErrNeverRun)(nil); !errors.As(err, &never) {
			t.Errorf("a topic of MirrorMaker 2 that is not there: %v", err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"Fetch", "ListGroups", "OffsetFetch", "DescribeGroups"} {
		if !seen[want] {
			t.Errorf("no %s request was seen: the test watches nothing", want)
		}
	}
}

func TestProgress(t *testing.T) {
	w := newWorld(t)
	var told []string
	_, err := w.reader(Options{Progress: func(what string, done, of int) { told = append(told, fmt.Sprintf("%s %d/%d", what, done, of)) }}).Ledger(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != lanes || told[lanes-1] != "reading tidemark-ledger.A.internal on B 4/4" {
		t.Errorf("told %q", told)
	}
}

func TestNoMap(t *testing.T) {
	w := newWorld(t)
	_, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: "nothing", Partition: 7, Offset: 1})
	var none *ErrNoMap
	if !errors.As(err, &none) || none.Partition != (partition.ID{Topic: "nothing", Partition: 7}) {
		t.Errorf("error: %v", err)
	}
}

// TestWrongPassword: a cluster that refuses us says so within moments, with user and mechanism and without the secret.
func TestWrongPassword(t *testing.T) {
	_, guarded := testcluster.NewPair(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "mirror", "right"))
	open, _ := testcluster.NewPair(t)
	for name, clusters := range map[string]string{
		"target": "  A: {bootstrap: %[2]q}\n  B: {bootstrap: %[1]q, security: {protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: mirror, password: hunter2}}\n",
		"source": "  A: {bootstrap: %[1]q, security: {protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: mirror, password: hunter2}}\n  B: {bootstrap: %[2]q}\n",
	} {
		cfg, err := configfile.Parse("flow.yaml", fmt.Appendf(nil, "clusters:\n"+clusters+"flows: [{from: A, to: B}]\n", guarded.Bootstrap()[0], open.Bootstrap()[0]))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(cfg, cfg.Flows[0], Options{ConnectTimeout: time.Second, SourceTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := r.OffsetSyncs(t.Context()) // on the source
		if name == "target" {
			_, err = r.Flow(t.Context())
		}
		r.Close()
		text := fmt.Sprintf("%v %+v", err, got)
		if err == nil || !strings.Contains(text, "mirror") || !strings.Contains(text, "PLAIN") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", name, text)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}
