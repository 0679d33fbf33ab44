package inspect

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestOnlyMirrorMaker: where only a MirrorMaker 2 has been nobody is sent straight to `tidemark run`, which would stop
// every partition.
func TestOnlyMirrorMaker(t *testing.T) {
	w := mirrorMakers(t)
	const advice = "docs/from-mirrormaker.md"
	if f := w.flow(); f.MirrorMaker != "" || strings.Contains(f.Text(), advice) || strings.Contains(f.Findings()[0], "MirrorMaker") {
		t.Errorf("nobody has been here: %s %q", f.Text(), f.Findings())
	}
	w.mm2(w.target, "A.checkpoints.internal", cp("A.orders", 9, 4))
	look := func(topic string) {
		t.Helper()
		f := w.flow()
		if f.MirrorMaker != topic || !strings.Contains(f.Text(), "only a MirrorMaker 2 has been there ("+topic+")") || !strings.Contains(f.Text(), advice) {
			t.Errorf("status: %q, %s", f.MirrorMaker, f.Text())
		}
		if got := f.Findings(); len(got) != 1 || got[0] != "A->B: no run has created tidemark-ledger.A.internal yet, only a MirrorMaker 2 has been there" {
			t.Errorf("status --check: %q", got)
		}
		_, err := w.reader(Options{}).Ledger(t.Context(), false)
		never := (*ErrNeverRun)(nil)
		if !errors.As(err, &never) || never.MirrorMaker != topic || !strings.Contains(err.Error(), advice) || strings.Contains(err.Error(), ": start one") {
			t.Errorf("inspect ledger: %v", err)
		}
	}
	look("A.checkpoints.internal") // within Connect the topic of offsets has any name
	w.topic(w.target, "mm2-offsets.A.internal", 2)
	look("mm2-offsets.A.internal")
	w.produce(w.target, &kgo.Record{Topic: "mm2-offsets.A.internal", Partition: 1, Key: []byte("k"), Value: []byte("v")})
	look("mm2-offsets.A.internal")
}

// TestBesides: a MirrorMaker 2 that has written nothing for long is told as one that was here, with the time; one whose
// last record is young, or cannot be told, may still run.
func TestBesides(t *testing.T) {
	const topic, gone, here = "mm2-offsets.A.internal", "If it is gone for good, delete that topic", "its topic mm2-offsets.A.internal is on B"
	old := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	for name, c := range map[string]struct {
		write func(*world)
		says  []string
		not   string
	}{
		"not there": {func(*world) {}, nil, "MirrorMaker 2"},
		"empty":     {func(w *world) { w.topic(w.target, topic, 3) }, []string{here}, gone},
		"old": {func(w *world) {
			w.topic(w.target, topic, 3)
			w.offsets(old.Add(-time.Hour), 2)
			w.offsets(old, 1)
			w.offsets(old.Add(-2*time.Hour), 0)
		}, []string{"a MirrorMaker 2 ran this flow too; its last record in mm2-offsets.A.internal on B is of " + old.UTC().Format(time.RFC3339), gone}, here},
		"old, exactly once": {func(w *world) {
			w.topic(w.target, topic, 1)
			w.offsets(old, 0, kgo.TransactionalID("connect"))
		}, []string{old.UTC().Format(time.RFC3339), gone}, here},
		"young": {func(w *world) {
			w.topic(w.target, topic, 3)
			w.offsets(old, 2)
			w.offsets(time.Now(), 1)
		}, []string{here}, gone},
	} {
		w := carried(t)
		c.write(w)
		got, err := w.reader(Options{}).Translate(t.Context(), "app")
		if err != nil || len(got.Offsets) != 1 || noted(got.Header, c.not) {
			t.Errorf("%s: %q, %v", name, got.Notes, err)
		}
		if len(c.says) > 0 && !noted(got.Header, c.says...) {
			t.Errorf("%s: %q, want %q", name, got.Notes, c.says)
		}
	}
}

// offsets writes a record as Connect does about the offsets of its tasks.
func (w *world) offsets(at time.Time, partition int32, opts ...kgo.Opt) {
	w.t.Helper()
	cl := w.target.Client(w.t, append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	inside := len(opts) > 0
	if inside {
		if err := cl.BeginTransaction(); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := cl.ProduceSync(w.t.Context(), &kgo.Record{Topic: "mm2-offsets.A.internal", Partition: partition, Timestamp: at, Value: []byte("v")}).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	if inside {
		if err := cl.EndTransaction(w.t.Context(), kgo.TryCommit); err != nil {
			w.t.Fatal(err)
		}
	}
}
