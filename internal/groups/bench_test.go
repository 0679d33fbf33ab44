package groups

import (
	"fmt"
	"testing"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// BenchmarkIdle is what a poll and a round cost when nothing changed: 1,000 groups with 10 positions each.
func BenchmarkIdle(b *testing.B) {
	o := NewOwner(nil, &env{fates: map[string]Fate{}}, lanes, true, nil)
	for n := range int32(lanes) {
		o.Own(n, true)
	}
	s := Snapshot{Positions: map[string]map[partition.ID]kafka.Committed{}}
	for i := range 1000 {
		g := fmt.Sprintf("group-%d", i)
		s.Positions[g] = map[partition.ID]kafka.Committed{}
		o.groups[g] = &group{lookAt: time.Now().Add(time.Hour)}
		for p := range int32(10) {
			s.Positions[g][orders(p)] = kafka.Committed{Offset: int64(p)}
			o.Apply(keyOf(g, p), new(made(int64(p), exact(1))))
		}
	}
	o.Obey(b.Context(), nil, time.Now())
	o.Take(s)
	clear(o.dirty)
	b.ReportAllocs()
	for b.Loop() {
		o.Take(s)
		if err := o.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
