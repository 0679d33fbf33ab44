package offsetmap_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/offsetmap"
)

func run(s src, t tgt, n int64) offsetmap.Run {
	return offsetmap.Run{Source: s, Target: t, Count: n}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// example is a partition with every sort of hole:
//
//	source 100..109 never held data, 110..119 -> target 50..59
//	source 120 a transaction marker, 121..130 -> 60..69
//	target 70, 71 our markers; source 131..140 lost (8 records), 141..150 -> 72..81
//	target 82 foreign, 83 our marker; 151..160 -> 84..93
//	source 161..164 no data, target 94 our marker, 95 foreign
func example(t testing.TB) *offsetmap.Map {
	m := offsetmap.New(offsetmap.Origin{SourceCluster: "east", SourceStart: 100, Base: 50})
	must(t, m.Append(run(110, 50, 10)))
	must(t, m.Append(run(121, 60, 10)))
	must(t, m.Marker(72))
	must(t, m.Lose(141, 8))
	must(t, m.Append(run(141, 72, 10)))
	must(t, m.Foreign(83))
	must(t, m.Marker(84))
	must(t, m.Append(run(151, 84, 10)))
	must(t, m.Advance(165))
	must(t, m.Marker(95))
	must(t, m.Foreign(96))
	return m
}

func TestNext(t *testing.T) {
	const (
		exact, end = offsetmap.Exact, offsetmap.AtEnd
	)
	type position = offsetmap.Position
	tests := []struct {
		name string
		c    src
		want position
	}{
		{"negative", -1, position{Target: 50, Kind: offsetmap.NotMirrored, N: 101}},
		{"smallest number", math.MinInt64, position{Target: 50, Kind: offsetmap.NotMirrored, N: math.MaxInt64}},
		{"never mirrored", 90, position{Target: 50, Kind: offsetmap.NotMirrored, N: 10}},
		{"where mirroring began", 100, position{Target: 50, Kind: offsetmap.BeforeStart}},
		{"before the first run", 109, position{Target: 50, Kind: offsetmap.BeforeStart}},
		{"first record", 110, position{Target: 50, Kind: exact}},
		{"inside a run", 115, position{Target: 55, Kind: exact}},
		{"on a transaction marker", 120, position{Target: 60, Kind: exact}},
		{"after it", 121, position{Target: 60, Kind: exact}},
		{"last record of a run", 130, position{Target: 69, Kind: exact}},
		{"lost hole, over our markers", 131, position{Target: 72, Kind: exact, Lost: 8}},
		{"inside the lost hole", 135, position{Target: 72, Kind: exact, Lost: 8}},
		{"behind the lost hole", 141, position{Target: 72, Kind: exact}},
		{"foreign record is read, marker behind it too", 151, position{Target: 82, Kind: exact}},
		{"behind the foreign record", 152, position{Target: 85, Kind: exact}},
		{"last record", 160, position{Target: 93, Kind: exact}},
		{"end, over the marker, not the foreign record", 161, position{Target: 95, Kind: end}},
		{"in the hole at the end", 163, position{Target: 95, Kind: end}},
		{"through", 165, position{Target: 95, Kind: end}},
		{"ahead", 166, position{Target: 95, Kind: offsetmap.BeyondMirrored, N: 1}},
		{"largest number", math.MaxInt64, position{Target: 95, Kind: offsetmap.BeyondMirrored, N: math.MaxInt64 - 165}},
	}
	open := example(t)
	sealed := example(t)
	b, ok := sealed.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	loaded, err := offsetmap.Load(sealed.AppendTail(nil), []offsetmap.Block{b})
	must(t, err)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for form, m := range map[string]*offsetmap.Map{"open": open, "sealed": sealed, "loaded": loaded} {
				if got := m.Next(tc.c); got != tc.want {
					t.Errorf("%s: Next(%d) = %+v, want %+v", form, tc.c, got, tc.want)
				}
			}
		})
	}
}

