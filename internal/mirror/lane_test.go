package mirror

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

type flip struct{ ok atomic.Bool }

func (f *flip) Valid() bool { return f.ok.Load() }

// bareLane is a lane that was taken over but does not run: the test handles its events.
func bareLane(t *testing.T) (*rig, *Flow, *Lane) {
	t.Helper()
	r := newRig(t, 1)
	f := NewFlow(r.settings, Clients{Source: r.src, Target: r.dst, SourceMeta: kafka.NewMetadata(r.src), TargetMeta: kafka.NewMetadata(r.dst)}, always{}, nil, r.log)
	t.Cleanup(f.Close)
	l := f.newLane(0)
	l.id = lane.Identity{ProducerID: 77, Epoch: 9}
	l.limits = r.settings.Limits
	l.limits.Committed = r.settings.Committed
	l.adopt(ledger.NewContents(), lane.Crashed)
	l.upkeep.Due(l.ledger.Journal, maps.All(map[int32]*lane.Journal{}), false, f.uptime())
	l.jobs, l.jobsCtx = errgroup.WithContext(t.Context())
	t.Cleanup(func() { _ = l.jobs.Wait() })
	return r, f, l
}

// livePart is a partition of a bare lane that is mirrored from source offset 0 on.
func livePart(t *testing.T) (*Flow, *Lane, *part) {
	t.Helper()
	_, f, l := bareLane(t)
	return f, l, l.liven(t, "t", 0, offsetmap.New(offsetmap.Origin{}))
}

// liven has a partition of a bare lane live, with a map, as if both logs had been looked at and its head been acknowledged.
func (l *Lane) liven(t *testing.T, topic string, n int32, m *offsetmap.Map) *part {
	t.Helper()
	tp := partition.ID{Topic: topic, Partition: n}
	p := l.newPart(Partition{TP: tp, Remote: "A." + topic})
	l.step(p, lane.Named{Facts: l.facts(p.Partition)})
	l.looks = nil
	l.step(p, lane.LookEnded{Map: m, Epoch: 9})
	l.step(p, lane.HeadAcked{N: 1})
	if !p.core.Is(lane.Live) {
		t.Fatalf("not live: %s", p.core.Reason())
	}
	return p
}

// sent gives what the lane's ledger journal sends next, and has it acknowledged.
func (l *Lane) sent() (recs []lane.Record) {
	for f := l.ledger.Next(now()); f != nil; f = l.ledger.Next(now()) {
		recs = append(recs, f.Records...)
		l.ledger.Answered(f, lane.Result{Answer: lane.Acked}, now())
	}
	return recs
}

// take and handle everything that waits in the lane's inbox.
func (l *Lane) handleAll() {
	for _, e := range l.take() {
		l.handle(e)
	}
}

// dataBatch is a batch of n records as a source broker stores it at an offset.
func dataBatch(t *testing.T, base int64, n int) []byte {
	t.Helper()
	var recs []batch.Record
	for range n {
		recs = append(recs, batch.Record{Value: []byte("v"), Timestamp: now()})
	}
	b, err := batch.Build(recs, batch.None, batch.Stamp{ProducerID: -1, Epoch: -1, Sequence: -1})
	if err != nil {
		t.Fatal(err)
	}
	// base offset is outside the CRC
	for i := range 8 {
		b[i] = byte(base >> (56 - 8*i))
	}
	return b
}

