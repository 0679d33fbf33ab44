package mirror

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// A partition that could not be fenced with the others is fenced alone, and looked at behind that: in the epoch of that fence,
// with its marker. From then on it is as the others.
func TestFenceBeforeTheFirstLook(t *testing.T) {
	r, f, l := bareLane(t)
	r.both("t", 1)
	l.txid = "txid"
	id, err := r.dst.InitProducer(t.Context(), l.txid, txnTimeout)
	if err != nil {
		t.Fatal(err)
	}
	l.coord.set(id)
	l.id = lane.Identity(id)
	info := r.partitions("t")[partition.ID{Topic: "t"}]
	p := l.newPart(info)
	l.unfenced[p.TP] = kafka.ErrNoLeader
	h := l.headOf(look{part: p})
	h.known.Map = offsetmap.New(offsetmap.Origin{SourceTopicID: info.SourceTopicID, TargetTopicID: info.TargetTopicID})
	probes, failed := f.lookAtEnds(t.Context(), []head{h})
	if failed[0] != nil {
		t.Fatal(failed[0])
	}
	e := l.lookAtOne(h, probes[0], nil, p)
	if e.part = p; e.out.Err != "" || e.out.Reason != "" {
		t.Fatalf("%+v", e.out)
	}
	if end := e.out.Map.TargetEnd(); end != 1 || e.out.Map.Others() != 0 || e.out.Epoch != id.Epoch+1 {
		t.Errorf("the target ends at %d, %d of others, epoch %d", end, e.out.Map.Others(), e.out.Epoch)
	}
	l.step(p, lane.Named{Facts: l.facts(info)})
	l.handle(e)
	if len(l.unfenced) != 0 {
		t.Error("it counts as not fenced, and the lane will not be released")
	}
}

// A fence that is refused because the lane has another owner ends the lane.
func TestFencedAtAFence(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.InvalidProducerEpoch, kerr.ProducerFenced} {
		_, l, p := livePart(t)
		l.handle(partFenced{part: p, round: p.round + 1, err: fmt.Errorf("raise the epoch: %w", err)})
		if l.gone == "" {
			t.Errorf("%s: the lane goes on", err.Message)
		}
	}
}

// A coordinator that has forgotten the lane's identity gives another one. Nothing is fenced with that: other partitions of the
// lane are written under the first.
func TestAnotherProducerID(t *testing.T) {
	r, _, l := bareLane(t)
	r.create(r.dst, "A.t", 1, nil)
	l.txid = "txid"
	id, err := r.dst.InitProducer(t.Context(), l.txid, txnTimeout)
	if err != nil {
		t.Fatal(err)
	}
	l.coord.set(id)
	l.id = lane.Identity{ProducerID: id.ProducerID + 1, Epoch: id.Epoch}
	if _, err := l.fenceOne(t.Context(), partition.ID{Topic: "A.t"}); err == nil || !strings.Contains(err.Error(), "must be taken over anew") {
		t.Errorf("%v", err)
	}
	if end := r.end(r.dst, partition.ID{Topic: "A.t"}); end != 0 {
		t.Errorf("%d offsets were written", end)
	}
}

// A keepalive whose epoch is above the ledger's own fences it: the ledger goes on in that epoch when the marker is written,
// and not at all while that is not known.
func TestKept(t *testing.T) {
	_, _, l := bareLane(t)
	l.sent()
	l.ledger.Hold()
	if l.handle(kept{epoch: 9, err: context.DeadlineExceeded}); l.ledger.Held() {
		t.Error("held though its own epoch cannot be fenced by it")
	}
	l.ledger.Hold()
	if l.handle(kept{epoch: 12, err: context.DeadlineExceeded}); !l.ledger.Held() {
		t.Error("written though it may be fenced")
	}
	if l.handle(kept{epoch: 12}); l.ledger.Held() || l.ledger.Epoch() != 12 {
		t.Errorf("held %t, epoch %d", l.ledger.Held(), l.ledger.Epoch())
	}
	if l.handle(kept{epoch: 12, err: kerr.InvalidProducerEpoch}); l.gone == "" {
		t.Error("fenced, and the lane goes on")
	}
}
