package lane

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/internal/batch"
	"tidemark/offsetmap"
)

// The simulation: one partition's decisions against a model of the target broker that keeps Kafka's rules for
// idempotent producers, forgets producer state by timestamps (the trap that old data sets), answers late, loses answers,
// lets a batch land after its answer was lost, and moves its leader. Whatever happens, the target must hold every source
// record once and in order, and the map must say where.

// simOld is Limits.OldAfter; the model forgets state after simOld + simMargin. The margin is longer than any batch stays
// on the simulated wire, as an hour is on a real one.
const (
	simOld    = 2000
	simMargin = 3000
)

type simBatch struct {
	epoch   int16
	seq     int32
	records []int64 // source offsets
	ts      int64
	base    int64
	marker  bool
}

type simState struct {
	epoch int16
	last  int32 // last sequence, -1 none
	ts    int64
	kept  []simBatch // newest five
}

type simBroker struct {
	log   []simBatch
	end   int64
	state *simState
	limbo []simBatch // written to a socket whose answer is lost: may still be appended
}

// forget is the broker's check every ten minutes. It finds no request that has waited since before the last check:
// that a request outlives both its connection and the producer's state is the hole that docs/guarantees.md names.
func (b *simBroker) forget(now int64) {
	if len(b.limbo) == 0 && b.state != nil && now-b.state.ts > simOld+simMargin {
		b.state = nil
	}
}

// produce applies Kafka's checks (ProducerAppendInfo): epoch, duplicates among the last five, sequence.
func (b *simBroker) produce(p simBatch) Result {
	s := b.state
	if s != nil {
		if p.epoch < s.epoch {
			return Result{Answer: Fenced, Reason: "epoch"}
		}
		if p.epoch == s.epoch {
			for _, k := range s.kept {
				if k.seq == p.seq && len(k.records) == len(p.records) {
					return Result{Answer: Acked, BaseOffset: offsetmap.TargetOffset(k.base)}
				}
			}
		}
		if p.epoch > s.epoch && p.seq != 0 || p.epoch == s.epoch && p.seq != s.last+1 {
			return Result{Answer: Sequence, Reason: "sequence"}
		}
	}
	if s == nil || p.epoch > s.epoch {
		s = &simState{epoch: p.epoch}
		b.state = s
	}
	p.base = b.end
	b.end += int64(len(p.records))
	b.log = append(b.log, p)
	s.last, s.ts = p.seq+int32(len(p.records))-1, p.ts
	s.kept = append(s.kept, p)
	if len(s.kept) > 5 {
		s.kept = s.kept[1:]
	}
	return Result{Answer: Acked, BaseOffset: offsetmap.TargetOffset(p.base)}
}

// fence is the marker of an empty aborted transaction: nothing of a lower epoch is appended afterwards.
func (b *simBroker) fence(epoch int16, now int64) {
	b.log = append(b.log, simBatch{epoch: epoch, base: b.end, marker: true})
	b.end++
	b.state = &simState{epoch: epoch, last: -1, ts: now}
}

type sim struct {
	t      *testing.T
	r      *rand.Rand
	p      *Partition
	b      simBroker
	now    int64
	source []Piece
	at     int // next piece to feed
	outs   map[uint64]Output
	wire   []*Unit // handed to the transport, in order
	bytes  map[*Unit]simBatch
	ids    uint64
	fence  int16 // pending own fence: epoch to come, 0 none
	look   bool
	epoch  int16
	steps  int
	read   bool
	heads  []int // written and not acknowledged
	calm   bool  // no more faults: the end
	byID   map[uint64]Piece
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{t: t, r: rand.New(rand.NewPCG(seed, 7)), outs: map[uint64]Output{}, bytes: map[*Unit]simBatch{}, epoch: 3, now: 1_000_000, byID: map[uint64]Piece{}}
	s.b.state = nil
	lim := Limits{Depth: 1 + s.r.IntN(5), OldAfter: simOld, RetryMin: 5, RetryMax: 50, StuckAfter: 200 + s.r.Int64N(5000), StopRetry: 20, MergeTarget: 300, MaxAttempts: 5}
	off, old := int64(0), s.r.IntN(3)
	for range 5 + s.r.IntN(40) {
		s.ids++
		n := int32(1 + s.r.IntN(4))
		pc := Piece{ID: s.ids, First: offsetmap.SourceOffset(off), Next: offsetmap.SourceOffset(off + int64(n)), Count: n, Size: 100, Kind: 0, Alone: s.r.IntN(2) == 0}
		switch {
		case s.r.IntN(5) == 0:
			pc.Skip = true
		case old == 0 || old == 1 && s.r.IntN(2) == 0:
			pc.MaxTimestamp = 1_000_000 + int64(s.r.IntN(300))
		default:
			pc.MaxTimestamp = 1_000_000 - simOld - simMargin - 20_000
		}
		off = int64(pc.Next)
		s.source = append(s.source, pc)
		s.byID[pc.ID] = pc
	}
	s.p = NewPartition(lim, Past{Map: offsetmap.New(offsetmap.Origin{}), SourceEnd: -1})
	s.event(Named{})
	s.event(LookEnded{Map: s.p.Map(), Epoch: s.epoch})
	s.ledger()
	return s
}

func (s *sim) event(e Event) { s.act(s.p.Step(e, s.now)) }

