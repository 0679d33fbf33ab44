package inspect

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// carried is a world in which a run has carried group "app" to offset 5, and knows the remote topic's id.
func carried(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.worker()
	w.topic(w.target, "A.orders", 2)
	for range 9 {
		w.produce(w.target, &kgo.Record{Topic: "A.orders", Value: []byte("ours")})
	}
	id := w.id(w.target, "A.orders")
	w.head(ledger.Head{Topic: "orders", SourceEnd: 9}, 9, offsetmap.Origin{TargetTopicID: id})
	w.row("app", verdicts.Row{
		RemoteTopic: "A.orders", TargetTopic: hex.EncodeToString(id[:]), Committed: 5, SourceEnd: 9,
		Verdict: translate.Verdict{Kind: translate.Exact, Target: 5}, At: time.Now(),
	})
	w.commit(w.source, "app", "orders", 5)
	w.commit(w.target, "app", "A.orders", 5)
	return w
}

func (w *world) id(c *testcluster.Fake, topic string) [16]byte {
	w.t.Helper()
	got, err := kadm.NewClient(c.Client(w.t)).ListTopics(w.t.Context(), topic)
	if err != nil || got[topic].ID == (kadm.TopicID{}) {
		w.t.Fatalf("%s has no id: %+v, %v", topic, got, err)
	}
	return got[topic].ID
}

func (w *world) remove(c *testcluster.Fake, topic string) {
	w.t.Helper()
	if _, err := kadm.NewClient(c.Client(w.t)).DeleteTopic(w.t.Context(), topic); err != nil {
		w.t.Fatal(err)
	}
}

// looks is what the commands say about group "app" and offset 5, either way.
type looks struct {
	translation status.Translation
	groups      status.Groups
	there, back status.Lookup
}

func (w *world) looks() looks {
	w.t.Helper()
	r := w.reader(Options{})
	var out looks
	var errs [4]error
	out.translation, errs[0] = r.Translate(w.t.Context(), "app")
	out.groups, errs[1] = r.Groups(w.t.Context(), nil)
	out.there, errs[2] = r.Lookup(w.t.Context(), Query{Topic: "orders", Offset: 5})
	out.back, errs[3] = r.Lookup(w.t.Context(), Query{Topic: "A.orders", Offset: 5, Reverse: true})
	for i, err := range errs {
		if err != nil {
			w.t.Fatalf("question %d: %v", i, err)
		}
	}
	return out
}

// TestRemoteTopicOfAnother: positions in a remote topic that somebody deleted, or created anew and filled, are none.
func TestRemoteTopicOfAnother(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*world)
		kind   translate.Kind
		says   []string
	}{
		{"as it was", func(*world) {}, translate.Exact, nil},
		{"created anew", func(w *world) {
			w.remove(w.target, "A.orders")
			w.filled(w.target, "A.orders", 40)
		}, translate.IncarnationChanged, []string{"created anew", "A.orders", "on the target", "docs/stopped.md"}},
		{"deleted", func(w *world) { w.remove(w.target, "A.orders") }, translate.TopicNotMirrored, []string{"A.orders", "not on the target any more", "docs/stopped.md"}},
	} {
		w := carried(t)
		c.change(w)
		got := w.looks()
		if c.says == nil {
			if p := got.groups.Groups[0].Positions[0]; len(got.translation.Offsets) != 1 || p.Target != 5 || got.there.TargetAt != 5 || got.back.SourceAt != 5 || len(got.groups.Findings()) > 0 {
				t.Errorf("%s: %q, %+v", c.name, got.groups.Findings(), got)
			}
			continue
		}
		says := func(what, text string) {
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%s, %s: no %q in %q", c.name, what, part, text)
				}
			}
		}
		if tr := got.translation; len(tr.Offsets) != 0 || len(tr.Without) != 1 || tr.Without[0].Verdict.Kind != c.kind || tr.Without[0].Target != status.Unknown {
			t.Errorf("%s, translate: %+v", c.name, tr)
		}
		says("translate --check", strings.Join(got.translation.Findings(), "\n"))
		p := got.groups.Groups[0].Positions[0]
		if p.Verdict.Kind != c.kind || p.Target != status.Unknown || p.Exact {
			t.Errorf("%s, groups: %+v", c.name, p)
		}
		says("groups", p.Sentence)
		says("groups --check", strings.Join(got.groups.Findings(), "\n"))
		w.commit(w.source, "app", "orders", 6)
		says("groups --check, and the group went on", w.findings("app"))
		if l := got.there; l.TargetAt != status.Unknown || l.SourceAt != 5 || l.Exact || l.Verdict == nil || l.Verdict.Kind != c.kind || l.MirroredTo != 9 {
			t.Errorf("%s, one offset: %+v", c.name, l)
		}
		says("one offset", got.there.Sentence)
		if l := got.back; l.SourceAt != status.Unknown || l.TargetAt != 5 || l.Exact || l.Verdict != nil {
			t.Errorf("%s, the way back: %+v", c.name, l)
		}
		says("the way back", got.back.Text())
		if p := w.partition(w.flow(), "orders", 0); !strings.Contains(p.Reason, "A.orders") || !strings.Contains(p.Reason, "on the target") {
			t.Errorf("%s, status: %q", c.name, p.Reason)
		}
	}
}