func TestSource(t *testing.T) {
	tests := []struct {
		t    tgt
		want src
		kind offsetmap.Kind
	}{
		{math.MinInt64, 100, offsetmap.NotMirrored},
		{49, 100, offsetmap.NotMirrored},
		{50, 100, offsetmap.Exact}, // what the source has in front of the first run may be there to be read
		{55, 115, offsetmap.Exact},
		{60, 120, offsetmap.Exact}, // the hole's start, on purpose
		{70, 131, offsetmap.Exact},
		{72, 131, offsetmap.Exact}, // what is lost to us may be there to be read
		{73, 142, offsetmap.Exact},
		{84, 151, offsetmap.Exact},
		{93, 160, offsetmap.Exact},
		{94, 161, offsetmap.AtEnd},
		{96, 161, offsetmap.AtEnd},
		{97, 161, offsetmap.BeyondMirrored},
		{math.MaxInt64, 161, offsetmap.BeyondMirrored},
	}
	m := example(t)
	for _, tc := range tests {
		if s, k := m.Source(tc.t); s != tc.want || k != tc.kind {
			t.Errorf("Source(%d) = %d, %v, want %d, %v", tc.t, s, k, tc.want, tc.kind)
		}
	}
}

func TestWithoutRuns(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{SourceStart: 10, Base: 5})
	check := func(c src, want offsetmap.Position) {
		t.Helper()
		if got := m.Next(c); got != want {
			t.Errorf("Next(%d) = %+v, want %+v", c, got, want)
		}
	}
	check(10, offsetmap.Position{Target: 5, Kind: offsetmap.AtEnd})
	must(t, m.Marker(7))
	must(t, m.Foreign(8))
	must(t, m.Lose(20, 4))
	check(7, offsetmap.Position{Target: 7, Kind: offsetmap.NotMirrored, N: 3, Lost: 4})
	check(12, offsetmap.Position{Target: 7, Kind: offsetmap.AtEnd, Lost: 4})
	check(20, offsetmap.Position{Target: 7, Kind: offsetmap.AtEnd})
	check(25, offsetmap.Position{Target: 7, Kind: offsetmap.BeyondMirrored, N: 5})
	if s, k := m.Source(8); s != 10 || k != offsetmap.AtEnd {
		t.Errorf("Source(8) = %d, %v", s, k)
	}
	must(t, m.Append(run(20, 8, 1)))
	check(12, offsetmap.Position{Target: 8, Kind: offsetmap.BeforeStart, Lost: 4})
}

func TestAppendMerges(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	must(t, m.Append(run(0, 0, 1<<40)))
	if _, ok := m.Seal(); ok {
		t.Error("sealed the run that may still grow")
	}
	must(t, m.Append(run(1<<40, 1<<40, 5)))
	must(t, m.Append(run(1<<40+5, 1<<40+6, 1)))
	if _, ok := m.Seal(); !ok {
		t.Error("nothing sealed")
	}
	must(t, m.Append(run(1<<40+6, 1<<40+7, 1)))
	want := []offsetmap.Run{run(0, 0, 1<<40+5), run(1<<40+5, 1<<40+6, 2)}
	if d := cmp.Diff(want, slices.Collect(m.Runs())); d != "" {
		t.Errorf("runs differ (-want +got):\n%s", d)
	}
}

