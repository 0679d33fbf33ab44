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
	t := crashTail{end: tailEnd, epoch: p.head.Epoch, sequence: p.head.Sequence}
	for _, b := range p.target.scan(max(anchor, out.targetStart)) {
		if b.base >= tailEnd {
			break
		}
		ours := b.pid == p.head.ProducerID || b.pid == o.id.ProducerID
		if err := t.add(b, anchor, ours); err != nil {
			out.reason = err.Error()
			return
		}
	}
	in := AlignInput{
		Through: int64(m.Through()), SourceStart: sourceStart, SourceEnd: sourceEnd,
		SourceStill:    sourceStart <= int64(m.Through()) && !p.source.compacts,
		SourceCompacts: p.source.compacts, TargetCompacts: p.target.compacts,
		TargetStart: out.targetStart, TargetEnd: tailEnd, Target: anchor, Count: t.count(anchor, out.targetStart), Tail: t.records,
	}
	var err error
	if in.Count != 0 {
		in.Source = p.survivors(in)
		a := Align(in)
		if a.Mismatch != nil {
			out.reason = fmt.Sprintf("mismatch: %v; input %+v", a.Mismatch, in)
			return
		}
		out.inexact, p.inexact = a.Duplicates, p.inexact || !a.Exact
		o.w.say("%s: %s goes on at source offset %d, duplicates %d", o.name, p.target.name, a.Place, a.Duplicates)
		if err = crashReplay(m, a.Runs, t.landed, tailEnd); err == nil && a.Place > int64(m.Through()) {
			err = m.Advance(offsetmap.SourceOffset(a.Place))
		}
	} else {
		err = crashReplay(m, nil, t.landed, tailEnd)
	}
	if err != nil {
		out.reason = "offset map: " + err.Error()
	}
}

// crashTail is tail.
type crashTail struct {
	end      int64
	epoch    int16
	sequence int32
	landed   []Landed
	records  []TailRecord
	last     int64
	holes    bool
	next     int64
}

func (t *crashTail) add(b crashBatch, anchor int64, ours bool) error {
	from := max(b.base, anchor)
	if t.next == 0 {
		t.next = anchor
	}
	t.holes = t.holes || from > t.next
	t.next = b.end
	l := Landed{Base: from, Count: b.end - from, Ours: ours && !b.marker, Marker: b.marker, Epoch: b.epoch, Sequence: b.seq}
	t.landed = append(t.landed, l)
	if !l.Ours {
		return nil
	}
	if b.epoch != t.epoch {
		return fmt.Errorf("target offset %d holds a batch of ours in epoch %d, the ledger's head is in epoch %d", b.base, b.epoch, t.epoch)
	}
	first := int64(uint32(b.seq-t.sequence) & 0x7fffffff)
	t.last = first + b.end - b.base
	t.holes = false
	for _, r := range b.recs {
		t.records = append(t.records, TailRecord{Target: r.offset, Index: first + r.offset - b.base, Hash: r.hash, Key: r.key, Ours: true})
	}
	return nil
}

func (t *crashTail) count(anchor, start int64) int64 {
	if start > anchor || t.next < t.end && len(t.landed) > 0 || len(t.landed) == 0 {
		return -1
	}
	if t.holes {
		return -1
	}
	return t.last
}

// survivors is Flow.survivors.
func (p *crashPart) survivors(in AlignInput) (out []SourceRecord) {
	most := in.Count
	if most < 0 {
		most = in.TargetEnd - in.Target
	}
	from := max(in.Through, in.SourceStart)
	var records int64
	for _, b := range p.source.batches {
		if b.removed || b.next <= from || b.base >= in.SourceEnd {
			continue
		}
		if b.blank {
			for o := max(b.base, from); !in.SourceStill && o < b.next; o++ {
				out = append(out, SourceRecord{Offset: o, Blank: true})
			}
			continue
		}
		for i, r := range b.recs {
			if !b.gone[i] && r.offset >= from {
				records++
				out = append(out, SourceRecord{Offset: r.offset, Hash: r.hash, Key: r.key, Tombstone: r.tombstone})
			}
		}
		if records > most {
			return out
		}
	}
	return out
}

// crashReplay is replay.
func crashReplay(m *offsetmap.Map, runs []offsetmap.Run, landed []Landed, end int64) error {
	fill := func(to int64) error {
		for _, l := range landed {
			a, b := max(l.Base, int64(m.TargetEnd())), min(l.Base+l.Count, to)
			if b <= a {
				continue
			}
			if a > int64(m.TargetEnd()) {
				if err := m.Foreign(offsetmap.TargetOffset(a)); err != nil {
					return err
				}
			}
			var err error
			switch end := offsetmap.TargetOffset(b); {
			case l.Marker:
				err = m.Marker(end)
			case l.Ours:
				err = m.Doubt(end, b-a)
			default:
				err = m.Foreign(end)
			}
			if err != nil {
				return err
			}
		}
		if to > int64(m.TargetEnd()) {
			return m.Foreign(offsetmap.TargetOffset(to))
		}
		return nil
	}
	for _, r := range runs {
		if err := fill(int64(r.Target)); err != nil {
			return err
		}
		if err := m.Append(r); err != nil {
			return err
		}
	}
	return fill(end)
}
