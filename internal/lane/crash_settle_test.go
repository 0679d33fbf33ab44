package lane

import (
	"fmt"

	"tidemark/offsetmap"
)

// internal/mirror's settle.go and the part of open.go in front of it, over the model's logs.

type crashOpened struct {
	m           *offsetmap.Map
	targetStart int64
	inexact     int64
	reason      string
}

// settle is lookAtEnds, begin and Flow.settle.
func (o *crashOwner) settle(p *crashPart, m *offsetmap.Map) crashOpened {
	o.pause("looks at the ends of %s", p.target.name)
	out := crashOpened{m: m, targetStart: p.target.start}
	sourceStart, sourceEnd, tailEnd := p.source.start, p.source.end, p.target.end
	if m == nil {
		if tailEnd > p.target.start {
			out.reason = fmt.Sprintf("%s holds %d offsets that no head knows", p.target.name, tailEnd-p.target.start)
			return out
		}
		out.m = offsetmap.New(offsetmap.Origin{SourceStart: offsetmap.SourceOffset(sourceStart), Base: offsetmap.TargetOffset(tailEnd)})
		return out
	}
	if tailEnd < int64(m.TargetEnd()) && !p.reopen {
		out.reason = "the target lost records"
		return out
	}
	if !p.reopen && tailEnd > int64(m.TargetEnd()) {
		o.pause("reads the tail of %s", p.target.name)
		o.settleTail(p, &out, sourceStart, sourceEnd, tailEnd)
		if out.reason != "" {
			return out
		}
	}
	if through := int64(m.Through()); sourceStart > through {
		o.w.say("%s: %s lost %d offsets", o.name, p.source.name, sourceStart-through)
		if err := m.Lose(offsetmap.SourceOffset(sourceStart), sourceStart-through); err != nil {
			out.reason = err.Error()
		}
	}
	return out
}

// settleTail is Flow.settleTail.
func (o *crashOwner) settleTail(p *crashPart, out *crashOpened, sourceStart, sourceEnd, tailEnd int64) {
	m, anchor := out.m, int64(out.m.TargetEnd())
	t := NewTail(anchor, tailEnd, p.head.Epoch, p.head.Sequence)
	for _, b := range p.target.scan(max(anchor, out.targetStart)) {
		if b.base >= tailEnd {
			break
		}
		ours := b.pid == p.head.ProducerID || b.pid == o.id.ProducerID
		index, err := t.Add(Landed{Base: b.base, Count: b.end - b.base, Ours: ours && !b.marker, Marker: b.marker, Epoch: b.epoch, Sequence: b.seq})
		if err != nil {
			out.reason = err.Error()
			return
		}
		if !ours || b.marker {
			continue
		}
		for _, r := range b.recs {
			t.Record(TailRecord{Target: r.offset, Index: index + r.offset - b.base, Hash: r.hash, Key: r.key, Ours: true})
		}
	}
	in := t.Input(m, Ends{sourceStart, sourceEnd, out.targetStart, p.source.compacts, p.target.compacts})
	var epochs []offsetmap.EpochStart
	if in.Count != 0 {
		for again := true; again; {
			s := p.survivors(in)
			in, again = s.Revise(in)
			in.Source, epochs = s.Records(), s.Epochs()
		}
	}
	a, err := t.Settle(m, in, epochs)
	switch {
	case err != nil:
		out.reason = "offset map: " + err.Error()
		return
	case a.Mismatch != nil:
		out.reason = fmt.Sprintf("mismatch: %v; input %+v", a.Mismatch, in)
		return
	}
	out.inexact, p.inexact = a.Duplicates, p.inexact || !a.Exact
	o.w.say("%s: %s goes on at source offset %d, duplicates %d", o.name, p.target.name, a.Place, a.Duplicates)
}

// survivors is Flow.survivors.
func (p *crashPart) survivors(in AlignInput) *Survivors {
	s := NewSurvivors(in)
	for _, b := range p.source.batches {
		if b.removed || b.next <= s.From() || b.base >= in.SourceEnd {
			continue
		}
		left := int32(0)
		for i := range b.recs {
			if !b.gone[i] {
				left++
			}
		}
		if len(b.recs) == 0 {
			left = 1 // a marker's own record
		}
		if !s.Batch(SourceBatch{Base: b.base, Next: b.next, Count: left, Blank: b.blank}) {
			continue
		}
		for i, r := range b.recs {
			if !b.gone[i] {
				s.Record(SourceRecord{Offset: r.offset, Hash: r.hash, Key: r.key, Tombstone: r.tombstone})
			}
		}
		if s.Enough() {
			break
		}
	}
	return s
}
