package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
	"tidemark/offsetmap"
)

// resting is a world in which orders-0 is mirrored to its end, 3 of 3 records, and a worker runs.
func resting(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.worker()
	w.topic(w.target, "A.orders", 2)
	for range 3 {
		w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("x")})
	}
	w.records("A.orders", 3)
	w.head(ledger.Head{Topic: "orders", SourceEnd: 3, ProducerID: -1}, 3, offsetmap.Origin{})
	return w
}

func others(f status.Flow) []string {
	return slices.DeleteFunc(f.Findings(), func(s string) bool { return !strings.Contains(s, "others wrote") })
}

// TestOthersBehindTheMap: what others write into a remote topic that rests is seen before Tidemark writes behind it.
func TestOthersBehindTheMap(t *testing.T) {
	w := resting(t)
	if p := w.partition(w.flow(), "orders", 0); p.Lag != 0 || p.Others != 0 {
		t.Fatalf("before: lag %d, others %d", p.Lag, p.Others)
	}
	w.records("A.orders", 2)
	f := w.flow()
	if p := w.partition(f, "orders", 0); p.Others != 2 {
		t.Errorf("others %d, want 2", p.Others)
	}
	if got := others(f); len(got) != 1 || got[0] != "A->B: others wrote 2 offsets of A.orders-0 (docs/stopped.md)" {
		t.Errorf("findings: %q", got)
	}
	if text := f.Text(); !strings.Contains(text, "others wrote 2 offsets of the remote partition") {
		t.Errorf("the table does not say it:\n%s", text)
	}
}

// TestNotOthers: while it cannot be told who wrote behind the map, nothing is said.
func TestNotOthers(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the flow is busy": func(w *world) {
			w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("y")})
			w.records("A.orders", 1)
		},
		"written while we look": func(w *world) {
			// The mirror copies a record between our looks at the two ends.
			w.before(w.target, func(req kmsg.Request) bool {
				l, ok := req.(*kmsg.ListOffsetsRequest)
				return ok && strings.HasPrefix(l.Topics[0].Topic, "A.")
			}, func() {
				w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("y")})
				w.records("A.orders", 1)
			})
		},
		"the source does not answer": func(w *world) {
			w.records("A.orders", 2)
			w.from = "127.0.0.1:1"
		},
		"the source lost records": func(w *world) {
			w.head(ledger.Head{Topic: "orders", SourceEnd: 4}, 4, offsetmap.Origin{})
			w.records("A.orders", 2)
		},
		"the remote topic is another one": func(w *world) {
			w.head(ledger.Head{Topic: "orders", SourceEnd: 3}, 3, offsetmap.Origin{TargetTopicID: [16]byte{1}})
			w.records("A.orders", 2)
		},
		"the marker of a fence": func(w *world) {
			cl := w.target.Client(w.t, kgo.TransactionalID("tidemark.A->B.lane.1"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err := cl.BeginTransaction(); err != nil {
				w.t.Fatal(err)
			}
			if err := cl.ProduceSync(w.t.Context(), &kgo.Record{Topic: "A.orders", Value: []byte("z")}).FirstErr(); err != nil {
				w.t.Fatal(err)
			}
			if err := cl.EndTransaction(w.t.Context(), kgo.TryAbort); err != nil {
				w.t.Fatal(err)
			}
			// The record is ours as the head says, so that the marker alone is left.
			w.head(ledger.Head{Topic: "orders", SourceEnd: 3, ProducerID: producerOf(w, "A.orders")}, 3, offsetmap.Origin{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := resting(t)
			change(w)
			f := w.flow()
			if p := w.partition(f, "orders", 0); p.Others != 0 {
				t.Errorf("others %d at lag %d, target end %d", p.Others, p.Lag, p.TargetEnd)
			}
			if got := others(f); len(got) > 0 {
				t.Errorf("findings: %q", got)
			}
		})
	}
}

// producerOf is the producer id of the newest record of partition 0 of a topic of the target.
func producerOf(w *world, topic string) int64 {
	w.t.Helper()
	cl := w.target.Client(w.t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(3)}}))
	recs := cl.PollFetches(w.t.Context()).Records()
	if len(recs) == 0 {
		w.t.Fatal("no record")
	}
	return recs[len(recs)-1].ProducerID
}

// TestBeginsAtTheEnd: a partition that began at its end has offsets below that are not mirrored, and looks mirrored.
func TestBeginsAtTheEnd(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	for range 10 {
		w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("x")})
	}
	begin := ledger.Key{Kind: ledger.KindBegin, Topic: "orders"}
	w.produce(w.target, &kgo.Record{Topic: ledger.TopicName("A"), Partition: ledger.LaneOf("orders", 0, lanes), Key: []byte(begin.String()), Value: ledger.Begin{Offset: 10}.Encode()})
	w.head(ledger.Head{Topic: "orders", SourceEnd: 10}, 0, offsetmap.Origin{SourceStart: 10})
	if p := w.partition(w.flow(), "orders", 0); p.MirroredTo != 10 || p.Reason != "begins at source offset 10, by choice" {
		t.Errorf("mirrored to %d: %q", p.MirroredTo, p.Reason)
	}
}

// TestBeginNotLookedAt: a topic that the flow does not select has a begin too, for the day that it is selected.
func TestBeginNotLookedAt(t *testing.T) {
	key := ledger.Key{Kind: ledger.KindBegin, Topic: "left"}
	if got := meaning(topiclog.Record{Key: []byte(key.String()), Value: ledger.Begin{Offset: ledger.AtEnd}.Encode()}); got != "not looked at yet: mirrored from its end on if the flow selects it" {
		t.Errorf("%q", got)
	}
}
