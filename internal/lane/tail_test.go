package lane

import (
	"testing"

	"tidemark/offsetmap"
)

// Records of ours whose place on the source is not certain after an unclean stop are read by whoever stands in front of
// them, and that position says so; positions elsewhere stay exact.
func TestUncertainRecordsBoundPositions(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	if err := m.Append(offsetmap.Run{Source: 0, Target: 0, Count: 10}); err != nil {
		t.Fatal(err)
	}
	tail := NewTail(10, 21, 3, 0)
	for _, l := range []Landed{
		{Base: 10, Count: 5, Ours: true, Epoch: 3}, {Base: 15, Count: 1, Marker: true}, {Base: 16, Count: 2, Ours: true, Epoch: 3, Sequence: 5}, {Base: 18, Count: 3},
	} {
		if _, err := tail.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := tail.Replay(m, []offsetmap.Run{{Source: 20, Target: 16, Count: 2}}, 5); err != nil {
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

// TestTailCount: how many records of ours a tail had is known by the sequence numbers of our last batch, and not known where
// headers behind it are gone, also in front of our own marker.
func TestTailCount(t *testing.T) {
	for _, c := range []struct {
		name   string
		at     []offsetmap.TargetOffset // bases of batches of ours, of two records each, whose sequences follow from where they stand
		marker offsetmap.TargetOffset   // base of a marker; 0: none
		end    offsetmap.TargetOffset
		want   int64
	}{
		{"nothing", nil, 0, 10, -1},
		{"all there", []offsetmap.TargetOffset{10, 12}, 0, 14, 4},
		{"the first gone", []offsetmap.TargetOffset{12}, 0, 14, 4},
		{"one in the middle gone", []offsetmap.TargetOffset{10, 14}, 0, 16, 6},
		{"and a marker", []offsetmap.TargetOffset{10, 14}, 16, 17, 6},
		{"the last gone", []offsetmap.TargetOffset{10}, 0, 14, -1},
		{"the last gone in front of a marker", []offsetmap.TargetOffset{10}, 14, 15, -1},
	} {
		tail := NewTail(10, c.end, 3, 0)
		for _, base := range c.at {
			index, err := tail.Add(Landed{Base: base, Count: 2, Ours: true, Epoch: 3, Sequence: int32(base - 10)})
			if err != nil || index != int64(base-10) {
				t.Errorf("%s: index %d, %v", c.name, index, err)
			}
		}
		if c.marker > 0 {
			if _, err := tail.Add(Landed{Base: c.marker, Count: 1, Marker: true}); err != nil {
				t.Fatal(err)
			}
		}
		if got := tail.Count(0); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if _, err := NewTail(10, 20, 3, 0).Add(Landed{Base: 10, Count: 1, Ours: true, Epoch: 4}); err == nil {
		t.Error("a batch of ours in an epoch that no head knows is taken")
	}
}
