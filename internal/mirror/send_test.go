package mirror

import (
	"errors"
	"testing"

	"tidemark/internal/batch"
	"tidemark/internal/lane"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// onItsWay has one unit of ten records handed to the transport, which does not run; freed says that its bytes were given back.
func onItsWay(t *testing.T) (l *Lane, p *part, o *out, u *lane.Unit, freed *bool) {
	t.Helper()
	f, l, p := livePart(t)
	freed = new(bool)
	got := answerAt(p, 0, dataBatch(t, 0, 10))
	got.Release = func() { *freed = true }
	f.sink(got)
	l.handleAll()
	for _, o = range p.outs {
	}
	if o == nil || o.inFlight != 1 {
		t.Fatalf("%d outputs", len(p.outs))
	}
	for _, a := range p.core.Step(lane.Stop{Reason: "so"}, now()) { // the core needs the unit's bytes no longer
		if s, ok := a.(lane.Settled); ok {
			u = s.Unit
		}
		l.act(p, []lane.Action{a})
	}
	return l, p, o, u, freed
}

// Bytes go back once neither the core nor the transport needs them: one that still writes them would send another batch's.
func TestBytesThatTheTransportMayStillWrite(t *testing.T) {
	l, p, o, u, freed := onItsWay(t)
	if *freed || p.outs[u.ID] != o {
		t.Fatal("given back while the transport may still write them")
	}
	l.handle(answered{part: p, unit: u, result: wire.Result{Err: errors.New("connection lost")}})
	if !*freed || len(p.outs) != 0 {
		t.Error("held for ever")
	}
}

// Bytes that were handed to the transport once are left alone: it may still write them.
func TestBytesAreStampedOnce(t *testing.T) {
	l, p, o, u, _ := onItsWay(t)
	stamp := batch.Stamp{ProducerID: 1, Epoch: 2, Sequence: 3}
	batch.Patch(o.bytes, stamp)
	l.send(p, lane.Send{Unit: u, Again: true})
	if v, _, err := batch.Next(o.bytes); err != nil || v.ProducerID() != 1 || v.ProducerEpoch() != 2 || v.BaseSequence() != 3 {
		t.Errorf("stamped again, %v", err)
	}
}

// Without a valid lease nothing leaves: a unit comes back as not sent, and journals wait.
func TestWithoutALease(t *testing.T) {
	f, l, p := livePart(t)
	l.sent()
	f.lease = &flip{}
	l.ledger.add([]byte("k"), []byte("v"), nil)
	f.sink(answerAt(p, 0, dataBatch(t, 0, 10)))
	l.handleAll()
	l.kick()
	if l.ledger.Flying() {
		t.Error("the ledger is written")
	}
	es := l.take()
	if len(es) != 1 {
		t.Fatalf("%d answers, want one: it was handed to the transport", len(es))
	}
	if e, ok := es[0].(answered); !ok || !errors.Is(e.result.Err, wire.ErrUnsent) {
		t.Errorf("%+v", es[0])
	}
}

// A record that has no place on the target (it is gone by now) is counted, but MirrorMaker 2's readers do not hear of it; they
// hear of each other once.
func TestOffsetSyncs(t *testing.T) {
	f, l, p := livePart(t)
	var got [][2]int64
	f.syncs = func(_ string, _ int32, up offsetmap.SourceOffset, down offsetmap.TargetOffset) {
		got = append(got, [2]int64{int64(up), int64(down)})
	}
	unit := &lane.Unit{Output: lane.Output{Count: 10, Spans: []batch.Span{{Offset: 20, Count: 10}}}}
	at := now()
	tell := func(base offsetmap.TargetOffset) {
		l.mirrored(p, lane.Mirrored{Unit: unit, Base: base})
		at += syncEvery
		l.syncIfDue(p, at)
	}
	tell(-1)
	if len(got) != 0 || f.counters.Records.Load() != 10 {
		t.Errorf("%v, %d records", got, f.counters.Records.Load())
	}
	tell(5)
	tell(5)
	if len(got) != 1 || got[0] != [2]int64{29, 14} {
		t.Errorf("%v, want one about 29 at 14", got)
	}
}
