package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// TestGoneFromTheSource: what is known of a group that the source no longer holds is shown with its age, and no sentence has a
// command that would delete it on the target too.
func TestGoneFromTheSource(t *testing.T) {
	for _, c := range []struct {
		onTarget int64
		want     string
	}{
		{5, "; the target holds it"},
		{3, "; committed on the target is offset 3"},
		{status.Unknown, "; the target holds no commit of it"},
		{7, "; the target's own commit is ahead by 2\ngroup app: leave its offsets on B as they are: they may be the only ones, nothing would write them again"},
	} {
		w := moved(t, c.onTarget)
		exact := translate.Verdict{Kind: translate.Exact, Target: 5}
		w.row("app", verdicts.Row{RemoteTopic: "A.orders", Committed: 5, SourceEnd: 9, Verdict: exact, At: time.Now().Add(-75 * time.Hour), GoneAt: time.Now().Add(-50 * time.Hour)})
		res, err := kadm.NewClient(w.source.Client(t)).DeleteGroups(t.Context(), "app")
		if err != nil || res.Error() != nil {
			t.Fatal(err, res.Error())
		}
		if t9n, err := w.reader(Options{}).Translate(t.Context(), "app"); err != nil || len(t9n.Offsets) != 1 || len(t9n.Notes) != 1 || !strings.Contains(t9n.Notes[0], "is gone from the source since ") {
			t.Errorf("translated: %+v, %v", t9n, err)
		}
		want := "group app, orders-0: gone from the source since 2d, the verdict is 3d old and kept: exact at offset 5" + c.want
		for _, names := range [][]string{{"app"}, nil} {
			got, err := w.reader(Options{}).Groups(t.Context(), names)
			if err != nil || len(got.Groups) != 1 {
				t.Fatal(got, err)
			}
			if f := strings.Join(got.Findings(), "\n"); f != want {
				t.Errorf("committed %d, asked for %q: %q, want %q", c.onTarget, names, f, want)
			}
			if text := got.Text(); strings.Contains(text, "delete") {
				t.Errorf("committed %d:\n%s", c.onTarget, text)
			}
		}
	}
}

// TestGoneAndLeftOut: a group that the source has no more and that the file leaves out now is waited for by nobody.
func TestGoneAndLeftOut(t *testing.T) {
	w := moved(t, 5)
	res, err := kadm.NewClient(w.source.Client(t)).DeleteGroups(t.Context(), "app")
	if err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	w.extra = ", groups_exclude: [app]"
	if f := w.findings(); f != "" {
		t.Errorf("findings: %q", f)
	}
	if f := w.findings("app"); f != `group app is left out: excluded by groups.exclude pattern "app"` {
		t.Errorf("findings of the group: %q", f)
	}
}

// TestGroupThatMayNotBeRead: brokers leave it out of their list without a word. It is not gone.
func TestGroupThatMayNotBeRead(t *testing.T) {
	w := moved(t, 7)
	w.source.ControlKey(int16(kmsg.ListGroups), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.source.KeepControl()
		return req.ResponseKind(), nil, true
	})
	w.source.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: "app", Err: kerr.GroupAuthorizationFailed, Count: -1})
	f := w.findings("app")
	if !strings.Contains(f, "its newest commit is not known: ") || !strings.Contains(f, "DESCRIBE") || strings.Contains(f, "gone") || strings.Contains(f, "delete") {
		t.Errorf("findings: %q", f)
	}
}

// TestLeftOutIsNoFinding: what the file leaves out now is waited for by nobody, also where the source has no such topic any more.
func TestLeftOutIsNoFinding(t *testing.T) {
	w := moved(t, 5)
	w.head(ledger.Head{Topic: "old", State: ledger.Stopped, Reason: "the source topic is gone", SourceEnd: 5}, 5, offsetmap.Origin{})
	exact := translate.Verdict{Kind: translate.Exact, Target: 5}
	w.rowOf("app", "old", verdicts.Row{RemoteTopic: "A.old", Committed: 5, SourceEnd: 9, Verdict: exact, At: time.Now()})
	want := "A->B: old-0 is stopped"
	if f := w.flow().Findings(); !slices.Contains(f, want) {
		t.Fatalf("findings %q, want %q among them", f, want)
	}
	if f := w.findings("app"); !strings.Contains(f, "group app, old-0: ") {
		t.Fatalf("findings of the group: %q", f)
	}
	w.extra = ", topics_exclude: [old]"
	f := w.flow()
	for _, line := range f.Findings() {
		if strings.Contains(line, "old") {
			t.Errorf("a finding about what is left out: %s", line)
		}
	}
	if p := w.partition(f, "old", 0); !strings.Contains(p.LeftOut, "excluded by topics.exclude") || !strings.Contains(p.Reason, "not mirrored any more: ") {
		t.Errorf("%+v", p)
	}
	if f := w.findings("app"); f != "" {
		t.Errorf("findings of the group: %q", f)
	}
}

// TestDeletedIsNoRehearsal: deleting a topic on the source takes the group's commits there with it, and not those on the copy.
func TestDeletedIsNoRehearsal(t *testing.T) {
	w := moved(t, 5)
	w.topic(w.target, "A.old", 1)
	w.topic(w.source, "old", 1)
	w.commit(w.target, "app", "A.old", 3)
	if f := w.findings("app"); !strings.Contains(f, "A.old-0: committed on the target and not on the source") {
		t.Fatalf("findings: %q", f)
	}
	if _, err := kadm.NewClient(w.source.Client(t)).DeleteTopic(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if f := w.findings("app"); f != "" {
		t.Errorf("findings: %q", f)
	}
}
