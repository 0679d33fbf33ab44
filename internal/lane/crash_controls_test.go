package lane

import (
	"fmt"

	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// What people decide in a random life. A decision stands in the world from when it is made; owners hear of it when they take
// the lane over, behind their fences, and some time later while they have it.

// decide makes a decision about a partition, or takes one back.
func (l *crashLife) decide(p *crashPair) {
	w, c := l.w, p.controls
	switch w.choose(4) {
	case 0, 1:
		if c.Paused != "" {
			c.Paused = ""
			p.quiet = -1
		} else {
			w.decisions++
			c.Paused = fmt.Sprintf("paused by decision %d", w.decisions)
		}
	case 2:
		c.Skips = w.skipMore(p)
	case 3:
		w.decisions++
		c.Restart = Restart{Incarnation: uint32(w.decisions), From: RestartFrom(w.choose(3)), Offset: offsetmap.SourceOffset(w.choose(int(p.source.end) + 2))}
	}
	p.controls = c
	w.say("decided for %s: %s", p.source.name, c)
}

// skipMore skips some records of one batch more, of those that are not mirrored as far as anybody can know.
func (w *crashWorld) skipMore(p *crashPair) []Skip {
	skips := append([]Skip(nil), p.controls.Skips...)
	if len(p.source.batches) == 0 {
		return skips
	}
	b := p.source.batches[w.choose(len(p.source.batches))]
	first := b.base + int64(w.choose(int(b.next-b.base)))
	last := first + int64(w.choose(int(b.next-first)))
	for _, s := range skips {
		if int64(s.Last) >= first {
			return skips
		}
	}
	for at := first; at <= last; at++ {
		p.skipped[at] = true
	}
	return append(skips, Skip{offsetmap.SourceOffset(first), offsetmap.SourceOffset(last)})
}

// hear tells an owner what is decided.
func (o *crashOwner) hear() {
	for _, p := range o.parts {
		o.step(p, Decided{p.controls})
	}
}

// quietly checks a pause: from when it is in force until it ends nothing of ours is written.
func (w *crashWorld) quietly(o *crashOwner, p *crashPart) {
	c := p.core
	if in := c.Controls().Paused; in == "" || in != p.controls.Paused || !c.Obeys() || c.Absent() || o.unfenced[p.crashPair] {
		return
	}
	if p.quiet < 0 {
		p.quiet = p.target.ours
	}
	if p.target.ours != p.quiet {
		w.fail("PAUSED: %d records came to %s since the pause is in force", p.target.ours-p.quiet, p.target.name)
	}
}

// begun has the oracle begin anew where a head says that a partition is copied anew.
func (w *crashWorld) begun(b crashBatch) {
	for _, r := range b.recs {
		k, err := ledger.ParseKey(r.name)
		if err != nil || k.Kind != ledger.KindHead {
			continue
		}
		h, err := ledger.DecodeHead(k, r.val)
		if err != nil || !h.Mirrored() {
			continue
		}
		m, err := offsetmap.Load(h.Map, nil)
		if err != nil {
			w.fail("head: %v", err)
			return
		}
		p := w.pairs[k.Partition]
		if o := m.Origin(); o.Incarnation > p.origin.Incarnation {
			w.say("%s is copied anew from %d on", p.source.name, o.SourceStart)
			p.origin, p.inexact = o, false
			p.target.copies, p.target.ever = nil, nil
			p.least, p.checked = int64(o.SourceStart), int64(o.SourceStart)
		}
	}
}
