package lane

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// crashMix is a kind of random history. Chances are "one in n"; 0 is never.
type crashMix struct {
	name            string
	pairs           int
	keys, values    int // few of them make equal records common
	old             int // one batch in so many is old data; 1 all
	blanks          int // control batches and aborted ones
	tombstones      int
	sourceCompacts  bool
	targetCompacts  bool
	aged            bool // tombstones go for their age
	trims, expires  int
	faults          int // of a request
	foreign         int
	deaths, zombies int
	releases        int
	identityExpires int
	static          bool
	split           bool
}

func crashMixes() []crashMix {
	base := crashMix{pairs: 1, keys: 3, values: 2, deaths: 60, releases: 40, faults: 8}
	mix := func(name string, set func(*crashMix)) crashMix {
		m := base
		m.name = name
		set(&m)
		return m
	}
	return []crashMix{
		mix("fresh data, transactions", func(m *crashMix) { m.keys, m.blanks, m.pairs, m.zombies = 0, 4, 2, 40 }),
		mix("old data, state forgotten", func(m *crashMix) { m.keys, m.old, m.pairs, m.split = 0, 1, 2, true }),
		mix("fresh and old data, two owners", func(m *crashMix) { m.keys, m.old, m.zombies, m.static = 0, 3, 20, true }),
		mix("source compacts, contents repeat", func(m *crashMix) { m.keys, m.values, m.sourceCompacts, m.blanks, m.zombies = 2, 1, true, 5, 60 }),
		mix("source trims", func(m *crashMix) { m.keys, m.values, m.trims = 0, 2, 30 }),
		mix("target compacts", func(m *crashMix) { m.keys, m.targetCompacts, m.tombstones, m.aged = 3, true, 5, true }),
		mix("target expires", func(m *crashMix) { m.keys, m.old, m.expires = 0, 2, 25 }),
		mix("identity expires", func(m *crashMix) {
			m.keys, m.identityExpires, m.deaths, m.releases, m.zombies, m.static = 0, 200, 80, 8, 20, true
		}),
		mix("everything", func(m *crashMix) {
			m.pairs, m.old, m.blanks, m.tombstones, m.sourceCompacts, m.targetCompacts, m.aged = 2, 3, 5, 6, true, true, true
			m.trims, m.expires, m.foreign, m.zombies, m.identityExpires, m.split = 60, 60, 40, 60, 150, true
		}),
	}
}

// crashLife is one random history being lived.
type crashLife struct {
	w    *crashWorld
	mix  crashMix
	last *crashOwner // who was started last
	born int
}

func newCrashLife(mix crashMix, choose func(int) int) *crashLife {
	w := newCrashWorld(choose, mix.pairs)
	for _, p := range w.pairs {
		p.source.compacts, p.target.compacts = mix.sourceCompacts, mix.targetCompacts
		p.source.aged, p.target.aged = mix.aged, mix.aged
	}
	w.split = mix.split
	// Up to the broker's window; the default is 2.
	w.depth = 1 + choose(5)
	w.merges = choose(2) == 1
	return &crashLife{w: w, mix: mix}
}