func TestRefusedUpdates(t *testing.T) {
	m := example(t)
	before := m.AppendTail(nil)
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"source goes back", m.Append(run(164, 96, 1)), offsetmap.ErrOrder},
		{"target goes back", m.Append(run(165, 95, 1)), offsetmap.ErrOrder},
		{"no records", m.Append(run(165, 96, 0)), offsetmap.ErrRange},
		{"negative count", m.Append(run(165, 96, -1)), offsetmap.ErrRange},
		{"negative source", m.Append(run(-1, 96, 1)), offsetmap.ErrRange},
		{"source overflow", m.Append(run(math.MaxInt64, 96, 1)), offsetmap.ErrRange},
		{"target overflow", m.Append(run(165, math.MaxInt64-1, 2)), offsetmap.ErrRange},
		{"advance back", m.Advance(164), offsetmap.ErrOrder},
		{"marker back", m.Marker(95), offsetmap.ErrOrder},
		{"foreign back", m.Foreign(95), offsetmap.ErrOrder},
		{"lose back", m.Lose(164, 0), offsetmap.ErrOrder},
		{"lose more than fits", m.Lose(166, 2), offsetmap.ErrRange},
		{"lose less than none", m.Lose(166, -1), offsetmap.ErrRange},
	}
	for _, tc := range tests {
		if !errors.Is(tc.err, tc.want) {
			t.Errorf("%s: error %v, want %v", tc.name, tc.err, tc.want)
		}
	}
	if d := cmp.Diff(before, m.AppendTail(nil)); d != "" {
		t.Errorf("a refused update changed the map:\n%s", d)
	}
}

func TestEpochs(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	if got := m.LastEpoch(); got != -1 {
		t.Errorf("LastEpoch() = %d before any", got)
	}
	m.NoteEpoch(-1, 0)
	m.NoteEpoch(3, 0)
	m.NoteEpoch(3, 7)
	m.NoteEpoch(5, 10)
	m.NoteEpoch(9, 20)
	m.NoteEpoch(7, 20) // another history: 9 was never ours
	want := []offsetmap.EpochStart{{Epoch: 3}, {Epoch: 5, Start: 10}, {Epoch: 7, Start: 20}}
	if d := cmp.Diff(want, m.Epochs()); d != "" {
		t.Errorf("epochs differ (-want +got):\n%s", d)
	}
}

func TestKindString(t *testing.T) {
	seen := map[string]bool{}
	for k := offsetmap.Exact; k <= offsetmap.Bounded; k++ {
		seen[k.String()] = true
	}
	if len(seen) != 7 || seen["kind(7)"] || offsetmap.Kind(0).String() != "kind(0)" {
		t.Errorf("kinds in words: %v", seen)
	}
}

// Long runs make the kept decoding states wider than 32 bits, in the middle of
// a segment or from its start.
func TestLongRuns(t *testing.T) {
	for _, count := range []int64{1 << 20, 1 << 27, 1 << 31, 1 << 40} {
		m := offsetmap.New(offsetmap.Origin{SourceStart: 3, Base: 4})
		var runs []offsetmap.Run
		var blocks []offsetmap.Block
		for i := range 1000 {
			r := run(m.Through()+5, m.TargetEnd()+tgt(i%2), count+int64(i))
			must(t, m.Append(r))
			runs = append(runs, r)
			if i%300 == 299 {
				b, ok := m.Seal()
				if !ok {
					t.Fatal("nothing to seal")
				}
				blocks = append(blocks, b)
			}
		}
		loaded, err := offsetmap.Load(m.AppendTail(nil), blocks)
		must(t, err)
		for _, m := range []*offsetmap.Map{m, loaded} {
			must(t, m.Check())
			if d := cmp.Diff(runs, slices.Collect(m.Runs())); d != "" {
				t.Fatalf("runs differ (-want +got):\n%s", d)
			}
			records := int64(0)
			for _, r := range runs {
				middle := r.Count / 2
				if got := m.Next(r.Source + src(middle)); got != (offsetmap.Position{Target: r.Target + tgt(middle), Kind: offsetmap.Exact}) {
					t.Fatalf("Next(%d) = %+v in run %+v", r.Source+src(middle), got, r)
				}
				if s, k := m.Source(r.Target + tgt(middle)); s != r.Source+src(middle) || k != offsetmap.Exact {
					t.Fatalf("Source(%d) = %d, %v in run %+v", r.Target+tgt(middle), s, k, r)
				}
				if got := m.Count(0, r.Target+tgt(middle)); got != records+middle {
					t.Fatalf("Count(0, %d) = %d, want %d", r.Target+tgt(middle), got, records+middle)
				}
				records += r.Count
			}
		}
	}
}
