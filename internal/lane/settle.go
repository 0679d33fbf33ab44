package lane

import (
	"fmt"
	"slices"

	"tidemark/offsetmap"
)

// fence asks for the partition's own fence: until it is complete and the target was looked at, nothing is sent.
func (p *Partition) fence(now int64) []Action {
	p.enter(Fencing, now)
	return []Action{StopReading{}, FencePart{}}
}

// fenced goes on to the look, in the epoch that writes the partition from now on.
func (p *Partition) fenced(epoch int16, now int64) []Action {
	if p.state != Fencing {
		return nil
	}
	p.epoch, p.seq, p.lastFresh, p.off = epoch, 0, 0, true
	acts := []Action{Said{News{What: NewsFenced, N: int64(epoch)}}}
	if p.anew() { // what stands there is of the former copy, however much it is
		acts = p.release(acts)
		p.window, p.dirty, p.off = nil, false, false
		return append(acts, p.look(now)...)
	}
	p.enter(Looking, now)
	return append(acts, Look{From: p.m.TargetEnd()})
}

// looked takes what stands on the target from the asked offset to end, in order.
// Units that landed are acknowledged at the offset where they stand; the rest is forgotten and read again, which a
// new epoch allows (bytes may differ then).
func (p *Partition) looked(landed []Landed, end offsetmap.TargetOffset, now int64) []Action {
	if p.state != Looking {
		return nil
	}
	acts := p.release(nil)
	if end < p.m.TargetEnd() {
		return append(acts, p.stop(fmt.Sprintf("target log ends at %d, below the mirrored end %d (records were lost on the target)", end, p.m.TargetEnd()), false, now)...)
	}
	was := p.uncertain
	settled, err := p.settleUnits(landed, end)
	acts = append(acts, settled...)
	if p.uncertain > was {
		acts = append(acts, Said{News{What: NewsUncertain, N: p.uncertain}})
	}
	if err != nil {
		return append(acts, p.stop(err.Error(), false, now)...) // and dirty: it was being looked at
	}
	p.resume()
	if p.reopen {
		return append(acts, p.look(now)...)
	}
	return append(acts, p.goLive(now)...)
}

// settleUnits goes through what stands on the target. Offsets without a header are those of what retention, within seconds
// of old data, or compaction took; log ends stay.
func (p *Partition) settleUnits(landed []Landed, end offsetmap.TargetOffset) (acts []Action, err error) {
	sure := p.m.TargetEnd() // everything below is settled; what stands between it and a unit is not
	for n, l := range landed {
		i := p.unit(l)
		if l.Ours && i < 0 {
			// Our own bytes a second time: only an old batch repeated behind a forgotten state could do that, and LN2
			// forbids the repeat. Not explained means not touched.
			return acts, fmt.Errorf("target offset %d holds an unexplained batch of ours (epoch %d, sequence %d)", l.Base, l.Epoch, l.Sequence)
		}
		if l.Ours && i > 0 {
			gone, err := p.vanished(i, sure, l.Base)
			if acts = append(acts, gone...); err != nil {
				return acts, err
			}
		}
		if err := p.hidden(landed[n:], l.Base); err != nil {
			return acts, err
		}
		switch next := l.next(); {
		case l.Marker:
			err = p.m.Marker(next)
		case l.Ours:
			var there []Action
			there, err = p.landed(l)
			acts, sure = append(acts, there...), next
		default:
			err = p.m.Foreign(next)
		}
		if err != nil {
			return acts, err
		}
	}
	return acts, p.hidden(nil, end)
}

// unit is which unit of the window a batch is, -1 none.
func (p *Partition) unit(l Landed) int {
	return slices.IndexFunc(p.window, func(u *Unit) bool { return l.Ours && u.Epoch == l.Epoch && u.Sequence == l.Sequence })
}

// landed settles the first unit by its header.
func (p *Partition) landed(l Landed) ([]Action, error) {
	u := p.window[0]
	if int64(u.Count) != l.Count {
		return nil, fmt.Errorf("target offset %d holds %d records under our sequence %d, %d were sent", l.Base, l.Count, l.Sequence, u.Count)
	}
	p.window = p.window[1:]
	return p.land(u, l.Base)
}

// vanished settles the first n units, which are gone from between the offsets from and to. The unit at to proves that they
// landed: more than one is in flight only while the target knows their producer's state, and then it refuses a sequence
// whose predecessor it does not hold. Where they fill the offsets that is their place. Where others stood between them too
// they have none, and are a hole of the source: positions in it are those after the last record before it, which is early.
func (p *Partition) vanished(n int, from, to offsetmap.TargetOffset) (acts []Action, err error) {
	size := int64(0)
	for _, u := range p.window[:n] {
		size += int64(u.Count)
	}
	room := int64(to - from)
	if room < size {
		return nil, fmt.Errorf("target offsets %d to %d hold %d records of ours by their sequence numbers", from, to, size)
	}
	exact := room == size && p.m.TargetEnd() == from
	for _, u := range p.window[:n] {
		if !exact {
			acts = append(acts, p.mirrored(u, -1)...)
			continue
		}
		there, err := p.land(u, p.m.TargetEnd())
		if acts = append(acts, there...); err != nil {
			return acts, err
		}
	}
	p.window = p.window[n:]
	return acts, nil
}

// hidden passes offsets up to the next header, or to the log's end, that no header tells of. While no unit behind them
// proves that those before it landed, the smallest place is taken: nothing landed there. That may write records a second
// time whose first copy is gone already; taking a unit for landed because its size fits would lose it where the offsets
// were somebody else's.
func (p *Partition) hidden(behind []Landed, to offsetmap.TargetOffset) error {
	n := int64(to - p.m.TargetEnd())
	if n <= 0 {
		return nil
	}
	if len(p.window) > 0 && !slices.ContainsFunc(behind, func(l Landed) bool { return p.unit(l) >= 0 }) {
		p.uncertain += n
	}
	return p.m.Foreign(to)
}
