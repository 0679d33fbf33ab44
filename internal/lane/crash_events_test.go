package lane

import "slices"

// What happens in a random life without any owner doing it.

// produce appends a batch to the source.
func (l *crashLife) produce(p *crashPair) {
	w := l.w
	ts := w.now
	if l.mix.old == 1 || l.oneIn(l.mix.old) {
		ts -= simOld + simMargin + 20_000
	}
	if l.oneIn(l.mix.blanks) {
		p.source.append(ts, true, slices.Repeat([]crashRec{{hash: 7}}, w.choose(3))...)
		w.say("%s gets an aborted or control batch before %d", p.source.name, p.source.end)
		return
	}
	var recs []crashRec
	for range 1 + w.choose(3) {
		var key uint64
		if l.mix.keys > 0 {
			key = 1 + uint64(w.choose(l.mix.keys))
		}
		r := crashValue(key, 1+uint64(w.choose(l.mix.values)))
		if key != 0 && l.oneIn(l.mix.tombstones) {
			r.hash, r.tombstone = key*100, true
		}
		recs = append(recs, r)
	}
	p.source.append(ts, false, recs...)
	w.say("%s gets %d records before %d, %d ms old", p.source.name, len(recs), p.source.end, w.now-ts)
}

// policies lets somebody take compact out of a cleanup.policy, or put it back: what was cleaned before stays cleaned.
func (l *crashLife) policies(p *crashPair) {
	if l.mix.sourceCompacts && l.oneIn(40) {
		p.source.compacts = !p.source.compacts
		l.w.say("%s compacts: %t", p.source.name, p.source.compacts)
	}
	if l.mix.targetCompacts && l.oneIn(40) {
		p.target.compacts = !p.target.compacts
		l.w.say("%s compacts: %t", p.target.name, p.target.compacts)
	}
}

// clusters lets something happen that no owner does.
func (l *crashLife) clusters() {
	w, m := l.w, l.mix
	p := w.pairs[w.choose(len(w.pairs))]
	maybe := func() bool { return w.choose(4) > 0 }
	switch w.choose(6) {
	case 0, 1:
		if p.source.end < 30 {
			l.produce(p)
		}
	case 2:
		if p.source.compacts {
			w.checkLoss(p)
			p.source.clean(w.choose(len(p.source.batches)+1), maybe)
			w.say("%s is compacted", p.source.name)
		}
	case 3:
		if p.target.compacts {
			p.target.clean(w.choose(len(p.target.batches)+1), maybe)
			w.say("%s is compacted", p.target.name)
		}
	case 4:
		w.pass([]int64{10, 100, 1500, simOld, simOld + simMargin + 1000}[w.choose(5)])
	case 5:
		w.forget()
	}
	if l.oneIn(m.trims) && p.source.end > p.source.start {
		w.checkLoss(p)
		p.source.start += 1 + int64(w.choose(int(p.source.end-p.source.start)))
		w.say("%s is trimmed to %d", p.source.name, p.source.start)
	}
	if l.oneIn(m.expires) && len(p.target.batches) > 0 {
		p.target.expire(p.target.batches[w.choose(len(p.target.batches))].end)
		w.say("%s expires to %d", p.target.name, p.target.start)
	}
	if l.oneIn(m.foreign) {
		if h, ok := w.readLedger().Heads[p.key()]; ok && h.Mirrored() {
			p.target.append(crashBatch{pid: -1, ts: w.now, recs: []crashRec{{from: -1, key: uint64(w.choose(3)), hash: 5}}}, w.now)
			w.say("%s gets a foreign record", p.target.name)
		}
	}
	if n := len(p.source.batches); n > 0 && l.oneIn(m.damages) {
		b := &p.source.batches[w.choose(n)]
		b.damaged = !b.damaged
		w.say("the batch at %d of %s is damaged: %t", b.base, p.source.name, b.damaged)
	}
	l.policies(p)
	l.expireIdentity(m.identityExpires)
	if len(w.limbo) > 0 && w.choose(2) == 1 {
		i := w.choose(len(w.limbo))
		r := w.limbo[i]
		w.limbo = slices.Delete(w.limbo, i, i+1)
		w.land(r)
	}
}

// expireIdentity lets the coordinator forget the transactional id, as long as it has no transaction of it. That takes days
// without a keepalive: no request is as old, and every process that lives has written its claim.
func (l *crashLife) expireIdentity(oneIn int) {
	w := l.w
	if !l.oneIn(oneIn) || !w.coord.known || len(w.coord.open)+len(w.coord.owed) > 0 {
		return
	}
	if slices.ContainsFunc(w.owners, func(o *crashOwner) bool { return !o.ended && !o.claimed }) {
		return
	}
	w.settleLimbo(0)
	w.coord.known = false
	w.say("the identity expires")
}
