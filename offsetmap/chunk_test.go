package offsetmap_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/offsetmap"
)

// piece is one run as the gaps in front of it and a count.
type piece struct {
	source src
	target tgt
	count  int64
}

// loses says that of piece i a record in the gap on the source is lost.
func (p piece) loses(i int) bool { return i%3 == 1 && p.source > 0 }

// pieces of each encoded length from 1 up to what a run can have at most.
func pieces() []piece {
	return []piece{
		{0, 1, 1},
		{7, 0, 1},
		{1, 0, 17},
		{7, 0, 17},
		{8, 1, 17},
		{200, 1, 17},
		{200, 200, 17},
		{200, 200, 200},
		{40000, 200, 200},
		{40000, 40000, 40000},
		{1 << 21, 1 << 21, 1 << 21},
		{1 << 27, 1 << 27, 1 << 27},
		{1 << 35, 3, 1},
		{3, 1 << 35, 1},
		{3, 0, 1 << 35},
		{1 << 56, 1 << 56, 1 << 56},
	}
}

// forms returns the map of the runs in the tail, sealed in the middle, and loaded.
func forms(t *testing.T, list []piece) map[string]*offsetmap.Map {
	build := func(seal func(i int) bool) (*offsetmap.Map, []offsetmap.Block) {
		m := offsetmap.New(offsetmap.Origin{SourceStart: 3, Base: 5})
		var blocks []offsetmap.Block
		for i, p := range list {
			if p.loses(i) {
				must(t, m.Lose(m.Through()+p.source, 1))
				p.source = 0
			}
			must(t, m.Append(run(m.Through()+p.source, m.TargetEnd()+p.target, p.count)))
			if seal(i) {
				if b, ok := m.Seal(); ok {
					blocks = append(blocks, b)
				}
			}
		}
		return m, blocks
	}
	tail, _ := build(func(int) bool { return false })
	sealed, blocks := build(func(i int) bool { return i == len(list)/2 || i == len(list)-2 })
	loaded, err := offsetmap.Load(sealed.AppendTail(nil), blocks)
	must(t, err)
	return map[string]*offsetmap.Map{"tail": tail, "sealed": sealed, "loaded": loaded}
}

// verifyRuns asks for the neighbourhood of each run, in both directions.
func verifyRuns(t *testing.T, form string, m *offsetmap.Map, list []piece) {
	t.Helper()
	must(t, m.Check())
	var runs []offsetmap.Run
	last, records := run(3, 5, 0), int64(0)
	for i, p := range list {
		end := run(last.Source+src(last.Count), last.Target+tgt(last.Count), 0)
		r := run(end.Source+p.source, end.Target+p.target, p.count)
		runs = append(runs, r)
		next := map[src]tgt{r.Source + 1: r.Target + 1, r.Source + src(r.Count/2) + 1: r.Target + tgt(r.Count/2) + 1}
		back := map[tgt]src{r.Target + 1: r.Source + 1, r.Target + tgt(r.Count/2) + 1: r.Source + src(r.Count/2) + 1}
		if i > 0 {
			next[end.Source], next[end.Source+(p.source+1)/2], next[r.Source] = end.Target, end.Target, end.Target
			back[end.Target], back[end.Target+(p.target+1)/2], back[r.Target] = end.Source, end.Source, end.Source
		}
		for c, want := range next {
			lost := int64(0)
			if p.loses(i) && c < r.Source {
				lost = 1
			}
			got := m.Next(c)
			if inside := c > r.Source && c < r.Source+src(p.count); got.Target != want || got.Lost != lost && (inside || c <= r.Source) {
				t.Fatalf("%s: Next(%d) = %+v around run %d %+v, want target %d, %d lost", form, c, got, i, r, want, lost)
			}
		}
		for at, want := range back {
			if got, _ := m.Source(at); got != want {
				t.Fatalf("%s: Source(%d) = %d around run %d %+v, want %d", form, at, got, i, r, want)
			}
		}
		for at, want := range map[tgt]int64{
			r.Target: records, r.Target + 1: records + 1, r.Target + tgt(r.Count/2): records + r.Count/2,
			r.Target + tgt(r.Count): records + r.Count,
		} {
			if got := m.Count(0, at); got != want {
				t.Fatalf("%s: Count(0, %d) = %d around run %d %+v, want %d", form, at, got, i, r, want)
			}
		}
		last, records = r, records+r.Count
	}
	if d := cmp.Diff(runs, slices.Collect(m.Runs())); d != "" {
		t.Fatalf("%s: runs differ (-want +got):\n%s", form, d)
	}
}

// A run of each length begins at each place of a chunk, also where it no
// longer fits, with short runs that are all equal or not around it.
func TestLongRunsAtChunkBorders(t *testing.T) {
	for _, long := range pieces() {
		for _, filler := range [][]piece{{{1, 0, 1}}, {{7, 0, 16}, {1, 0, 1}, {2, 0, 3}}} {
			for before := range 56 {
				var list []piece
				for i := range before {
					list = append(list, filler[i%len(filler)])
				}
				list = append(list, long)
				if before%2 == 1 && long.source < 1<<40 && long.target < 1<<40 {
					list = append(list, long, long)
				}
				for i := range 50 {
					list = append(list, filler[i%len(filler)])
				}
				for form, m := range forms(t, list) {
					verifyRuns(t, fmt.Sprintf("%+v after %d, %s", long, before, form), m, list)
				}
			}
		}
	}
}

// Every number of runs of one size, so that blocks and tail end at every place
// of a chunk.
func TestEqualRuns(t *testing.T) {
	for _, p := range []piece{{1, 0, 1}, {7, 0, 16}, {7, 0, 1}, {1, 0, 16}, {3, 0, 5}} {
		for n := 1; n < 110; n++ {
			list := slices.Repeat([]piece{p}, n)
			for form, m := range forms(t, list) {
				verifyRuns(t, fmt.Sprintf("%d times %+v, %s", n, p, form), m, list)
			}
		}
	}
}

// Short runs of random sizes, and of few, which make some chunks equal and
// others not; at times a gap that makes one chunk much sparser than the others,
// so that a guess from the average goes wrong.
func TestShortRuns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		sizes, jump := 1+rnd.IntN(7), rnd.IntN(4) == 0
		var list []piece
		for range 1 + rnd.IntN(1000) {
			p := piece{1 + src(rnd.IntN(sizes)), 0, 1 + rnd.Int64N(int64(2*sizes))}
			switch {
			case rnd.IntN(400) == 0:
				p.target = 1
			case jump && rnd.IntN(200) == 0:
				p.source, p.target = 1<<src(rnd.IntN(36)), 1<<tgt(rnd.IntN(36))
			}
			list = append(list, p)
		}
		for form, m := range forms(t, list) {
			verifyRuns(t, form, m, list)
		}
	}
}

// A segment whose states become too wide for its chunks, at every place of a
// chunk, after chunks of all forms.
func TestWideStates(t *testing.T) {
	for _, wide := range []piece{{1 << 33, 0, 1}, {1, 1 << 33, 1}, {1, 0, 1 << 33}} {
		for before := 0; before < 200; before += 7 {
			var list []piece
			for i := range before {
				list = append(list, piece{1 + src(i/50%2*(i%3)), 0, 1})
			}
			list = append(list, wide)
			list = append(list, slices.Repeat([]piece{{1, 0, 1}}, 200)...)
			for form, m := range forms(t, list) {
				verifyRuns(t, fmt.Sprintf("%+v after %d, %s", wide, before, form), m, list)
			}
		}
	}
}
