package lane

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"tidemark/offsetmap"
)

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
	w.split, w.leaderless = mix.split, mix.leaderless
	// Up to the broker's window; the default is 2.
	w.depth = 1 + choose(5)
	w.merges = choose(2) == 1
	return &crashLife{w: w, mix: mix}
}

func (l *crashLife) oneIn(n int) bool { return n > 0 && l.w.chance(n) }

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
	// A job has the lane's goroutine go on beside it.
	if len(o.inbox) == 0 && (o.waiting || o.busy && w.choose(3) == 2) {
		l.poke(o)
	}
	o.resume()
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
		do = func() { o.step(p, TargetStart{offsetmap.TargetOffset(p.target.start)}) }
	case 6:
		do = o.tick
		if l.oneIn(l.mix.releases) && !o.draining {
			do = o.drain
		} else if w.choose(8) == 0 {
			do = o.keepaliveDue
		}
	}
	if l.oneIn(l.mix.facts) {
		do = l.fact(o, p)
	}
	if l.oneIn(l.mix.decisions) {
		if w.choose(3) > 0 {
			l.decide(p.crashPair)
		}
		do = o.hear
	}
	o.post(do)
}

// fact is something that is said of a partition, true or not.
func (l *crashLife) fact(o *crashOwner, p *crashPart) func() {
	choose := l.w.choose
	switch choose(8) {
	case 0, 1:
		if !p.core.Absent() {
			return func() { o.step(p, Absent{}) }
		}
	case 2:
		return func() {
			if p.facts.NotYet == "" {
				p.facts.NotYet = crashNotYet
			} else {
				p.facts.NotYet = ""
			}
			o.step(p, Named{p.facts})
		}
	case 3:
		return func() { o.hold(choose(2) == 0) }
	case 4:
		return func() {
			if p.reading {
				e := ReadFailed{Reason: "the source refuses", Front: choose(2) == 1, Final: choose(4) == 3}
				e.Now = !e.Final && choose(2) == 1
				o.step(p, e)
			}
		}
	case 5:
		return func() { o.step(p, Unheard{}) }
	case 6:
		return func() { o.step(p, Stop{Reason: "somebody says so", Final: choose(4) == 3}) }
	}
	return func() { o.step(p, Named{p.facts}) }
}

// calm ends what is in the way of the last owner.
func (l *crashLife) calm() {
	w := l.w
	w.say("calm")
	w.choose = func(int) int { return 0 }
	w.settleLimbo(0)
	for _, p := range w.pairs {
		for i := range p.source.batches {
			p.source.batches[i].damaged = false
		}
		p.controls.Paused, p.quiet = "", -1
	}
	if o := l.last; o != nil && !o.ended {
		o.post(func() {
			o.hold(false)
			o.hear()
			for _, p := range o.parts {
				p.facts.NotYet = ""
				if p.core.final {
					o.step(p, Absent{}) // it is named anew, which ends what was final
				}
				o.step(p, Named{p.facts})
			}
		})
	}
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
	l.calm()
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
		if !p.core.Opened() || int64(p.core.Map().Through()) < p.source.end {
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
			t.Parallel()
			choices := map[int]*rapid.Generator[int]{} // by how many there are
			among := func(n int) *rapid.Generator[int] {
				if choices[n] == nil {
					choices[n] = rapid.IntRange(0, n-1)
				}
				return choices[n]
			}
			var total, exact, owners int
			var twice, anew, said int64
			for range 10 * crashScale(t) { // times rapid's hundred
				rapid.Check(t, func(t *rapid.T) {
					steps := rapid.IntRange(10, 400).Draw(t, "steps")
					var made []int
					w := crashLifetime(mix, steps, false, func(n int) int {
						made = append(made, among(n).Draw(t, "choice"))
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
