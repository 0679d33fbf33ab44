package lane

import (
	"os"
	"strconv"
	"testing"

	"tidemark/offsetmap"
)

// crashScale multiplies the numbers of histories: TIDEMARK_HISTORIES=100 go test ./internal/lane -run Crash.
func crashScale(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("TIDEMARK_HISTORIES"))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// crashShape is a small history for the exhaustive tests: what the source holds, how it is cleaned, how old it is.
type crashShape struct {
	name  string
	fill  func(s *crashSource, ts int64)
	setup func(w *crashWorld)
	// between runs while no owner is there, as often as owners die.
	between func(w *crashWorld)
}

func crashValue(key, value uint64) crashRec { return crashRec{key: key, hash: key*100 + value} }

// crashShapes are the shapes; each has two phases of data, the second is there from the start too.
func crashShapes() []crashShape {
	plain := func(s *crashSource, ts int64) {
		s.append(ts, false, crashValue(0, 1), crashValue(0, 2))
		s.append(ts, false, crashValue(0, 1), crashValue(0, 1))
		s.append(ts, false, crashValue(0, 3))
	}
	txns := func(s *crashSource, ts int64) {
		s.append(ts, false, crashValue(0, 1))
		s.append(ts, true)
		s.append(ts, true, crashValue(0, 9), crashValue(0, 9))
		s.append(ts, true)
		s.append(ts, false, crashValue(0, 1), crashValue(0, 2))
		s.append(ts, true)
	}
	keyed := func(s *crashSource, ts int64) {
		s.append(ts, false, crashValue(1, 1), crashValue(2, 1))
		s.append(ts, false, crashValue(1, 1), crashValue(3, 1))
		s.append(ts, false, crashValue(2, 2))
		s.append(ts, false, crashValue(4, 1))
	}
	yes := func() bool { return true }
	each := func(do func(p *crashPair)) func(w *crashWorld) {
		return func(w *crashWorld) {
			for _, p := range w.pairs {
				do(p)
			}
		}
	}
	old := func(fill func(*crashSource, int64)) func(*crashSource, int64) {
		return func(s *crashSource, ts int64) { fill(s, ts-simOld-simMargin-20_000) }
	}
	return []crashShape{
		{name: "plain", fill: plain},
		{name: "small batches at the source", fill: plain, setup: func(w *crashWorld) { w.merges = true }},
		{name: "transactions", fill: txns},
		{name: "old data, state forgotten", fill: old(plain), between: func(w *crashWorld) { w.forget() }},
		{name: "small batches on the target", fill: plain, setup: func(w *crashWorld) { w.split = true }},
		{name: "source compacts", fill: keyed, setup: each(func(p *crashPair) { p.source.compacts = true }), between: func(w *crashWorld) {
			for _, p := range w.pairs {
				w.checkLoss(p)
				p.source.clean(3, yes)
			}
		}},
		{name: "target compacts", fill: keyed, setup: each(func(p *crashPair) { p.target.compacts = true }), between: each(func(p *crashPair) { p.target.clean(9, yes) })},
		{name: "old data expires on the target", fill: old(plain), between: func(w *crashWorld) {
			for _, p := range w.pairs {
				if n := len(p.target.batches); n > 1 {
					p.target.expire(p.target.batches[n-1].base)
				}
			}
			w.forget()
		}},
		{name: "gone and back before the first look", fill: plain, setup: func(w *crashWorld) { w.hides = true }},
		{name: "source trims", fill: plain, between: each(func(p *crashPair) { p.source.start = min(p.source.start+1, p.source.end-1) })},
	}
}

// crashRun is one exhaustive history: the owner dies in front of step k, its successor in front of its step j.
type crashRun struct {
	w     *crashWorld
	shape crashShape
	fate  int // of what is on the wire when an owner dies: 0 lost, 1 lands at once, 2 lands in the middle of the next fence
}

func newCrashRun(shape crashShape, pairs, fate int) *crashRun {
	w := newCrashWorld(func(int) int { return 0 }, pairs)
	for _, p := range w.pairs {
		shape.fill(p.source, w.now)
	}
	if shape.setup != nil {
		shape.setup(w)
	}
	return &crashRun{w: w, shape: shape, fate: fate}
}

