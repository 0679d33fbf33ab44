package offsetmap_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/offsetmap"
)

// doubtful is what a resume leaves that had to choose: source 0..9 -> target
// 0..9; target 10 our marker, 11..18 records of ours, up to 3 of which are
// copied again; mirroring went on from source 15; 15..24 -> 20..29, target 19
// foreign.
func doubtful(t testing.TB) *offsetmap.Map {
	m := offsetmap.New(offsetmap.Origin{})
	must(t, m.Append(run(0, 0, 10)))
	must(t, m.Marker(11))
	must(t, m.Doubt(19, 3))
	must(t, m.Advance(15))
	must(t, m.Foreign(20))
	must(t, m.Append(run(15, 20, 10)))
	return m
}

func TestNextWithDoubt(t *testing.T) {
	tests := []struct {
		name string
		c    src
		want offsetmap.Position
	}{
		{"below", 9, offsetmap.Position{Target: 9, Kind: offsetmap.Exact}},
		{"in front", 10, offsetmap.Position{Target: 11, Kind: offsetmap.Bounded, N: 3}},
		{"has read two that are in doubt", 12, offsetmap.Position{Target: 11, Kind: offsetmap.Bounded, N: 5}},
		{"has read all of them", 15, offsetmap.Position{Target: 11, Kind: offsetmap.Bounded, N: 8}},
		{"behind", 16, offsetmap.Position{Target: 21, Kind: offsetmap.Exact}},
		{"end", 25, offsetmap.Position{Target: 30, Kind: offsetmap.AtEnd}},
	}
	open, sealed := doubtful(t), doubtful(t)
	b, ok := sealed.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	loaded, err := offsetmap.Load(sealed.AppendTail(nil), []offsetmap.Block{b})
	must(t, err)
	for _, tc := range tests {
		for form, m := range map[string]*offsetmap.Map{"open": open, "sealed": sealed, "loaded": loaded} {
			if got := m.Next(tc.c); got != tc.want {
				t.Errorf("%s, %s: Next(%d) = %+v, want %+v", tc.name, form, tc.c, got, tc.want)
			}
			if got := m.Doubts(); got != 3 {
				t.Errorf("%s: Doubts() = %d, want 3", form, got)
			}
			if got := m.Count(0, 30); got != 20 {
				t.Errorf("%s: Count = %d, want 20: records in doubt are not counted", form, got)
			}
		}
	}
	for at, want := range map[tgt]struct {
		s src
		k offsetmap.Kind
	}{9: {9, offsetmap.Exact}, 11: {10, offsetmap.Exact}, 12: {10, offsetmap.Bounded}, 20: {10, offsetmap.Bounded}, 21: {16, offsetmap.Exact}} {
		if s, k := open.Source(at); s != want.s || k != want.k {
			t.Errorf("Source(%d) = %d, %v, want %+v", at, s, k, want)
		}
	}
}

// A doubt at the end of the map makes the end bounded until a run is past it.
func TestDoubtAtEnd(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	must(t, m.Append(run(0, 0, 10)))
	must(t, m.Doubt(12, 1))
	must(t, m.Doubt(16, 2))
	if got, want := m.Next(10), (offsetmap.Position{Target: 10, Kind: offsetmap.Bounded, N: 3}); got != want {
		t.Errorf("Next(10) = %+v, want %+v", got, want)
	}
	if s, k := m.Source(13); s != 10 || k != offsetmap.Bounded {
		t.Errorf("Source(13) = %d, %v", s, k)
	}
	must(t, m.Append(run(10, 16, 5)))
	if got, want := m.Next(15), (offsetmap.Position{Target: 21, Kind: offsetmap.AtEnd}); got != want {
		t.Errorf("Next(15) = %+v, want %+v", got, want)
	}
}

