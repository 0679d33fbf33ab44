package inspect

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// mirrorMakers is a world in which no run of Tidemark has been.
func mirrorMakers(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.source, w.target = testcluster.NewPair(t)
	w.from = w.source.Bootstrap()[0]
	w.topic(w.source, "orders", 1)
	return w
}

func (w *world) mm2(c *testcluster.Fake, topic string, recs ...mm2.Record) {
	w.t.Helper()
	w.topic(c, topic, 1)
	w.more(c, topic, recs...)
}

func (w *world) more(c *testcluster.Fake, topic string, recs ...mm2.Record) {
	w.t.Helper()
	for _, r := range recs {
		key, kerr := r.AppendKey(nil)
		value, verr := r.AppendValue(nil)
		if err := errors.Join(kerr, verr); err != nil {
			w.t.Fatal(err)
		}
		w.produce(c, &kgo.Record{Topic: topic, Key: key, Value: value})
	}
}

// filled is a topic with n records.
func (w *world) filled(c *testcluster.Fake, topic string, n int) {
	w.t.Helper()
	w.topic(c, topic, 1)
	for range n {
		w.produce(c, &kgo.Record{Topic: topic, Value: []byte("v")})
	}
}

func cp(topic string, up, down int64) mm2.Checkpoint {
	return mm2.Checkpoint{Group: "g", Topic: topic, Upstream: up, Downstream: down}
}

func noted(h status.Header, parts ...string) bool {
	return slices.ContainsFunc(h.Notes, func(n string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(n, p) })
	})
}

// TestTwins is field case 64 in small: state under a name that the file does not give is read, and names that both hold
// records are told. (With a single "_" there cannot be both: brokers refuse topics that differ in "." and "_" only.)
func TestTwins(t *testing.T) {
	w := mirrorMakers(t)
	w.extra = ", separator: __"
	w.filled(w.target, "A__orders", 40)
	w.mm2(w.target, "A.checkpoints.internal", cp("A__orders", 30, 20))
	w.mm2(w.source, "mm2-offset-syncs.B.internal", mm2.OffsetSync{Topic: "orders", Upstream: 25, Downstream: 19})
	look := func(sure bool) {
		t.Helper()
		got, err := w.reader(Options{}).Translate(t.Context(), "g")
		if err != nil || len(got.Offsets) != 1 || got.Offsets[0].Offset != 20 || got.Offsets[0].Topic != "A__orders" || got.Basis != status.BasisCheckpoints {
			t.Errorf("%+v, %v", got, err)
		}
		if len(got.Offsets) == 1 && !strings.Contains(got.Offsets[0].Sentence, "replays at most 4 records") {
			t.Error(got.Offsets[0].Sentence) // 26 to 29: the sync was found, and the source topic's name
		}
		groups, err := w.reader(Options{}).Groups(t.Context(), nil)
		if err != nil || len(groups.Groups) != 1 || groups.Groups[0].Positions[0].Topic != "orders" {
			t.Errorf("%+v, %v", groups, err)
		}
		recs, err := w.reader(Options{}).Checkpoints(t.Context())
		if err != nil || recs.Topic != "A.checkpoints.internal" || len(recs.Checkpoints) != 1 {
			t.Errorf("%+v, %v", recs, err)
		}
		for _, h := range []status.Header{got.Header, groups.Header, recs.Header} {
			if noted(h, "A.checkpoints.internal is shown", "A__checkpoints__internal") == sure {
				t.Errorf("notes %q", h.Notes)
			}
		}
	}
	look(false) // A__checkpoints__internal, which the file names, is not there
	w.topic(w.target, "A__checkpoints__internal", 1)
	look(false) // it is empty
	w.extra = ", separator: __, internal_separator: false"
	look(true)
	w.extra = ", separator: __"
	key, _ := cp("A__orders", 1, 1).AppendKey(nil)
	value, _ := cp("A__orders", 9, 9).AppendValue(nil)
	w.produce(w.target, &kgo.Record{Topic: "A__checkpoints__internal", Key: key, Value: value})
	got, err := w.reader(Options{}).Translate(t.Context(), "g")
	if err != nil || len(got.Offsets) != 1 || got.Offsets[0].Offset != 9 || !noted(got.Header, "A__checkpoints__internal, which the file names, is shown", "A.checkpoints.internal holds records") {
		t.Errorf("%+v, %v", got, err)
	}
	w.extra = "" // default settings: dots are what the file names, and remote topics had another separator
	if got, err = w.reader(Options{}).Translate(t.Context(), "g"); err != nil || len(got.Offsets) != 1 || got.Offsets[0].Offset != 20 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSyncsUnderAnotherSeparator: the remote topic of a lookup has the separator of the topic that the sync was found in.
func TestSyncsUnderAnotherSeparator(t *testing.T) {
	w := mirrorMakers(t)
	w.filled(w.target, "A_orders", 40)
	w.mm2(w.source, "mm2-offset-syncs_B_internal", mm2.OffsetSync{Topic: "orders", Upstream: 25, Downstream: 19})
	got, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: "orders", Offset: 25})
	if err != nil || !got.Exact || got.TargetAt != 19 || got.RemoteTopic != "A_orders" || !noted(got.Header, "mm2-offset-syncs_B_internal is shown") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBackOfATopicCalledAsARemoteTopic: where a source topic is called A.orders, the way back of A.orders is still that of