func (l *crashLife) oneIn(n int) bool { return n > 0 && l.w.chance(n) }

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
	if h, ok := w.readLedger().Heads[p.key()]; ok && h.Mirrored() && l.oneIn(m.foreign) {
		p.target.append(crashBatch{pid: -1, ts: w.now, recs: []crashRec{{from: -1, key: uint64(w.choose(3)), hash: 5}}}, w.now)
		w.say("%s gets a foreign record", p.target.name)
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

// owner starts the next one, after the death of the last one or beside it.
func (l *crashLife) owner() {
	l.born++
	static := l.mix.static && l.w.choose(2) == 1
	if gap := l.last == nil || l.last.ended; gap && l.mix.identityExpires > 0 {
		l.expireIdentity(4)
	}
	if !static {
		l.w.now += crashSession
	}
	l.last = l.w.start("owner "+strconv.Itoa(l.born), static)
}

// step is one step of a random life.
func (l *crashLife) step() {
	w := l.w
	w.now += int64(w.choose(20))
	w.settleLimbo(crashSession)
	if l.last == nil || l.last.ended {
		l.owner()
		return
	}
	o := l.last
	for _, other := range w.owners { // those that go on with an old identity
		if !other.ended && other != l.last && w.choose(3) > 0 {
			o = other
		}
	}
	switch {
	case l.oneIn(l.mix.deaths):
		o.die()
		return
	case l.oneIn(l.mix.zombies) && len(w.owners) < 8:
		l.owner()
		return
	case w.choose(4) == 3:
		l.clusters()
		return
	}
	if len(w.wire) > 0 && w.choose(2) == 0 {
		fault := 0
		if l.oneIn(l.mix.faults) {
			fault = 1 + w.choose(4)
			if w.wire[0].log != w.ledger && w.choose(4) == 3 {
				fault = 5
			}
		}
		w.deliver(fault)
	}
	if o.waiting && len(o.inbox) == 0 {
		l.poke(o)
	}
	o.resume()
	if o.ended {
		w.orphan(o)
	}
}

// poke gives a waiting owner something to do.
func (l *crashLife) poke(o *crashOwner) {
	w := l.w
	p := o.parts[w.choose(len(o.parts))]
	var do func()
	switch w.choose(7) {
	case 0, 1:
		do = func() { o.fetch(p, 1+w.choose(3)) }
	case 2, 3:
		do = o.tick
	case 4:
		do = func() { o.flush(p, w.choose(3) == 0) }
	case 5:
		do = func() { o.trim(p) }
	case 6:
		do = o.tick
		if l.oneIn(l.mix.releases) && !o.draining {
			do = o.drain
		} else if w.choose(8) == 0 {
			do = o.keepalive
		}
	}
	o.inbox = append(o.inbox, do)
}

// live runs the history and asks the oracle at its end, when the last owner has caught up.
func (l *crashLife) live(steps int) {
	w := l.w
	for range steps {
		if w.failure != "" {
			return
		}
		l.step()
	}
	for _, o := range w.owners {
		if !o.ended && o != l.last {
			o.die()
		}
	}
	w.say("calm")
	w.choose = func(int) int { return 0 }
	w.settleLimbo(0)
	for range 10 {
		if r := (&crashRun{w: w}); l.last != nil && r.until(l.last, crashForever) >= 0 && (l.last.released && l.caughtUp() || w.failure != "") {
			break
		}
		l.owner()
	}
	if w.failure == "" && (l.last == nil || !l.last.released || !l.caughtUp()) {
		w.fail("the lane does not get to its end: %s", l.last.gone)
	}
	if w.failure == "" {
		w.check(l.last)
	}
}

func (l *crashLife) caughtUp() bool {
	for _, p := range l.last.parts {
		if p.core == nil || int64(p.core.Map().Through()) < p.source.end {
			return false
		}
	}
	return len(l.last.parts) > 0
}

// TestCrashRandomHistories lives random histories. rapid draws their choices, makes those of one that goes wrong fewer and
// smaller, which is calmer, as long as it goes wrong, and says how to run it again; it is told as a story.
func TestCrashRandomHistories(t *testing.T) {
	for _, mix := range crashMixes() {
		t.Run(mix.name, func(t *testing.T) {
			var total, exact, owners int
			var twice, anew, said int64
			for range 10 * crashScale(t) { // times rapid's hundred
				rapid.Check(t, func(t *rapid.T) {
					steps := rapid.IntRange(10, 400).Draw(t, "steps")
					var made []int
					w := crashLifetime(mix, steps, false, func(n int) int {
						made = append(made, rapid.IntRange(0, n-1).Draw(t, "choice"))
						return made[len(made)-1]
					})
					if w.failure != "" {
						t.Fatalf("%s\n%s", w.failure, crashAgain(mix, steps, made).tell())
					}
					total, owners, said = total+1, owners+len(w.owners), said+w.reported
					if w.choices == 0 {
						exact++
					}
					for _, p := range w.pairs {
						twice, anew = twice+p.target.twice, anew+p.target.anew
					}
				})
			}
			t.Logf("%d histories, %d owners, %d without a choice; %d records twice, announced at most %d, %d written again after they were removed",
				total, owners, exact, twice, said, anew)
		})
	}
}

// crashLifetime lives one history by the choices; steps is how many steps it has before the calm end.
func crashLifetime(mix crashMix, steps int, told bool, choose func(int) int) *crashWorld {
	l := newCrashLife(mix, func(n int) int {
		if n <= 1 {
			return 0
		}
		return choose(n)
	})
	l.w.told = told
	defer l.end()
	l.live(steps)
	return l.w
}

// crashAgain lives a history again by the choices that were made in it, and takes down what happens.
func crashAgain(mix crashMix, steps int, made []int) *crashWorld {
	return crashLifetime(mix, steps, true, func(int) int {
		c := made[0]
		made = made[1:]
		return c
	})
}

// end lets go of the coroutines.
func (l *crashLife) end() {
	for _, o := range l.w.owners {
		o.kill()
	}
}