// An answer that was in the inbox when reading began again lower is taken: the records between are never copied.
func TestStaleAnswerIsGivenBack(t *testing.T) {
	f, l, p := livePart(t)
	p.feed.start(f, 50, -1) // reading went on at 50
	f.sink(wire.Fetched{TP: p.TP, Offset: 50, Records: dataBatch(t, 50, 10), Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	l.step(p, lane.GoOn{}) // begins again at 0
	l.handleAll()
	if n := p.core.Next(); n != 0 {
		t.Fatalf("LOSS: core wants %d next; source offsets 0..49 were never fetched", n)
	}
}

// the first hand-over fails for want of a lease, the second goes out without our stamp.
func TestBytesAreStampedAfterALeaseGap(t *testing.T) {
	f, l, p := livePart(t)
	tp, fl := p.TP, &flip{}
	f.lease = fl
	p.feed.start(f, 0, -1)
	f.sink(wire.Fetched{TP: tp, Offset: 0, Records: dataBatch(t, 0, 10), Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	for range 20 {
		l.handleAll()
		l.tick()
		if !pause.For(t.Context(), 20*time.Millisecond) {
			t.Fatal(t.Context().Err())
		}
		fl.ok.Store(true)
	}
	for _, o := range p.outs {
		v, _, err := batch.Next(o.bytes)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("in flight %d", o.inFlight)
		if v.ProducerID() != 77 {
			t.Fatalf("DUPLICATES: bytes handed to the transport carry producer id %d epoch %d seq %d", v.ProducerID(), v.ProducerEpoch(), v.BaseSequence())
		}
	}
}

// opening fails (source away): the head of the dead owner is overwritten with an anchor that never was.
func TestFailedOpeningKeepsTheAnchor(t *testing.T) {
	_, _, l := bareLane(t)
	m := offsetmap.New(offsetmap.Origin{})
	_ = m.Append(offsetmap.Run{Source: 0, Target: 0, Count: 100})
	l.contents.Heads[partition.ID{Topic: "t"}] = ledger.Head{Topic: "t", RemoteTopic: "A.t", ProducerID: 77, Epoch: 8, Sequence: 100, Map: m.AppendTail(nil)}
	p := l.newPart(Partition{TP: partition.ID{Topic: "t"}, Remote: "A.t"})
	l.step(p, lane.Named{Facts: l.facts(p.Partition)})
	l.looks = nil
	l.handle(lookEnded{part: p, out: lane.LookEnded{Err: context.DeadlineExceeded.Error()}})
	found := false
	for _, rec := range l.sent() {
		k, _ := ledger.ParseKey(rec.Key)
		if k.Kind != ledger.KindHead {
			continue
		}
		found = true
		h, err := ledger.DecodeHead(k, rec.Value)
		if err != nil || h.State != ledger.Stopped {
			t.Errorf("head %+v, %v", h, err)
		}
		if h.Epoch != 8 || h.Sequence != 100 {
			t.Fatalf("anchor was (8, 100), the ledger now says (%d, %d) before the tail was settled", h.Epoch, h.Sequence)
		}
	}
	if !found {
		t.Error("the reason is not in the ledger")
	}
}

// a reopened partition whose look fails is neither halted nor backed off.
func TestFailedReopeningStops(t *testing.T) {
	_, l, p := livePart(t)
	l.step(p, refusal(p.TP, 7, kerr.OffsetOutOfRange.Code))
	l.tick()
	if !p.core.Is(lane.Opening) || len(l.looks) != 1 {
		t.Fatalf("%d looks at both ends", len(l.looks))
	}
	l.looks = nil
	l.handle(lookEnded{part: p, out: lane.LookEnded{Map: p.core.Map(), Reason: "the source log was truncated"}})
	l.tick()
	if !p.core.Is(lane.Stopped) || p.core.Reason() == "" || len(l.looks) != 0 {
		t.Fatalf("SILENT: reason %q, %d looks: looked at again at every tick", p.core.Reason(), len(l.looks))
	}
}

// trim never happens where acknowledgements carry the log start.
func TestAcknowledgedLogStartTrims(t *testing.T) {
	_, _, l := bareLane(t)
	m := offsetmap.New(offsetmap.Origin{})
	for i := range int64(1000) {
		_ = m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(2 * i), Target: offsetmap.TargetOffset(i), Count: 1})
	}
	m.Seal()
	p := l.liven(t, "t", 0, m)
	l.answer(answered{part: p, unit: &lane.Unit{}, result: wire.Result{LogStart: 1000}})
	l.started(starts{at: map[partition.ID]offsetmap.TargetOffset{p.remoteTP(): 1000}})
	if n := len(m.Blocks()); n != 0 {
		t.Fatalf("GROWS: %d blocks below the log start are kept", n)
	}
}

// a topic that is missing in one look stays stopped for ever.
func TestTopicMissingInOneLookGoesOn(t *testing.T) {
	_, f, l := bareLane(t)
	p := l.liven(t, "t", 0, offsetmap.New(offsetmap.Origin{}))
	other := partition.ID{Topic: "u", Partition: 0}
	all := map[partition.ID]Partition{p.TP: p.Partition, other: {TP: other, Remote: "A.u", NotYet: "x"}}
	f.partitions = map[partition.ID]Partition{other: all[other]}
	l.partitionsChanged()
	if !p.core.Is(lane.Stopped) {
		t.Fatal("mirrored on though the topic is gone")
	}
	f.partitions = all
	l.partitionsChanged()
	l.tick()
	if p.core.Is(lane.Stopped) {
		t.Fatalf("STOPPED for ever: %q", p.core.Reason())
	}
}

// a clean stop of a lane with queued data; the next response (empty or control batch first) is in the inbox.
func TestDrainGivesBackWhatArrives(t *testing.T) {
	_, f, l := bareLane(t)
	fl := &flip{}
	fl.ok.Store(true)
	f.lease = fl
	l.limits.HoldOldUntil = now() + 1_000_000 // keeps the old batch queued; a full window does the same
	p := l.liven(t, "t", 0, offsetmap.New(offsetmap.Origin{}))
	tp := p.TP
	old, _ := batch.Build([]batch.Record{{Value: []byte("v"), Timestamp: 1}}, batch.None, batch.NoStamp())
	f.sink(wire.Fetched{TP: tp, Offset: 0, Records: old, Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	l.handleAll()
	f.sink(wire.Fetched{TP: tp, Offset: 1, Records: marker(t, 1), Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	l.drain()
	l.handleAll()
	l.claimed = true
	for range 3 {
		_, _ = l.drained(time.Now().Add(time.Hour))
	}
	if th := p.core.Map().Through(); th != 0 {
		t.Fatalf("LOSS: after the drain through is %d, map holds %d records; clean=%v", th, p.core.Map().Count(0, 1<<40), p.core.Clean())
	}
}

// marker is a commit marker at an offset.
func marker(t *testing.T, base int64) []byte {
	t.Helper()
	b, err := batch.Build([]batch.Record{{Key: []byte{0, 0, 0, 1}, Value: []byte{0, 0, 0, 0, 0, 0}, Timestamp: now()}}, batch.None, batch.Stamp{ProducerID: 5, Epoch: 0, Sequence: -1})
	if err != nil {
		t.Fatal(err)
	}
	b[22] |= 0x30 // transactional, control
	for i := range 8 {
		b[i] = byte(base >> (56 - 8*i))
	}
	sum := crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(b[17:], sum)
	return b
}

// A partition that hears nothing although the source holds more starts reading again by itself.
func TestSilentPartitionReadsOn(t *testing.T) {
	f, l, p := livePart(t)
	l.step(p, lane.Fetched{Source: lane.Seen{SourceStart: -1, SourceEnd: 80, SourceStable: 80, TargetStart: -1}})
	p.feed.start(f, 50, -1) // reading went on elsewhere
	t0 := now()
	// A source that is away with a backlog is trouble that the fetcher reports after 5 s and every 10 s: starting again in
	// between would be a warning for each partition, and would put off the report for ever.
	for _, at := range []int64{t0, t0 + 11_000, t0 + 59_000} {
		l.act(p, p.core.Step(lane.Tick{}, at))
		if asked, _, _ := p.feed.state(); asked != 50 {
			t.Fatalf("reading started again after %d ms, at %d", at-t0, asked)
		}
	}
	l.act(p, p.core.Step(lane.Tick{}, t0+61_000))
	if asked, _, _ := p.feed.state(); asked != 0 {
		t.Fatalf("reading is at %d, want 0", asked)
	}
}