// the remote topic of orders, by offset syncs as by the ledger. A name with another separator is not taken for it.
func TestBackOfATopicCalledAsARemoteTopic(t *testing.T) {
	w := mirrorMakers(t)
	w.filled(w.target, "A.orders", 50)
	w.filled(w.target, "A.A.orders", 50)
	w.mm2(w.source, "mm2-offset-syncs.B.internal",
		mm2.OffsetSync{Topic: "orders", Upstream: 1010, Downstream: 10},
		mm2.OffsetSync{Topic: "A.orders", Upstream: 7, Downstream: 5},
		mm2.OffsetSync{Topic: "A.only", Upstream: 7, Downstream: 5})
	r := w.reader(Options{})
	for _, c := range []struct {
		asked, source, remote string
		at, want              int64
	}{
		{"A.orders", "orders", "A.orders", 10, 1010},
		{"orders", "orders", "A.orders", 10, 1010},
		{"A.A.orders", "A.orders", "A.A.orders", 5, 7},
		{"A.only", "A.only", "A.A.only", 5, status.Unknown}, // no such topic on the target: the name is one on the source
	} {
		got, err := r.Lookup(t.Context(), Query{Topic: c.asked, Offset: c.at, Reverse: true})
		if err != nil || got.Topic != c.source || got.RemoteTopic != c.remote || got.SourceAt != c.want {
			t.Errorf("%s: %s (remote %s) at %d, %v; want %+v", c.asked, got.Topic, got.RemoteTopic, got.SourceAt, err, c)
		}
	}
	if got, err := r.Lookup(t.Context(), Query{Topic: "A-orders", Offset: 10, Reverse: true}); err == nil || !strings.Contains(err.Error(), "no MirrorMaker 2 has left an offset sync of ") {
		t.Errorf("A-orders is answered for %s: %+v, %v", got.RemoteTopic, got, err)
	}
}

// TestSyncsOnTheTarget: with offset_syncs_location target nothing is asked of the source, which is away.
func TestSyncsOnTheTarget(t *testing.T) {
	w := mirrorMakers(t)
	w.from, w.extra = "127.0.0.1:1", ", policy: identity, offset_syncs_location: target"
	w.filled(w.target, "orders", 40)
	w.mm2(w.target, "mm2-offset-syncs.A.internal",
		mm2.OffsetSync{Topic: "orders", Upstream: 5, Downstream: 5}, mm2.OffsetSync{Topic: "orders", Upstream: 25, Downstream: 19})
	w.mm2(w.target, "A.checkpoints.internal", cp("orders", 10, 6))
	l, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: "orders", Offset: 24})
	if err != nil || l.TargetAt != 6 || l.Exact || l.Verdict.N != 13 || l.Source.Asked {
		t.Errorf("%+v %+v, %v", l, l.Verdict, err)
	}
	tr, err := w.reader(Options{}).Translate(t.Context(), "g")
	if err != nil || len(tr.Offsets) != 1 || !strings.Contains(tr.Offsets[0].Sentence, "replays at most 4 records") || tr.Source.Asked {
		t.Errorf("%+v, %v", tr, err)
	}
}

// TestTrimmedAndNearTheEnd: MirrorMaker 2's positions are fitted to the target's log as ours are.
func TestTrimmedAndNearTheEnd(t *testing.T) {
	w := mirrorMakers(t)
	w.filled(w.target, "A.orders", 40)
	if err := testcluster.Trim(t.Context(), w.target.ClientOpts(), "A.orders", 0, 10); err != nil {
		t.Fatal(err)
	}
	w.mm2(w.target, "A.checkpoints.internal", cp("A.orders", 9, 4))
	got, err := w.reader(Options{}).Groups(t.Context(), []string{"g"})
	if err != nil || len(got.Groups) != 1 || got.Groups[0].Positions[0].Verdict.Kind != translate.Trimmed || got.Groups[0].Positions[0].Target != status.Unknown {
		t.Errorf("%+v, %v", got, err)
	}
	w.mm2(w.source, "mm2-offset-syncs.B.internal", mm2.OffsetSync{Topic: "orders", Upstream: 80, Downstream: 38})
	l, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: "orders", Offset: 90})
	if err != nil || l.TargetAt != 39 || l.Exact || l.Verdict.N != 1 {
		t.Errorf("near the log end: %+v, %v", l, err)
	}
}