// step lets the owner go on by one step, the calm way: everything arrives in order, heads are flushed now and then, and at
// the end the lane is released. n counts steps, so that heads come neither after each unit nor never.
func (r *crashRun) step(o *crashOwner, n int) {
	w := r.w
	w.now += 3
	if o.waiting {
		switch {
		case len(w.wire) > 0:
			w.deliver(0)
			return // landed and not yet answered is a crash point of its own
		case len(o.inbox) == 0:
			r.poke(o, n)
		}
	}
	if r.fate == 2 && o.at == "waits for markers" {
		r.settle(true)
	}
	o.resume()
}

// poke gives a waiting owner something to do.
func (r *crashRun) poke(o *crashOwner, n int) {
	for _, p := range o.parts {
		switch {
		case o.draining:
		case !p.core.Is(Live):
			r.w.now += 20
		case n%5 == 0 && p.core.head.dirty && p.core.head.queued == p.core.head.acked:
			o.post(func() { o.flush(p, n%2 == 0) })
			return
		case p.core.Next() < offsetmap.SourceOffset(p.source.end) && p.core.Idle():
			o.post(func() { o.fetch(p, 2) })
			return
		}
	}
	o.post(o.tick)
	if r.caughtUp(o) && !o.draining {
		o.post(o.drain)
	}
}

func (r *crashRun) caughtUp(o *crashOwner) bool {
	for i, p := range r.w.pairs {
		if len(o.parts) == 0 || !o.parts[i].core.Is(Live) || int64(o.parts[i].core.Map().Through()) < p.source.end {
			return false
		}
	}
	return true
}

// settle ends what the dead have sent.
func (r *crashRun) settle(lands bool) {
	for _, q := range r.w.limbo {
		if lands {
			r.w.land(q)
		}
	}
	r.w.limbo = nil
}

// until runs the owner for at most n steps; it answers how many there were.
func (r *crashRun) until(o *crashOwner, n int) int {
	for i := range n {
		if o.ended || r.w.failure != "" {
			return i
		}
		if i > 2000 {
			r.w.fail("%s does not get to its end", o.name)
		}
		r.step(o, i)
	}
	return n
}

// die kills the owner and lets the world go on until the next one comes.
func (r *crashRun) die(o *crashOwner) {
	if !o.ended {
		o.die()
	}
	if r.fate < 2 {
		r.settle(r.fate == 1)
	}
	if r.shape.between != nil {
		r.shape.between(r.w)
	}
	r.w.now += crashSession
}

const crashForever = 1 << 30

// crashTwice is one history: A dies in front of its step k, B in front of its step j, C lives to its end. more says that B
// has more steps than j.
func crashTwice(shape crashShape, fate, k, j int, told bool) (w *crashWorld, more bool) {
	r := newCrashRun(shape, 1+fate%2, fate)
	r.w.told = told
	a := r.w.start("A", false)
	r.until(a, k)
	r.die(a)
	b := r.w.start("B", false)
	more = r.until(b, j) == j
	r.die(b)
	r.finish(r.w.start("C", false))
	return r.w, more
}

// finish runs the last owner to its end and asks the oracle.
func (r *crashRun) finish(o *crashOwner) {
	r.until(o, crashForever)
	if r.w.failure == "" && !o.released {
		r.w.fail("%s ended without release: %s", o.name, o.gone)
	}
	r.w.check(o)
}

// TestCrashAtEveryStep kills the lane in front of every step of its life, and its successor in front of every step of its
// own.
func TestCrashAtEveryStep(t *testing.T) {
	stride := 3 // of the second death; 1 with TIDEMARK_HISTORIES
	if crashScale(t) > 1 {
		stride = 1
	}
	for _, shape := range crashShapes() {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			for fate := range 3 {
				for k := range crashForever {
					first := newCrashRun(shape, 1+fate%2, fate)
					a := first.w.start("A", false)
					steps := first.until(a, k)
					a.kill()
					if steps < k {
						break
					}
					// How long the successor lives is not known before.
					for j := k % stride; ; j += stride {
						runs++
						w, more := crashTwice(shape, fate, k, j, false)
						if w.failure != "" {
							w, _ = crashTwice(shape, fate, k, j, true)
							t.Fatalf("fate %d, A dies at step %d, B at %d: %s\n%s", fate, k, j, w.failure, w.tell())
						}
						if !more {
							break
						}
					}
				}
			}
			t.Logf("%d histories", runs)
		})
	}
}
