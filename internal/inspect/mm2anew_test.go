package inspect

import (
	"strings"
	"testing"

	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

// MirrorMaker 2 leaves checkpoints behind that are too far on when its remote topic was made anew. Newer offset syncs say
// where the group stands; without any a place beyond the log's end is none.
func TestCheckpointOfATopicMadeAnew(t *testing.T) {
	for _, down := range []int64{75, 30} {
		w := mirrorMakers(t)
		w.filled(w.target, "A.orders", 40)
		w.mm2(w.target, "A.checkpoints.internal", cp("A.orders", 80, down))
		w.mm2(w.source, "mm2-offset-syncs.B.internal",
			mm2.OffsetSync{Topic: "orders", Upstream: 79, Downstream: 74}, mm2.OffsetSync{Topic: "orders", Upstream: 80, Downstream: 0}, mm2.OffsetSync{Topic: "orders", Upstream: 100, Downstream: 20})
		got, err := w.reader(Options{}).Translate(t.Context(), "g")
		if err != nil || len(got.Offsets) != 1 || got.Offsets[0].Offset != 0 {
			t.Errorf("checkpoint at %d: %+v, %v", down, got.Offsets, err)
		}
	}
	w := mirrorMakers(t)
	w.filled(w.target, "A.orders", 40)
	w.mm2(w.target, "A.checkpoints.internal", cp("A.orders", 80, 75))
	got, err := w.reader(Options{}).Translate(t.Context(), "g")
	if err != nil || len(got.Offsets) != 0 || len(got.Without) != 1 || !strings.Contains(got.Without[0].Sentence, "whose log ends at 40") {
		t.Errorf("beyond the end: %+v, %v", got, err)
	}
}

// TestSyncsOfATopicMadeAnew: where the newest offset sync is at the log's end or beyond it, the remote topic is not the one
// that the syncs are about, and neither they nor checkpoints give a place in it. Before that sync is there they do.
func TestSyncsOfATopicMadeAnew(t *testing.T) {
	const anew = "of A.orders-0, whose log ends at 50: the remote topic was made anew, or lost records"
	w := mirrorMakers(t)
	w.filled(w.target, "A.orders", 50)
	w.mm2(w.target, "A.checkpoints.internal", cp("A.orders", 20, 11))
	w.mm2(w.source, "mm2-offset-syncs.B.internal",
		mm2.OffsetSync{Topic: "orders", Upstream: 10, Downstream: 10}, mm2.OffsetSync{Topic: "orders", Upstream: 30, Downstream: 30})
	look := func(upstream, want int64, exact bool, says string) {
		t.Helper()
		got, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: "orders", Offset: upstream})
		if err != nil || got.TargetAt != want || got.Exact != exact || !strings.Contains(got.Text(), says) || want == status.Unknown && got.Verdict != nil {
			t.Errorf("%d: %+v, %s, %v", upstream, got, got.Text(), err)
		}
	}
	group := func(want int64, says string) {
		t.Helper()
		tr, err := w.reader(Options{}).Translate(t.Context(), "g")
		switch {
		case err != nil:
			t.Error(err)
		case want != status.Unknown && (len(tr.Offsets) != 1 || tr.Offsets[0].Offset != want), want == status.Unknown && len(tr.Offsets) > 0:
			t.Errorf("translate gives %+v", tr.Offsets)
		case want == status.Unknown && (len(tr.Without) != 1 || !strings.Contains(tr.Without[0].Sentence, says)):
			t.Errorf("translate: %+v", tr.Without)
		}
		gr, err := w.reader(Options{}).Groups(t.Context(), nil)
		if err != nil || len(gr.Groups) != 1 || gr.Groups[0].Positions[0].Target != want || !strings.Contains(gr.Groups[0].Positions[0].Sentence, says) {
			t.Errorf("groups: %+v, %v", gr.Groups, err)
		} else if v := gr.Groups[0].Positions[0].Verdict; want == status.Unknown && v.Kind != translate.Pending {
			t.Errorf("groups: verdict %+v", v)
		}
	}
	look(20, 11, false, "at offset 11")
	look(30, 30, true, "exact at offset 30")
	group(11, "at offset 11")
	for _, newest := range []int64{50, 200} {
		w.more(w.source, "mm2-offset-syncs.B.internal", mm2.OffsetSync{Topic: "orders", Upstream: newest, Downstream: newest})
		for _, upstream := range []int64{20, 30, newest} {
			look(upstream, status.Unknown, false, anew)
		}
		group(status.Unknown, anew)
		back, err := w.reader(Options{}).Lookup(t.Context(), Query{Topic: "A.orders", Offset: 11, Reverse: true})
		if err != nil || back.SourceAt != status.Unknown || !strings.Contains(back.Sentence, anew) {
			t.Errorf("the way back: %+v, %v", back, err)
		}
	}
}
