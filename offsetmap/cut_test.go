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

func TestCuts(t *testing.T) {
	tests := []struct {
		name string
		do   func(m *offsetmap.Map) offsetmap.Cut
		want offsetmap.Cut
	}{
		{
			"source, in the open run", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(103) },
			offsetmap.Cut{Through: 103, TargetEnd: 100, Records: 6},
		},
		{
			"source, open run gone: its block is open again", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(99) },
			offsetmap.Cut{Through: 99, TargetEnd: 100, Records: 10, Retired: []uint32{2}},
		},
		{
			"source, in a block", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(35) },
			offsetmap.Cut{Through: 35, TargetEnd: 100, Records: 68, Retired: []uint32{1, 2}},
		},
		{
			"source, all", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(-3) },
			offsetmap.Cut{Through: 0, TargetEnd: 100, Records: 100, Retired: []uint32{0, 1, 2}},
		},
		{
			"source, nothing", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(109) },
			offsetmap.Cut{Through: 109, TargetEnd: 100},
		},
		{
			"target, in the open run", func(m *offsetmap.Map) offsetmap.Cut { return m.CutTarget(96) },
			offsetmap.Cut{Through: 105, TargetEnd: 96, Records: 4},
		},
		{
			"target, between two runs", func(m *offsetmap.Map) offsetmap.Cut { return m.CutTarget(80) },
			offsetmap.Cut{Through: 88, TargetEnd: 80, Records: 20, Retired: []uint32{2}},
		},
		{
			"target, all", func(m *offsetmap.Map) offsetmap.Cut { return m.CutTarget(0) },
			offsetmap.Cut{Records: 100, Retired: []uint32{0, 1, 2}},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m, _ := chain(t, 3)
			if d := cmp.Diff(tc.want, tc.do(m)); d != "" {
				t.Errorf("cut differs (-want +got):\n%s", d)
			}
			must(t, m.Check())
		})
	}
}

// After a truncation the source's new records get new places on the target; a
// position in the records that were dropped falls before them.
func TestSourceCutKeepsTarget(t *testing.T) {
	m, _ := chain(t, 1)
	m.CutSource(5)
	must(t, m.Append(run(5, m.TargetEnd(), 10)))
	for c, want := range map[src]tgt{4: 4, 5: 5, 6: 41, 15: 50} {
		if got := m.Next(c); got.Target != want {
			t.Errorf("Next(%d) = %+v, want target %d", c, got, want)
		}
	}
}

// A block that was cut is sealed again under a new number, so a crash in front
// of the new head finds the old head with the old block.
func TestCutNeverReusesNumbers(t *testing.T) {
	m, blocks := chain(t, 3)
	oldHead := m.AppendTail(nil)
	want := m.Next(80)
	c := m.CutTarget(80)
	for range 4 {
		must(t, m.Append(run(m.Through()+1, m.TargetEnd()+5, 7)))
	}
	b, ok := m.Seal()
	if !ok || b.Number <= c.Retired[0] {
		t.Fatalf("sealed block %d after %v was retired", b.Number, c.Retired)
	}
	old, err := offsetmap.Load(oldHead, append(blocks, b))
	must(t, err)
	if got := old.Next(80); got != want || len(old.Missing()) > 0 {
		t.Errorf("old head with the new block: Next(80) = %+v, want %+v; missing %v", got, want, old.Missing())
	}
	now, err := offsetmap.Load(m.AppendTail(nil), append(blocks, b))
	must(t, err)
	if d := cmp.Diff([]uint32{0, 1, 3}, now.Blocks()); d != "" {
		t.Errorf("blocks differ (-want +got):\n%s", d)
	}
}

func TestCutWithMissingBlocks(t *testing.T) {
	tests := []struct {
		name string
		do   func(m *offsetmap.Map) offsetmap.Cut
		want offsetmap.Cut
		end  offsetmap.Position // of a reader at the cut map's end
	}{
		{
			"source, right behind them", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(98) },
			offsetmap.Cut{Through: 98, TargetEnd: 100, Records: 10},
			offsetmap.Position{Target: 90, Kind: offsetmap.AtEnd},
		},
		{
			"target, right behind them", func(m *offsetmap.Map) offsetmap.Cut { return m.CutTarget(90) },
			offsetmap.Cut{Through: 99, TargetEnd: 90, Records: 10},
			offsetmap.Position{Target: 90, Kind: offsetmap.AtEnd},
		},
		{
			"source, inside", func(m *offsetmap.Map) offsetmap.Cut { return m.CutSource(97) },
			offsetmap.Cut{Through: 32, TargetEnd: 100, Records: 70, Retired: []uint32{0, 1, 2}, Unknown: true},
			offsetmap.Position{Target: 30, Kind: offsetmap.Bounded, N: 60},
		},
		{
			"target, inside", func(m *offsetmap.Map) offsetmap.Cut { return m.CutTarget(31) },
			offsetmap.Cut{Through: 32, TargetEnd: 31, Records: 70, Retired: []uint32{0, 1, 2}, Unknown: true},
			offsetmap.Position{Target: 30, Kind: offsetmap.Bounded, N: 1},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			full, blocks := chain(t, 3)
			m, err := offsetmap.Load(full.AppendTail(nil), blocks[:1])
			must(t, err)
			if d := cmp.Diff([]uint32{1, 2}, m.Missing()); d != "" {
				t.Fatalf("missing differ (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.want, tc.do(m)); d != "" {
				t.Errorf("cut differs (-want +got):\n%s", d)
			}
			if got := m.Next(m.Through()); got != tc.end {
				t.Errorf("Next(through) = %+v, want %+v", got, tc.end)
			}
			must(t, m.Check())
			must(t, m.Append(run(m.Through(), m.TargetEnd(), 3)))
			must(t, m.Check())
		})
	}
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
	if d := cmp.Diff([]uint32{2}, m.TrimSource(1000)); d != "" {
		t.Errorf("dropped blocks differ (-want +got):\n%s", d)
	}
	if got := m.Count(0, 1000); got != 10 {
		t.Errorf("%d records kept, want those of the open run", got)
	}
}
