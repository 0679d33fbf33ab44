package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/control"
	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// decides writes a decision.
func (w *world) decides(d control.Decision) {
	w.t.Helper()
	d.ID, d.At, d.By, d.Scope.Flow, d.Scope.Partition = "1", time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), "ann@ops1", "A->B", control.AllPartitions
	k, v, err := d.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	topic := control.TopicName("A")
	w.topic(w.target, topic, 1)
	w.produce(w.target, &kgo.Record{Topic: topic, Key: k, Value: v})
}

// TestGroupThatMoved: whoever is asked says that the group has moved, and what it has committed on the source since; its own commit
// on the target, ahead of the source, is no finding, and nobody writes its positions there by hand.
func TestGroupThatMoved(t *testing.T) {
	w := moved(t, 7)
	if f := w.findings("app"); !strings.Contains(f, "ahead by 2") {
		t.Fatalf("%q", f)
	}
	w.decides(control.Decision{Kind: control.Moved, Scope: control.Scope{Group: "app"}, Committed: map[string]map[int32]int64{"orders": {0: 5}}})
	for _, names := range [][]string{{"app"}, nil} {
		if f := w.findings(names...); f != "" {
			t.Errorf("%q", f)
		}
	}
	if tr, err := w.reader(Options{}).Translate(t.Context(), "app"); err != nil || tr.Moved == nil || len(tr.Findings()) != 0 || !strings.Contains(strings.Join(tr.Notes, "\n"), tr.MovedNote()) {
		t.Errorf("%+v, %v", tr, err)
	}
	if h, err := w.reader(Options{}).Handover(t.Context(), []string{"app"}, ""); err != nil || h.Groups[0].State != "moved to the target on 2026-05-06 by ann@ops1: its positions there are its own" || h.Groups[0].Writes != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := w.reader(Options{}).Handover(t.Context(), []string{"app"}, "try-"); err != nil || h.Groups[0].Writes != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	w.commit(w.source, "app", "orders", 6)
	if f := w.findings("app"); f != "group app: moved to B on 2026-05-06 by ann@ops1, but commits went on at A since: orders-0 at offset 6 (was 5): what it reads there it reads on B too" {
		t.Errorf("%q", f)
	}
	w.commit(w.source, "app", "orders", 5)

	// The source lets it expire, and its owner drops what was said of it.
	if res, err := kadm.NewClient(w.source.Client(t)).DeleteGroups(t.Context(), "app"); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	if f := w.findings(); f != "" {
		t.Errorf("gone from the source: %q", f)
	}
	key := verdicts.Key{Group: "app", Topic: "orders"}.EncodeKey()
	w.produce(w.target, &kgo.Record{Topic: ledger.VerdictsName("A"), Partition: ledger.GroupLane("app", lanes), Key: key})
	for _, names := range [][]string{{"app"}, nil} {
		got, err := w.reader(Options{}).Groups(t.Context(), names)
		if err != nil || len(got.Groups) != 1 || got.Groups[0].Moved == nil || len(got.Findings()) != 0 {
			t.Errorf("expired: %+v, %v, %q", got, err, got.Findings())
		}
	}
}

// TestForgottenTopic: positions in a topic that people have ended are shown no more, and nobody waits for its partitions, also before
// a worker has dropped what the ledger has of it. A later topic of its name is another one.
func TestForgottenTopic(t *testing.T) {
	for id, ended := range map[control.TopicID]bool{{7}: true, {9}: false} {
		w := newWorld(t)
		w.topic(w.target, "A.gone", 1)
		w.head(ledger.Head{Topic: "gone", State: ledger.Stopped, Reason: "the source has no such topic"}, 3, offsetmap.Origin{SourceTopicID: [16]byte{7}})
		w.rowOf("app", "gone", verdicts.Row{
			RemoteTopic: "A.gone", SourceTopic: "07000000000000000000000000000000", Committed: 3, SourceEnd: 3,
			Verdict: translate.Verdict{Kind: translate.Exact, Target: 3}, At: time.Now(), GoneAt: time.Now(),
		})
		w.commit(w.target, "app", "A.gone", 3)
		w.decides(control.Decision{Kind: control.Forget, Scope: control.Scope{Topic: "gone"}, TopicID: id})
		flow := w.flow()
		p := w.partition(flow, "gone", 0)
		if is := p.LeftOut == "forgotten by ann@ops1 on 2026-05-06"; is != ended {
			t.Errorf("%v: left out %q", id, p.LeftOut)
		}
		if is := !strings.Contains(strings.Join(flow.Findings(), "\n"), "gone-0 is stopped"); is != ended {
			t.Errorf("%v: %q", id, flow.Findings())
		}
		got, err := w.reader(Options{}).Groups(t.Context(), []string{"app"})
		if err != nil {
			t.Fatal(err)
		}
		if is := len(got.Groups[0].Positions) == 0 && len(got.Groups[0].TargetOnly) == 0; is != ended {
			t.Errorf("%v: %+v", id, got.Groups)
		}
		if is := !strings.Contains(strings.Join(got.Findings(), "\n"), "gone"); is != ended {
			t.Errorf("%v: %q", id, got.Findings())
		}
	}
}

// TestForgottenWithoutSource: where the source cannot be asked which topics it has, the decision says that one has ended.
func TestForgottenWithoutSource(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.gone", 1)
	w.commit(w.target, "app", "A.gone", 3)
	w.decides(control.Decision{Kind: control.Forget, Scope: control.Scope{Topic: "gone"}, TopicID: control.TopicID{7}})
	w.from = "127.0.0.1:1"
	got, err := w.reader(Options{}).Groups(t.Context(), []string{"app"})
	if err != nil || got.Source.Reached {
		t.Fatal(got.Source, err)
	}
	if diff := cmp.Diff([]status.TargetOnly(nil), got.Groups[0].TargetOnly); diff != "" {
		t.Error(diff)
	}
}
