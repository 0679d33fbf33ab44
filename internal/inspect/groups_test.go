package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// moved is a world in which a run has carried group "app" to offset 5 and has written the target's commit, or not.
func moved(t *testing.T, onTarget int64) *world {
	t.Helper()
	w := newWorld(t)
	w.worker()
	w.topic(w.target, "A.orders", 2)
	w.records("A.orders", 9)
	w.head(ledger.Head{Topic: "orders", SourceEnd: 9}, 9, offsetmap.Origin{})
	w.row("app", verdicts.Row{RemoteTopic: "A.orders", Committed: 5, SourceEnd: 9, Verdict: translate.Verdict{Kind: translate.Exact, Target: 5}, At: time.Now()})
	w.commit(w.source, "app", "orders", 5)
	if onTarget >= 0 {
		w.commit(w.target, "app", "A.orders", onTarget)
	}
	return w
}

// records writes n records to partition 0 of a topic of the target.
func (w *world) records(topic string, n int) {
	w.t.Helper()
	for i := range n {
		w.produce(w.target, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
	}
}

func (w *world) commit(c *testcluster.Fake, group, topic string, at int64) {
	w.t.Helper()
	var o kadm.Offsets
	o.AddOffset(topic, 0, at, -1)
	if err := kadm.NewClient(c.Client(w.t)).CommitAllOffsets(w.t.Context(), group, o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) findings(groups ...string) string {
	w.t.Helper()
	got, err := w.reader(Options{}).Groups(w.t.Context(), groups)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.ReplaceAll(strings.Join(got.Findings(), "\n"), w.target.Bootstrap()[0], "TARGET")
}

func TestGroupOnTheTarget(t *testing.T) {
	// Each world has a target of its own, so its address is taken out of what is said.
	const takeBack = "group app: if it has moved to B for good, say so (tidemark moved flow.yaml app); if that was a rehearsal, take it back while the group has no members on B: kafka-consumer-groups.sh --bootstrap-server TARGET --group app --topic A.orders --delete-offsets; a run then commits the translated offsets within a minute"
	const leave = "group app: leave its offsets on B as they are: they may be the only ones, nothing would write them again"
	ahead := "group app, orders-0: the target's own commit is ahead by 2: the group would resume there at offset 7, not at 5\n" + takeBack
	beyond := "group app, orders-0: the target's own commit is offset 12, beyond the log's end there, 9: a consumer that resumes there falls back on its reset rule\n" +
		"group app, orders-0: the target's own commit is ahead by 7: the group would resume there at offset 12, not at 5\n" + takeBack
	const off = "group sync is off in flow.yaml: positions are not written to B (sync_groups switches it on)"
	for _, c := range []struct {
		onTarget      int64
		want, syncOff string
	}{
		{5, "", off},
		{7, ahead, off + "\n" + strings.Replace(ahead, takeBack, leave, 1)},
		{9, strings.NewReplacer("by 2", "by 4", "offset 7", "offset 9").Replace(ahead), ""},
		{12, beyond, ""},
		{3, "group app, orders-0: committed on the target is offset 3, it has to be 5", off},
		{status.Unknown, "group app, orders-0: no commit on the target is known, it has to be 5", off},
	} {
		w := moved(t, c.onTarget)
		if got := w.findings("app"); got != c.want {
			t.Errorf("committed %d: %q, want %q", c.onTarget, got, c.want)
		}
		if w.extra = ", sync_groups: false"; c.syncOff == "" {
			continue
		}
		if got := w.findings("app"); got != c.syncOff {
			t.Errorf("committed %d, sync off: %q, want %q", c.onTarget, got, c.syncOff)
		}
	}
}

// TestGroupActiveOnTheTarget: an application that was started too early there has a commit of its own, or none at all.
func TestGroupActiveOnTheTarget(t *testing.T) {
	w := moved(t, -1)
	cl := w.target.Client(t, kgo.ConsumerGroup("app"), kgo.ConsumeTopics("A.orders"), kgo.DisableAutoCommit())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	}()
	defer func() { cancel(); <-done }()
	var got status.Groups
	err := testcluster.Await(ctx, "a member", func(ctx context.Context) (_ bool, _ string, err error) {
		got, err = w.reader(Options{}).Groups(ctx, []string{"app"})
		return err == nil && got.Groups[0].TargetState == "Stable", fmt.Sprint(got.Groups), err
	})
	if err != nil {
		t.Fatal(err)
	}
	lives := "group app has members on B (Stable): its position there is theirs, and what it commits on A is not carried; stop them, or if it has moved say so: " + got.Command("moved", "app")
	if f := got.Findings(); len(f) != 2 || !strings.Contains(f[0], "no commit on the target is known, it has to be 5; the group is Stable there") || f[1] != lives {
		t.Errorf("findings: %q", f)
	}
	own := map[string]map[int32]kgo.EpochOffset{"A.orders": {0: {Epoch: -1, Offset: 6}}}
	cl.CommitOffsetsSync(ctx, own, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	if f := w.findings("app"); f != "group app, orders-0: consumers on the target have committed offset 6, 1 ahead of what the group has read on the source\n"+lives {
		t.Errorf("a consumer that nobody moved: %q", f)
	}
}

// TestNamedGroups: what is no finding among all groups is one for who asks about the group.
func TestNamedGroups(t *testing.T) {
	w := moved(t, 5)
	w.commit(w.source, "test-x", "orders", 5)
	w.topic(w.source, "left", 1)
	w.commit(w.source, "elsewhere", "left", 1)
	w.extra = ", groups_exclude: ['test-.*'], topics_exclude: [left]"
	for _, c := range []struct {
		name, want string
	}{
		{"", ""},
		{"app", ""},
		{"test-x", `group test-x is left out: excluded by groups.exclude pattern "test-.*"`},
		{"elsewhere", "group elsewhere: none of its positions is carried to the target"},
	} {
		names := slices.DeleteFunc([]string{c.name}, func(n string) bool { return n == "" })
		if got := w.findings(names...); got != c.want {
			t.Errorf("asked for %q: %q, want %q", names, got, c.want)
		}
	}
}

// TestSourceDown: lag 0 and an exact verdict mean nothing while nobody can tell what came after them.
func TestSourceDown(t *testing.T) {
	w := moved(t, 5)
	if f := w.findings("app"); f != "" {
		t.Fatalf("with the source: %q", f)
	}
	w.from = "127.0.0.1:1"
	if f := w.findings("app"); f != "the source does not answer, so lag and newest commits are not known" {
		t.Errorf("groups: %q", f)
	}
	if f := w.flow().Findings(); !slices.Contains(f, "A->B: the source does not answer, so lag and newest commits are not known") {
		t.Errorf("flow: %q", f)
	}
}

// TestWhenNewTopicsAreSeen: what is new on the source is explained by when a run looks for it.
func TestWhenNewTopicsAreSeen(t *testing.T) {
	w := newWorld(t)
	w.worker()
	w.commit(w.source, "app", "orders", 5)
	for extra, want := range map[string][2]string{
		"":                        {"a run sees a new topic or partition within seconds", "no lane has written a verdict about this position; a run does within seconds"},
		", refresh_topics: false": {"a run sees a new topic or partition at its next start only: refresh_topics is off in flow.yaml", "no lane has written a verdict about this position; a run sees a new topic or partition at its next start only: refresh_topics is off in flow.yaml"},
	} {
		w.extra = extra
		p := w.partition(w.flow(), "orders", 0)
		if p.Reason != "remote topic A.orders does not exist on the target; "+want[0] {
			t.Errorf("%q: %q", extra, p.Reason)
		}
		got, err := w.reader(Options{}).Groups(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Groups[0].Positions[0].Verdict; v.Kind != translate.Pending || v.Reason != want[1] {
			t.Errorf("%q: %+v", extra, v)
		}
	}
}

// TestNoWorker: a group without a verdict gets none while nobody runs, and what is there does not move.
func TestNoWorker(t *testing.T) {
	w := newWorld(t)
	w.commit(w.source, "app", "orders", 5)
	got, err := w.reader(Options{}).Groups(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const none = "no worker runs, none of the 4 lanes has an owner"
	if f := got.Findings(); !slices.Contains(f, none) {
		t.Errorf("findings: %q", f)
	}
	if v := got.Groups[0].Positions[0].Verdict; v.Reason != "no lane has written a verdict about this position, and no worker runs" {
		t.Errorf("verdict: %+v", v)
	}
	if text := got.Text(); !strings.Contains(text, none+": what is shown is what the last one wrote\n") {
		t.Errorf("the table does not say it:\n%s", text)
	}
}

// TestCarriedOnBetweenTheLooks: a run may carry a group on after its verdicts were read and before its commits are. That
// is no commit of the group's own.
func TestCarriedOnBetweenTheLooks(t *testing.T) {
	w := moved(t, 5)
	w.before(w.target, func(req kmsg.Request) bool { _, ok := req.(*kmsg.OffsetFetchRequest); return ok }, func() {
		w.row("app", verdicts.Row{RemoteTopic: "A.orders", Committed: 8, SourceEnd: 9, Verdict: translate.Verdict{Kind: translate.Exact, Target: 8}, At: time.Now()})
		w.commit(w.target, "app", "A.orders", 8)
	})
	got, err := w.reader(Options{}).Groups(t.Context(), []string{"app"})
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Groups[0].Positions[0]; p.OnTarget != 8 || p.Target != 8 || p.Now != 5 {
		t.Errorf("committed there %d, translated %d, on the source %d; want 8, 8, 5", p.OnTarget, p.Target, p.Now)
	}
	if f := strings.Join(got.Findings(), "\n"); strings.Contains(f, "ahead") {
		t.Errorf("findings: %s", f)
	}
}

// TestTranslateSaysWhatCounts: where the group would resume is its own commit on the target, if that is ahead.
func TestTranslateSaysWhatCounts(t *testing.T) {
	for _, c := range []struct {
		onTarget int64
		want     string
	}{
		{status.Unknown, ""},
		{5, ""},
		{7, "A.orders-0: the target's own commit is ahead by 2: the group would resume there at offset 7, not at 5"},
		{12, "A.orders-0: the target's own commit is offset 12, beyond the log's end there, 9: a consumer that resumes there falls back on its reset rule"},
	} {
		w := moved(t, c.onTarget)
		got, err := w.reader(Options{}).Translate(t.Context(), "app")
		if err != nil || len(got.Offsets) != 1 || got.Offsets[0].Offset != 5 || got.Offsets[0].OnTarget != c.onTarget {
			t.Fatalf("committed %d: %+v, %v", c.onTarget, got, err)
		}
		for what, lines := range map[string][]string{"says": got.Ahead(), "finds": got.Findings()} {
			if first := append(lines, "")[0]; first != c.want {
				t.Errorf("committed %d, %s %q, want %q", c.onTarget, what, first, c.want)
			}
		}
	}
}

func TestNoMapSaysItOnce(t *testing.T) {
	err := &ErrNoMap{Partition: partition.ID{Topic: "t", Partition: 1}, Flow: "A->B", Why: "why"}
	if got := err.Error(); got != "there is no offset map of t-1: why" {
		t.Errorf("%q", got)
	}
}

// TestNamedTopicsAreThere: a topic that the file names and the source does not have is a finding, for as long as that lasts. A
// pattern that selects nothing yet is none.
func TestNamedTopicsAreThere(t *testing.T) {
	w := newWorld(t)
	w.extra = ", topics: [orders, ordres, 'pay.v2', 'x-.*']"
	f := w.flow()
	var got []string
	for _, line := range f.Findings() {
		if strings.Contains(line, "is named in the file") {
			got = append(got, line)
		}
	}
	const tail = " is named in the file, and the source has none of that name, or does not show it (DESCRIBE)"
	if want := []string{"A->B: topic ordres" + tail + "; did you mean orders?", "A->B: topic pay.v2" + tail}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if text := f.Text(); !strings.Contains(text, "topic pay.v2"+tail) {
		t.Errorf("the text does not say it:\n%s", text)
	}
}