// TestOldNoes: what a run has said about a position without a place stands; it knew more.
func TestOldNoes(t *testing.T) {
	w := carried(t)
	w.row("app", verdicts.Row{
		RemoteTopic: "A.orders", Committed: 5, SourceEnd: 9, At: time.Now(),
		Verdict: translate.Verdict{Kind: translate.PartitionStopped, Target: translate.NoPosition, Reason: "why"},
	})
	w.remove(w.target, "A.orders")
	if tr := w.looks().translation; len(tr.Without) != 1 || tr.Without[0].Sentence != "the partition is stopped: why" {
		t.Errorf("%+v", tr)
	}
}

// TestRemoteTopicThatMayNotBeDescribed: the answer stands, with a note.
func TestRemoteTopicThatMayNotBeDescribed(t *testing.T) {
	w := carried(t)
	w.target.ControlKey(int16(kmsg.Metadata), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.target.KeepControl()
		req := kreq.(*kmsg.MetadataRequest)
		if len(req.Topics) != 1 || req.Topics[0].Topic == nil || *req.Topics[0].Topic != "A.orders" {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.ErrorCode = req.Topics[0].Topic, kerr.TopicAuthorizationFailed.Code
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	r := w.reader(Options{})
	tr, err := r.Translate(t.Context(), "app")
	if err != nil || len(tr.Offsets) != 1 || tr.Offsets[0].Offset != 5 || !tr.Complete() {
		t.Errorf("translate: %+v, %v", tr, err)
	}
	gr, err := r.Groups(t.Context(), []string{"app"})
	if err != nil || gr.Groups[0].Positions[0].Target != 5 {
		t.Errorf("groups: %+v, %v", gr, err)
	}
	for name, h := range map[string]status.Header{"translate": tr.Header, "groups": gr.Header} {
		if !noted(h, "A.orders", "whether", "DESCRIBE") {
			t.Errorf("%s: notes %q", name, h.Notes)
		}
	}
}

func TestLost(t *testing.T) {
	asked := map[string]kafka.Topic{"A.a": {Name: "A.a", ID: [16]byte{1}}, "A.gone": {Name: "A.gone", Err: kafka.ErrNoTopic}}
	for _, c := range []struct {
		topic string
		id    [16]byte
		want  translate.Kind
		gone  bool
	}{
		{"A.a", [16]byte{1}, 0, false},
		{"A.a", [16]byte{}, 0, false}, // a row of a broker without topic ids
		{"A.a", [16]byte{2}, translate.IncarnationChanged, true},
		{"A.gone", [16]byte{2}, translate.TopicNotMirrored, true},
		{"A.unasked", [16]byte{2}, 0, false},
	} {
		v, gone := remoteTopics(asked).lost(c.topic, c.id)
		if gone != c.gone || gone && (v.Kind != c.want || v.HasPosition() || v.Final()) {
			t.Errorf("%+v: %+v, %v", c, v, gone)
		}
	}
	if got := topicID("00ff"); got != ([16]byte{}) {
		t.Errorf("an id that is none: %x", got)
	}
	if id := slices.Repeat([]byte{7}, 16); topicID(hex.EncodeToString(id)) != [16]byte(id) {
		t.Error("an id does not come back")
	}
}
