package mirror

import (
	"context"
	"encoding/hex"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/verdicts"
)

// While a partition is being looked at, others delete its remote topic and make it anew, and the flow learns of the new one
// before the look's answer. Nothing goes to the topic of others, and no row gives a position of the old map as one in it.
func TestRemoteTopicMadeAnewDuringALook(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.halt(t)
	tp := partition.ID{Topic: "orders"}

	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.source.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kmsg.Request) (kmsg.Response, error, bool) {
		r.source.KeepControl()
		once.Do(func() { close(asked) })
		r.source.SleepControl(func() { <-answer })
		return nil, nil, false
	})
	run = r.start(r.partitions("orders"))
	run.commit("g", tp, 60)
	<-asked
	if err := r.target.DeleteTopic("A.orders"); err != nil {
		t.Fatal(err)
	}
	r.dst.Kgo().PurgeTopicsFromClient("A.orders")
	r.create(r.dst, "A.orders", 1, nil)
	others := make([]*kgo.Record, 80)
	for i := range others {
		others[i] = &kgo.Record{Topic: "A.orders", Value: []byte("of others")}
	}
	r.write(r.dst, others...)
	anew := r.partitions("orders")
	run.flow.SetPartitions(anew)
	close(answer)
	r.produce("orders", 100, 5)
	r.stopped(run, tp, "remote topic was deleted and created again")

	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 80 {
		t.Errorf("the topic of others ends at %d, want 80", end)
	}
	id := anew[tp].TargetTopicID
	recs, err := testcluster.Read(t.Context(), r.dst.Kgo(), r.settings.Verdicts, testcluster.ReadUncommitted)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if rec.Value == nil {
			continue
		}
		row, err := verdicts.ParseRow(rec.Value)
		if err != nil {
			t.Fatal(err)
		}
		if row.Verdict.HasPosition() && row.TargetTopic == hex.EncodeToString(id[:]) {
			t.Errorf("a position of the former topic as one of the new: %+v", row)
		}
	}
}

// A partition that was stopped with a batch under way, and whose ends must be looked at again (its topic was out of sight
// for a moment, or a fetch was refused), is fenced first, then looked at; then it goes on.
func TestFenceBeforeTheLookAtBothEnds(t *testing.T) {
	f, l, p := livePart(t)
	f.sink(answerAt(p, 0, dataBatch(t, 0, 10)))
	l.handleAll() // one unit is on its way to the target ...
	l.step(p, lane.Absent{})
	l.step(p, lane.Named{Facts: l.facts(p.Partition)}) // ... when the topic is out of sight for one look, and in sight again at the next
	l.tick()
	if !p.core.Is(lane.Fencing) || len(l.looks) > 0 {
		t.Fatalf("%d looks before the fence", len(l.looks))
	}
	l.handle(partFenced{part: p, round: p.round - 1, epoch: 8}) // of an earlier round: nothing
	l.handle(partFenced{part: p, round: p.round, epoch: 10})
	l.handle(partLooked{part: p, round: p.round - 1, err: context.DeadlineExceeded})
	if !p.core.Is(lane.Looking) {
		t.Fatalf("the answer to an earlier look counts: %s", p.core.Reason())
	}
	l.handle(partLooked{part: p, round: p.round})
	if len(l.looks) != 1 {
		t.Fatalf("%d looks at both ends after the fence", len(l.looks))
	}
	l.looks = nil
	l.handle(lookEnded{part: p, out: lane.LookEnded{Map: p.core.Map(), Epoch: 9}})
	l.sent()
	if !p.core.Is(lane.Live) {
		t.Error("the partition stands still for good, and counts as running")
	}
	if epoch, sequence := p.core.Anchor(); epoch != 10 || sequence != 0 {
		t.Errorf("goes on in epoch %d at sequence %d", epoch, sequence)
	}
}
