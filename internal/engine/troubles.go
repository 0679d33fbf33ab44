package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/notes"
)

// troubles is what this worker waits for, for the notes.
func (f *flow) troubles() []notes.Trouble {
	var out []notes.Trouble
	for _, alias := range slices.Sorted(maps.Keys(f.waits)) {
		for _, w := range f.waits[alias].List() {
			what := fmt.Sprintf("waits for %s: %s", w.Cluster, w.For)
			if w.More > 0 {
				what += fmt.Sprintf(" and %d more", w.More)
			}
			out = append(out, notes.Trouble{Since: w.Since.UTC(), What: what, Why: w.Why})
		}
	}
	slices.SortStableFunc(out, func(a, b notes.Trouble) int { return cmp.Compare(a.What, b.What) })
	return out
}