func (s *sim) act(acts []Action) {
	for _, a := range acts {
		switch a := a.(type) {
		case Prepare:
			s.prepare(a)
		case Send:
			s.send(a)
		case FencePart:
			s.epoch++
			s.fence = s.epoch
		case Look:
			s.look = true
		case Read:
			s.read, s.at = true, 0
			for s.at < len(s.source) && s.source[s.at].Next <= a.Offset {
				s.at++
			}
		case StopReading:
			s.read = false
		case WriteHead:
			s.heads = append(s.heads, a.N)
		case GiveUp:
			s.t.Fatalf("gave the lane up although nobody else has it: %s", a.Reason)
		case LookAtEnds, WriteBlock, DropBlocks, Mirrored, Settled, Dropped, Rejudge, Said:
		}
	}
}

// ledger acknowledges a head.
func (s *sim) ledger() {
	n := s.heads[0]
	s.heads = s.heads[1:]
	s.event(HeadAcked{n})
}

func (s *sim) prepare(a Prepare) {
	o := Output{MaxTimestamp: -1, Next: s.p.QueuedNext(a.N)}
	s.ids++
	o.ID = s.ids
	for _, id := range a.Pieces {
		pc := s.byID[id]
		o.Spans = append(o.Spans, batch.Span{Offset: int64(pc.First), Count: pc.Count})
		o.Count += pc.Count
		o.MaxTimestamp = max(o.MaxTimestamp, pc.MaxTimestamp)
	}
	s.event(Prepared{a.N, []Output{o}})
}

func (s *sim) send(a Send) {
	u := a.Unit
	if was, ok := s.bytes[u]; ok && a.Again && (was.epoch != u.Epoch || was.seq != u.Sequence) {
		s.t.Fatalf("sent again with another stamp")
	}
	b := simBatch{epoch: u.Epoch, seq: u.Sequence, ts: u.MaxTimestamp}
	for _, sp := range u.Spans {
		for i := range sp.Count {
			b.records = append(b.records, sp.Offset+int64(i))
		}
	}
	s.bytes[u] = b
	s.wire = append(s.wire, u)
}

// deliver lets the broker see the oldest batch on the wire, or loses it.
func (s *sim) deliver() {
	u := s.wire[0]
	s.wire = s.wire[1:]
	b := s.bytes[u]
	fault := s.r.IntN(12)
	if s.calm {
		fault = 11
	}
	switch fault {
	case 0: // never arrives
		s.answer(u, Result{Answer: InDoubt})
	case 1: // appended, answer lost
		s.b.produce(b)
		s.answer(u, Result{Answer: InDoubt})
	case 2: // answer lost, arrives later
		s.b.limbo = append(s.b.limbo, b)
		s.answer(u, Result{Answer: InDoubt})
	case 3:
		s.answer(u, Result{Answer: NotSaved})
	default:
		s.answer(u, s.b.produce(b))
	}
}

func (s *sim) answer(u *Unit, r Result) { s.event(Answered{u, r}) }

// settle ends an own fence or look.
func (s *sim) settle() {
	switch {
	case s.fence != 0:
		e := s.fence
		s.fence = 0
		s.b.fence(e, s.now)
		s.event(FenceDone{e})
	case s.look:
		s.look = false
		var landed []Landed
		for _, b := range s.b.log {
			n := max(int64(len(b.records)), 1)
			if b.base >= int64(s.p.Map().TargetEnd()) {
				landed = append(landed, Landed{Base: offsetmap.TargetOffset(b.base), Count: n, Ours: !b.marker, Marker: b.marker, Epoch: b.epoch, Sequence: b.seq})
			}
		}
		s.event(Looked{landed, offsetmap.TargetOffset(s.b.end)})
	}
}

func (s *sim) step() {
	s.steps++
	s.now += int64(s.r.IntN(30))
	if s.steps%50 == 49 {
		s.now += int64(s.r.IntN(400))
	}
	if s.r.IntN(10) == 0 {
		s.b.forget(s.now)
	}
	switch k := s.r.IntN(6); {
	case k == 0 && s.at < len(s.source) && s.read:
		pc := s.source[s.at]
		s.at++
		s.event(Fetched{Offset: pc.First, Source: Seen{-1, -1, -1, -1}, Pieces: []Piece{pc}})
	case k <= 2 && len(s.wire) > 0:
		s.deliver()
	case k == 3 && (s.fence != 0 || s.look):
		s.settle()
	case k == 4 && len(s.b.limbo) > 0:
		s.b.produce(s.b.limbo[0])
		s.b.limbo = s.b.limbo[1:]
	case k == 5 && len(s.heads) > 0:
		s.ledger()
	default:
		s.event(Tick{})
	}
}

func (s *sim) check() {
	var want []int64
	for _, pc := range s.source {
		for o := pc.First; !pc.Skip && o < pc.Next; o++ {
			want = append(want, int64(o))
		}
	}
	var got []int64
	at := map[int64]int64{}
	for _, b := range s.b.log {
		for i, o := range b.records {
			at[o] = b.base + int64(i)
			got = append(got, o)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Fatalf("target holds %v, want %v", got, want)
	}
	for o, target := range at {
		if pos := s.p.Map().Next(offsetmap.SourceOffset(o)); int64(pos.Target) != target {
			s.t.Fatalf("source %d is at %d, the map says %+v", o, target, pos)
		}
	}
}

func TestSimulation(t *testing.T) {
	histories := 20_000
	if testing.Short() {
		histories = 2_000
	}
	for seed := range histories {
		s := newSim(t, uint64(seed))
		for s.steps < 400 {
			s.step()
		}
		s.calm = true
		last := s.source[len(s.source)-1].Next
		for s.p.Map().Through() < last || len(s.b.limbo) > 0 {
			s.step()
			if s.steps > 20_000 {
				t.Fatalf("seed %d: stuck at %d of %d, %s %q, window %d, wire %d", seed, s.p.Map().Through(), last, s.p.state, s.p.Reason(), len(s.p.window), len(s.wire))
			}
		}
		s.check()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
