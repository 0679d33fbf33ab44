package mirror

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
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
	l.adopt(ledger.NewContents(), lane.Crashed)
	l.startsAt, l.keepAt = time.Now(), time.Now()
	l.jobs, l.jobsCtx = errgroup.WithContext(t.Context())
	t.Cleanup(func() { _ = l.jobs.Wait() })
	return r, f, l
}

// livePart is a partition of a bare lane that the core decides about; nothing is read yet.
func livePart(t *testing.T) (*Flow, *Lane, *part) {
	t.Helper()
	_, f, l := bareLane(t)
	tp := kafka.TP{Topic: "t", Partition: 0}
	p := newPart(Partition{TP: tp, Remote: "A.t"})
	l.parts[tp] = p
	p.core = lane.NewPart(l.limits, offsetmap.New(offsetmap.Origin{}), 9)
	p.feed = &feed{tp: tp, lane: l, cap: 1 << 20}
	f.feeds[tp] = p.feed
	p.step = live
	return f, l, p
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
	tp := p.TP
	// while heading, the fetcher reads on at 50
	p.step = heading
	p.feed.start(f, 50, -1)
	f.sink(wire.Fetched{TP: tp, Offset: 50, Records: dataBatch(t, 50, 10), Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	// the head's acknowledgement is handled first: live, reading begins again at 0
	p.step = live
	l.readOn(p)
	for _, e := range l.take() {
		l.handle(e)
	}
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
		for _, e := range l.take() {
			l.handle(e)
		}
		l.tick()
		if err := wait(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
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
	tp := kafka.TP{Topic: "t", Partition: 0}
	p := newPart(Partition{TP: tp, Remote: "A.t"})
	l.parts[tp] = p
	m := offsetmap.New(offsetmap.Origin{})
	_ = m.Append(offsetmap.Run{Source: 0, Target: 0, Count: 100})
	p.head = &ledger.Head{Topic: "t", RemoteTopic: "A.t", ProducerID: 77, Epoch: 8, Sequence: 100}
	p.loaded = m
	p.step = opening
	p.loaded = nil
	p.looks = patience // it has failed for a while
	l.opened(opened{part: p, m: m, err: context.DeadlineExceeded})
	found := false
	for _, e := range l.ledger.pending {
		k, _ := ledger.ParseKey(e.rec.Key)
		if k.Kind != ledger.KindHead {
			continue
		}
		found = true
		h, err := ledger.DecodeHead(k, e.rec.Value)
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
	l.outOfRange(p, fetched{feed: p.feed, Fetched: wire.Fetched{TP: p.TP, Offset: 7}})
	l.restart(p)
	p.step = opening
	l.opened(opened{part: p, m: p.core.Map(), reason: "the source log was truncated"})
	if p.step != halted || p.reason == "" {
		t.Fatalf("SILENT: step %d reason %q reopen %v: openAll looks again at every tick", p.step, p.reason, p.reopen)
	}
}

// trim never happens where acknowledgements carry the log start.
func TestAcknowledgedLogStartTrims(t *testing.T) {
	_, _, l := bareLane(t)
	tp := kafka.TP{Topic: "t", Partition: 0}
	p := newPart(Partition{TP: tp, Remote: "A.t"})
	l.parts[tp] = p
	m := offsetmap.New(offsetmap.Origin{})
	for i := range int64(1000) {
		_ = m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(2 * i), Target: offsetmap.TargetOffset(i), Count: 1})
	}
	m.Seal()
	p.core = lane.NewPart(l.limits, m, 9)
	p.step = live
	l.answer(answered{part: p, core: p.core, unit: &lane.Unit{}, result: wire.Result{LogStart: 1000}})
	l.started(starts{at: map[kafka.TP]int64{p.remoteTP(): 1000}})
	if n := len(m.Blocks()); n != 0 {
		t.Fatalf("GROWS: %d blocks below the log start are kept", n)
	}
}

// a topic that is missing in one look stays stopped for ever.
func TestTopicMissingInOneLookGoesOn(t *testing.T) {
	_, f, l := bareLane(t)
	tp := kafka.TP{Topic: "t", Partition: 0}
	other := kafka.TP{Topic: "u", Partition: 0}
	all := map[kafka.TP]Partition{tp: {TP: tp, Remote: "A.t"}, other: {TP: other, Remote: "A.u", NotYet: "x"}}
	f.partitions = all
	l.draining = true // no jobs in this test
	l.partitionsChanged()
	p := l.parts[tp]
	p.core = lane.NewPart(l.limits, offsetmap.New(offsetmap.Origin{}), 9)
	p.step = live
	f.partitions = map[kafka.TP]Partition{other: all[other]}
	l.partitionsChanged()
	f.partitions = all
	l.partitionsChanged()
	l.draining = false
	l.tick()
	if p.step == halted && p.retryAt == 0 {
		t.Fatalf("STOPPED for ever: %q", p.reason)
	}
}

// A ledger that has something to send in each tick must not put the keepalive off for ever.
func TestKeepaliveOnABusyLedger(t *testing.T) {
	_, f, l := bareLane(t)
	f.KeepaliveEvery = time.Millisecond
	l.keepAt = time.Now().Add(-time.Hour)
	for range 50 {
		l.ledger.add([]byte("x"), []byte("y"), nil) // a head of some busy partition in each tick
		l.keepalive()
		if l.ledger.held {
			return
		}
		l.ledger.pending = nil // acknowledged before the next tick
	}
	t.Fatal("keepalive overdue by an hour was never started in 50 ticks that each queued a head")
}

// a clean stop of a lane with queued data; the next response (empty or control batch first) is in the inbox.
func TestDrainGivesBackWhatArrives(t *testing.T) {
	_, f, l := bareLane(t)
	fl := &flip{}
	fl.ok.Store(true)
	f.lease = fl
	tp := kafka.TP{Topic: "t", Partition: 0}
	p := newPart(Partition{TP: tp, Remote: "A.t"})
	l.parts[tp] = p
	l.limits.HoldOldUntil = now() + 1_000_000 // keeps the old batch queued; a full window does the same
	p.core = lane.NewPart(l.limits, offsetmap.New(offsetmap.Origin{}), 9)
	p.feed = &feed{tp: tp, lane: l, cap: 1 << 20}
	f.feeds[tp] = p.feed
	p.step = live
	p.feed.start(f, 0, -1)
	old, _ := batch.Build([]batch.Record{{Value: []byte("v"), Timestamp: 1}}, batch.None, batch.NoStamp())
	f.sink(wire.Fetched{TP: tp, Offset: 0, Records: old, Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	for _, e := range l.take() {
		l.handle(e)
	}
	f.sink(wire.Fetched{TP: tp, Offset: 1, Records: marker(t, 1), Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	l.drain()
	for _, e := range l.take() {
		l.handle(e)
	}
	l.claimed = true
	for range 3 {
		_, _ = l.drained(time.Now().Add(time.Hour))
	}
	if th := p.core.Map().Through(); th != 0 {
		t.Fatalf("LOSS: after the drain through is %d, map holds %d records; clean=%v unclean=%v", th, p.core.Map().Count(0, 1<<40), p.core.Clean(), l.unclean)
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
	p.feed.start(f, 50, -1) // reading went on elsewhere
	p.sourceLSO, p.heardAt = 80, now()
	l.tick()
	if asked, _, _ := p.feed.state(); asked != 50 {
		t.Fatalf("reading started again at once, at %d", asked)
	}
	p.heardAt -= silence
	l.tick()
	if asked, _, _ := p.feed.state(); asked != 0 {
		t.Fatalf("reading is at %d, want 0", asked)
	}
}
