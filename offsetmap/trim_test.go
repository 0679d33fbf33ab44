package offsetmap_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/offsetmap"
)

// chain is a map with n sealed blocks of three runs of 10 records each, one
// source offset apart, and one open run. Block i holds source [33i, 33i+33)
// and target [30i, 30i+30).
func chain(t testing.TB, n int) (*offsetmap.Map, []offsetmap.Block) {
	m := offsetmap.New(offsetmap.Origin{})
	var blocks []offsetmap.Block
	grow := func() { must(t, m.Append(run(m.Through()+min(m.Through(), 1), m.TargetEnd(), 10))) }
	grow()
	for range n {
		for range 3 {
			grow()
		}
		b, ok := m.Seal()
		if !ok {
			t.Fatal("nothing to seal")
		}
		blocks = append(blocks, b)
	}
	return m, blocks
}

func TestTrim(t *testing.T) {
	m, _ := chain(t, 3)
	must(t, m.Foreign(101))
	if d := cmp.Diff([]uint32(nil), m.TrimTarget(29)); d != "" {
		t.Errorf("trimmed within a block:\n%s", d)
	}
	if d := cmp.Diff([]uint32{0, 1}, m.TrimTarget(89)); d != "" {
		t.Errorf("dropped blocks differ (-want +got):\n%s", d)
	}
	must(t, m.Check())
	tests := []struct {
		c    src
		want offsetmap.Position
	}{
		{0, offsetmap.Position{Target: 60, Kind: offsetmap.Trimmed, N: 66}},
		{64, offsetmap.Position{Target: 60, Kind: offsetmap.Trimmed, N: 2}},
		{65, offsetmap.Position{Target: 60, Kind: offsetmap.Exact}}, // nothing mirrored is between it and what is kept
		{66, offsetmap.Position{Target: 60, Kind: offsetmap.Exact}},
		{67, offsetmap.Position{Target: 61, Kind: offsetmap.Exact}},
	}
	for _, tc := range tests {
		if got := m.Next(tc.c); got != tc.want {
			t.Errorf("Next(%d) = %+v, want %+v", tc.c, got, tc.want)
		}
	}
	if s, k := m.Source(59); s != 65 || k != offsetmap.Trimmed {
		t.Errorf("Source(59) = %d, %v", s, k)
	}
	if d := cmp.Diff([]uint32{2}, m.TrimTarget(90)); d != "" {
		t.Errorf("dropped blocks differ (-want +got):\n%s", d)
	}
	if got := m.Count(0, 1000); got != 10 {
		t.Errorf("%d records kept, want those of the open run", got)
	}
}
