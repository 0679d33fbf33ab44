package lane

import (
	"testing"

	"tidemark/offsetmap"
)

// TestUntil: what is skipped limits what is read, from the place where the partition stands.
func TestUntil(t *testing.T) {
	c := Controls{Skips: []Skip{{5, 9}, {20, 20}}}
	for at, want := range map[offsetmap.SourceOffset]offsetmap.SourceOffset{0: 5, 5: 5, 7: 7, 9: 9, 10: 20, 20: 20, 21: -1} {
		got, ok := c.Until(at)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("Until(%d) = %d, want %d", at, got, want)
		}
	}
}

// TestRestartAt: what lies outside of the source's log means the end that is nearer.
func TestRestartAt(t *testing.T) {
	e := Ends{SourceStart: 10, SourceEnd: 20}
	for _, c := range []struct {
		r    Restart
		want offsetmap.SourceOffset
	}{
		{Restart{From: FromEarliest}, 10},
		{Restart{From: FromLatest}, 20},
		{Restart{From: FromOffset, Offset: 15}, 15},
		{Restart{From: FromOffset, Offset: 3}, 10},
		{Restart{From: FromOffset, Offset: 30}, 20},
	} {
		if got := c.r.at(e); got != c.want {
			t.Errorf("%s begins at %d, want %d", c.r, got, c.want)
		}
	}
}