// TestOwnWins: where a run has been its own answers count, with a note about MirrorMaker 2; of a partition that was
// stopped because MirrorMaker 2 had filled it the offset syncs are all there is.
func TestOwnWins(t *testing.T) {
	w := newWorld(t)
	w.filled(w.target, "A.orders", 40)
	w.topic(w.target, "mm2-offsets.A.internal", 1)
	w.mm2(w.target, "A.checkpoints.internal", cp("A.orders", 9, 4))
	w.mm2(w.source, "mm2-offset-syncs.B.internal", mm2.OffsetSync{Topic: "orders", Upstream: 5, Downstream: 1}, mm2.OffsetSync{Topic: "filled", Upstream: 5, Downstream: 1})
	w.head(ledger.Head{Topic: "orders", SourceEnd: 9}, 9, offsetmap.Origin{})
	w.row("g", verdicts.Row{RemoteTopic: "A.orders", Committed: 5, SourceEnd: 9, Verdict: translate.Verdict{Kind: translate.Exact, Target: 5}})
	stopped := ledger.Key{Kind: ledger.KindHead, Topic: "filled"}
	w.produce(w.target, &kgo.Record{
		Topic: ledger.TopicName("A"), Partition: ledger.LaneOf("filled", 0, lanes), Key: []byte(stopped.String()),
		Value: ledger.Head{RemoteTopic: "A.filled", State: ledger.Stopped, Reason: "remote topic A.filled holds 40 offsets"}.Encode(),
	})
	w.filled(w.target, "A.filled", 40)
	r := w.reader(Options{})
	const besides = "a MirrorMaker 2 ran this flow too"
	tr, err := r.Translate(t.Context(), "g")
	if err != nil || tr.Basis != "" || len(tr.Offsets) != 1 || tr.Offsets[0].Offset != 5 || !noted(tr.Header, besides) {
		t.Errorf("%+v, %v", tr, err)
	}
	gr, err := r.Groups(t.Context(), nil)
	if err != nil || gr.Basis != "" || gr.Groups[0].Positions[0].Target != 5 || !noted(gr.Header, besides) {
		t.Errorf("%+v, %v", gr, err)
	}
	l, err := r.Lookup(t.Context(), Query{Topic: "orders", Offset: 5})
	if err != nil || l.Basis != "" || l.TargetAt != 5 || !noted(l.Header, besides) {
		t.Errorf("%+v, %v", l, err)
	}
	l, err = r.Lookup(t.Context(), Query{Topic: "filled", Offset: 5})
	if err != nil || l.Basis != status.BasisOffsetSyncs || l.TargetAt != 1 || !noted(l.Header, "A.filled holds 40 offsets", "MirrorMaker 2") {
		t.Errorf("%+v, %v", l, err)
	}
	none := (*ErrNoMap)(nil)
	for _, topic := range []string{"filled", "A.filled"} {
		l, err = r.Lookup(t.Context(), Query{Topic: topic, Offset: 1, Reverse: true})
		if err != nil || l.Basis != status.BasisOffsetSyncs || l.SourceAt != 5 || l.Topic != "filled" || l.RemoteTopic != "A.filled" || !l.Exact {
			t.Errorf("the way back of %s: %+v, %v", topic, l, err)
		}
	}
	if _, err = r.Lookup(t.Context(), Query{Topic: "A.nothing", Offset: 5, Reverse: true}); !errors.As(err, &none) {
		t.Errorf("the way back of a topic that nobody knows: %v", err)
	}
	if _, err = r.Lookup(t.Context(), Query{Topic: "nothing", Offset: 5}); !errors.As(err, &none) {
		t.Errorf("a topic that nobody knows: %v", err)
	}
}

// TestNothingAtAll: the error says that neither Tidemark nor MirrorMaker 2 has been there.
func TestNothingAtAll(t *testing.T) {
	w := mirrorMakers(t)
	r := w.reader(Options{})
	for name, ask := range map[string]func(context.Context) error{
		"translate": func(ctx context.Context) error { _, err := r.Translate(ctx, "g"); return err },
		"groups":    func(ctx context.Context) error { _, err := r.Groups(ctx, nil); return err },
		"lookup":    func(ctx context.Context) error { _, err := r.Lookup(ctx, Query{Topic: "orders"}); return err },
	} {
		err := ask(t.Context())
		if never := (*ErrNeverRun)(nil); !errors.As(err, &never) || !strings.Contains(err.Error(), "no MirrorMaker 2 has left") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