// Records in doubt in front of the first run may have any source offset from
// the first one to mirror on, so nobody who has not read them may skip them.
func TestDoubtInFrontOfFirstRun(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{SourceStart: 100, Base: 50})
	must(t, m.Foreign(52))
	must(t, m.Doubt(55, 2))
	if got, want := m.Next(100), (offsetmap.Position{Target: 50, Kind: offsetmap.Bounded, N: 2}); got != want {
		t.Errorf("Next(100) = %+v without a run, want %+v", got, want)
	}
	must(t, m.Advance(103))
	for range 3 {
		must(t, m.Append(run(m.Through()+1, m.TargetEnd(), 5)))
	}
	b, ok := m.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	found, err := offsetmap.Load(m.AppendTail(nil), []offsetmap.Block{b})
	must(t, err)
	for c, want := range map[src]offsetmap.Position{
		90:  {Target: 50, Kind: offsetmap.NotMirrored, N: 10},
		100: {Target: 50, Kind: offsetmap.Bounded, N: 2},
		104: {Target: 50, Kind: offsetmap.Bounded, N: 3},
		105: {Target: 56, Kind: offsetmap.Exact},
	} {
		for form, m := range map[string]*offsetmap.Map{"sealed": m, "loaded": found} {
			if got := m.Next(c); got != want {
				t.Errorf("%s: Next(%d) = %+v, want %+v", form, c, got, want)
			}
		}
	}
	// Without the block nothing is later than with it, and nothing is exact.
	missing, err := offsetmap.Load(m.AppendTail(nil), nil)
	must(t, err)
	if got := missing.Doubts(); got != 2 {
		t.Errorf("Doubts() = %d without the block, want 2", got)
	}
	for c, want := range map[src]offsetmap.Position{
		90:  {Target: 50, Kind: offsetmap.NotMirrored, N: 10},
		100: {Target: 50, Kind: offsetmap.Bounded, N: 2},
		104: {Target: 50, Kind: offsetmap.Bounded, N: 6},
	} {
		if got := missing.Next(c); got != want {
			t.Errorf("Next(%d) = %+v without the block, want %+v", c, got, want)
		}
	}
	for _, at := range []tgt{50, 53, 55} {
		for form, m := range map[string]*offsetmap.Map{"sealed": m, "missing": missing} {
			if s, _ := m.Source(at); s != 100 {
				t.Errorf("%s: Source(%d) = %d, want 100", form, at, s)
			}
		}
	}
}

// Records in doubt that are no copies are still read by those who have read
// them on the source, and by nobody else twice.
func TestDoubtWithoutCopies(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	must(t, m.Doubt(4, 0))
	must(t, m.Advance(6))
	must(t, m.Append(run(6, 4, 10)))
	for c, want := range map[src]offsetmap.Position{
		0: {Target: 0, Kind: offsetmap.Exact},
		1: {Target: 0, Kind: offsetmap.Bounded, N: 1},
		6: {Target: 0, Kind: offsetmap.Bounded, N: 4},
		7: {Target: 5, Kind: offsetmap.Exact},
	} {
		if got := m.Next(c); got != want {
			t.Errorf("Next(%d) = %+v, want %+v", c, got, want)
		}
	}
}

func TestTrimDropsDoubts(t *testing.T) {
	m := doubtful(t)
	must(t, m.Append(run(26, 30, 1)))
	if _, ok := m.Seal(); !ok {
		t.Fatal("nothing to seal")
	}
	must(t, m.Doubt(33, 1))
	must(t, m.Append(run(40, 33, 1)))
	m.TrimTarget(30)
	if got := m.Doubts(); got != 1 {
		t.Errorf("Doubts() = %d, want the one behind the trimmed block", got)
	}
	must(t, m.Check())
}

func TestRefusedDoubts(t *testing.T) {
	m := doubtful(t)
	before := m.AppendTail(nil)
	for name, tc := range map[string]struct{ got, want error }{
		"back":            {m.Doubt(29, 0), offsetmap.ErrOrder},
		"more than fits":  {m.Doubt(31, 2), offsetmap.ErrRange},
		"less than none":  {m.Doubt(31, -1), offsetmap.ErrRange},
		"none in nothing": {m.Doubt(30, 0), nil},
	} {
		if !errors.Is(tc.got, tc.want) {
			t.Errorf("%s: error %v, want %v", name, tc.got, tc.want)
		}
	}
	if d := cmp.Diff(before, m.AppendTail(nil)); d != "" {
		t.Errorf("a refused update changed the map:\n%s", d)
	}
}
