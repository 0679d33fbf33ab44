package mirror

import (
	"testing"

	"tidemark/internal/lane"
	"tidemark/offsetmap"
)

// Records of ours whose place on the source is not certain after an unclean stop are read by whoever stands in front of
// them, and that position says so; positions elsewhere stay exact.
func TestUncertainRecordsBoundPositions(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	if err := m.Append(offsetmap.Run{Source: 0, Target: 0, Count: 10}); err != nil {
		t.Fatal(err)
	}
	landed := []lane.Landed{
		{Base: 10, Count: 5, Ours: true}, {Base: 15, Count: 1, Marker: true}, {Base: 16, Count: 2, Ours: true}, {Base: 18, Count: 3},
	}
	if err := replay(m, []offsetmap.Run{{Source: 20, Target: 16, Count: 2}}, landed, 21); err != nil {
		t.Fatal(err)
	}
	if n := m.Doubts(); n != 5 {
		t.Errorf("%d records in doubt, want 5", n)
	}
	for c, want := range map[offsetmap.SourceOffset]offsetmap.Position{
		9:  {Target: 9, Kind: offsetmap.Exact},
		12: {Target: 10, Kind: offsetmap.Bounded, N: 5},
		20: {Target: 10, Kind: offsetmap.Bounded, N: 5},
		21: {Target: 17, Kind: offsetmap.Exact},
		22: {Target: 18, Kind: offsetmap.AtEnd}, // the foreign records behind it are no copies
	} {
		if got := m.Next(c); got != want {
			t.Errorf("position %d: %+v, want %+v", c, got, want)
		}
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}
