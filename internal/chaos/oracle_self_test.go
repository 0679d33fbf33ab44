package chaos

import (
	"slices"
	"testing"

	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/offsetmap"
)

// someLogs are five records: a marker on the source behind the second, one of ours on the target behind the third and at
// the end.
func someLogs() logs {
	l := logs{end: 8}
	for i, at := range [][2]int64{{0, 1}, {1, 2}, {3, 3}, {4, 5}, {5, 6}} {
		l.source = append(l.source, testcluster.Rec{Offset: at[0], Value: testcluster.Value(int64(i), 40)})
		l.target = append(l.target, testcluster.Rec{Offset: at[1], Value: testcluster.Value(int64(i), 40)})
	}
	return l
}

func TestPlaces(t *testing.T) {
	for c, want := range [][2]int64{{0, 1}, {2, 2}, {3, 3}, {3, 3}, {4, 5}, {6, 6}, {8, 8}, {8, 8}} {
		if low, high := someLogs().places(int64(c)); low != want[0] || high != want[1] {
			t.Errorf("a group at %d may stand at %d to %d, want %d to %d", c, low, high, want[0], want[1])
		}
	}
}

func TestRuns(t *testing.T) {
	want := []offsetmap.Run{{Source: 0, Target: 1, Count: 2}, {Source: 3, Target: 3, Count: 1}, {Source: 4, Target: 5, Count: 2}}
	if got := someLogs().runs(); !slices.Equal(got, want) {
		t.Errorf("runs %v, want %v", got, want)
	}
}

// TestNever: a position in front of what a group had read is no fault, one behind its first unread record is; going back is
// one when three looks in a row saw it.
func TestNever(t *testing.T) {
	s := spot{"g", "t", 0}
	held := map[partition.ID]logs{{Topic: "t", Partition: 0}: someLogs()}
	look := func(at ...int64) error {
		x := &world{t: t, groups: &commits{tried: map[spot]int64{s: 4}, seen: map[spot]int64{}, below: map[spot]int{}}}
		for _, a := range at {
			x.groups.saw(s, a)
		}
		return x.never(held)
	}
	for _, good := range [][]int64{{0, 3, 5}, {4, 5}, {5, 3, 3, 5, 3, 3}, {-1, 2}} {
		if err := look(good...); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range [][]int64{{6}, {3, 8}, {5, 3, 3, 3}} {
		if look(bad...) == nil {
			t.Errorf("%v is taken for right", bad)
		}
	}
}
