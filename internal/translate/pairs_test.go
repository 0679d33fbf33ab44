package translate

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/offsetmap"
)

// many is rapid.Check on some thousand cases, which take a tenth of a second here;
// the default of 100 seldom meets the rare orders of events.
func many(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	for range 50 {
		rapid.Check(t, property)
	}
}

// pairs is the dumb model: which source record became which target record, and
// which target offsets hold nothing of ours but our markers.
type pairs struct {
	m       *offsetmap.Map
	list    []pair
	base    tgt
	end     tgt
	through src
	start   src
	foreign map[tgt]bool
}

type pair struct {
	s src
	t tgt
}

// history builds a map and its model by the same random events. With damage, one
// sealed block is lost on the way.
func history(t *rapid.T, damage bool) *pairs {
	p := &pairs{
		start: src(rapid.IntRange(0, 5).Draw(t, "source start")), base: tgt(rapid.IntRange(0, 3).Draw(t, "base")),
		foreign: map[tgt]bool{},
	}
	p.through, p.end = p.start, p.base
	origin := offsetmap.Origin{SourceStart: p.start, Base: p.base}
	p.m = offsetmap.New(origin)
	var blocks []offsetmap.Block
	for range rapid.IntRange(0, 25).Draw(t, "events") {
		n := rapid.IntRange(1, 3).Draw(t, "n")
		var err error
		switch rapid.SampledFrom([]string{"records", "records", "records", "nodata", "lose", "marker", "foreign", "seal"}).Draw(t, "event") {
		case "records":
			err = p.m.Append(offsetmap.Run{Source: p.through, Target: p.end, Count: int64(n)})
			for range n {
				p.list = append(p.list, pair{p.through, p.end})
				p.through++
				p.end++
			}
		case "nodata":
			p.through += src(n)
			err = p.m.Advance(p.through)
		case "lose":
			p.through += src(n)
			err = p.m.Lose(p.through, int64(n))
		case "marker":
			p.end += tgt(n)
			err = p.m.Marker(p.end)
		case "foreign":
			for range n {
				p.foreign[p.end] = true
				p.end++
			}
			err = p.m.Foreign(p.end)
		case "seal":
			if b, ok := p.m.Seal(); ok {
				blocks = append(blocks, b)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if damage && len(blocks) > 0 {
		i := rapid.IntRange(0, len(blocks)-1).Draw(t, "missing")
		m, err := offsetmap.Load(p.m.AppendTail(nil), append(blocks[:i:i], blocks[i+1:]...))
		if err != nil {
			t.Fatal(err)
		}
		p.m = m
	}
	return p
}

// count counts pairs that a group at source position c has read (or not), and that
// lie on the target at or above from and below to.
func (p *pairs) count(c src, read bool, from, to tgt) (n int64) {
	for _, q := range p.list {
		if (q.s < c) == read && q.t >= from && q.t < to {
			n++
		}
	}
	return n
}

func (p *pairs) input(t *rapid.T) Input {
	in := Input{
		Map: p.m, Committed: src(rapid.Int64Range(0, int64(p.through)+4).Draw(t, "c")),
		SourceStart: Unknown, LastStable: Unknown, TargetStart: Unknown, TargetEnd: Unknown,
		Earliest: rapid.Bool().Draw(t, "earliest"),
	}
	if rapid.Bool().Draw(t, "ends known") {
		in.TargetStart = tgt(rapid.Int64Range(0, int64(p.end)+1).Draw(t, "target start"))
		in.TargetEnd = tgt(rapid.Int64Range(int64(in.TargetStart), int64(p.end)+2).Draw(t, "target end"))
	}
	if rapid.Bool().Draw(t, "stable known") {
		in.LastStable = src(rapid.Int64Range(0, int64(p.through)+4).Draw(t, "stable"))
	}
	return in
}

// checkPosition is the oracle: T1, T2 and T3 by counting records.
func (p *pairs) checkPosition(t *rapid.T, in Input, v Verdict) {
	x, c := v.Target, in.Committed
	if in.TargetEnd != Unknown && (x < in.TargetStart || x > in.TargetEnd) {
		t.Fatalf("%v is outside of [%d, %d]", v, in.TargetStart, in.TargetEnd)
	}
	if v.Earliest {
		if !in.Earliest || x != in.TargetStart {
			t.Fatalf("%v: not chosen, or not the log start %d", v, in.TargetStart)
		}
		return
	}
	if n := p.count(c, false, 0, x); n > 0 {
		t.Fatalf("%v skips %d records", v, n)
	}
	if n := p.count(c, true, x, p.end); n > v.Replays() {
		t.Fatalf("%v replays %d records", v, n)
	}
	if v.IsExact() != (v.Replays() == 0) && v.Kind != Ahead && v.Kind != HeldByTransaction && v.Kind != Bounded {
		t.Fatalf("%v: exact and replays disagree", v)
	}
}

// checkKind compares the case of the table with the model, where no block is missing.
func (p *pairs) checkKind(t *rapid.T, in Input, v Verdict) {
	c := in.Committed
	beyond := c > p.through
	truncated := in.TargetEnd != Unknown && p.count(c, true, in.TargetEnd, p.end) > 0
	var gone int64 // records the group has yet to read and can no longer
	if in.TargetStart != Unknown {
		gone = p.count(c, false, 0, in.TargetStart)
	}
	unread := p.count(c, false, 0, p.end)
	stable := in.LastStable == Unknown || c <= in.LastStable
	switch v.Kind {
	case Ahead:
		if !(beyond && stable || truncated) {
			t.Fatalf("%v: through %d", v, p.through)
		}
	case HeldByTransaction:
		if !beyond || stable {
			t.Fatalf("%v: through %d, stable %d", v, p.through, in.LastStable)
		}
	case AtEnd:
		if unread > 0 || beyond {
			t.Fatalf("%v: %d records follow", v, unread)
		}
		if in.TargetEnd == Unknown {
			var others int64
			for f := range p.foreign {
				if f >= v.Target {
					others++
				}
			}
			if v.N < others || (v.N > 0) != (others > 0) {
				t.Fatalf("%v: %d foreign records follow", v, others)
			}
		}
	case Trimmed:
		if v.N != gone || gone == 0 {
			t.Fatalf("%v: %d records gone", v, gone)
		}
	case NotMirrored:
		if c >= p.start || v.N != int64(p.start-c) {
			t.Fatalf("%v: mirroring began at %d", v, p.start)
		}
	case Exact, ExactLost, FirstMirrored:
		if beyond || c < p.start || gone > 0 || truncated {
			t.Fatalf("%v: through %d, start %d, %d gone", v, p.through, p.start, gone)
		}
	default:
		t.Fatalf("%v from a whole map", v)
	}
	if !v.HasPosition() && v.Kind != Trimmed && v.Kind != NotMirrored {
		t.Fatalf("%v has no position", v)
	}
}

func TestJudgeAgainstPairs(t *testing.T) {
	many(t, func(t *rapid.T) {
		p := history(t, false)
		for range 8 {
			in := p.input(t)
			v := Judge(in)
			if v.HasPosition() {
				p.checkPosition(t, in, v)
			}
			p.checkKind(t, in, v)
		}
	})
}

// With a block missing answers get coarser, never later, and never silent.
func TestJudgeDamagedAgainstPairs(t *testing.T) {
	many(t, func(t *rapid.T) {
		p := history(t, true)
		for range 8 {
			in := p.input(t)
			v := Judge(in)
			if v.HasPosition() {
				p.checkPosition(t, in, v)
			} else if v.Final() || v.N == 0 {
				t.Fatalf("%v is final or names no number", v)
			}
		}
	})
}

// A growing position never moves back while the logs stand still (field case: group
// offsets rewound after a restart or a lookup with other settings).
func TestJudgeIsMonotonic(t *testing.T) {
	many(t, func(t *rapid.T) {
		p := history(t, rapid.Bool().Draw(t, "damage"))
		in := p.input(t)
		last := NoPosition
		for c := src(0); c <= p.through+4; c++ {
			in.Committed = c
			if v := Judge(in); v.HasPosition() {
				if v.Target < last {
					t.Fatalf("c=%d: %v, before it was at %d", c, v, last)
				}
				last = v.Target
			}
		}
	})
}
