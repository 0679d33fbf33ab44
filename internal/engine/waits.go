package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/notes"
)

// troubleAfter is how long something must be wrong to be a trouble: brokers that restart say many things for a moment.
const troubleAfter = 10 * time.Second

// troubles is what this worker waits for, or may not do, for the notes.
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
	further := f.topics.Troubles()
	if t, is := f.positions.reader.Trouble(); is {
		further = append(further, t)
	}
	if t, is := f.decisions.trouble(); is {
		further = append(further, t)
	}
	for _, t := range further {
		if time.Since(t.Since) >= troubleAfter {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b notes.Trouble) int { return cmp.Compare(a.What, b.What) })
	return out
}

// cluster describes one end of the flow for a role. All clients of one cluster tell together what they wait for.
func (f *flow) cluster(role config.Role) (kafka.Cluster, error) {
	c, err := f.client(role).Kafka()
	if err != nil {
		return c, err
	}
	if f.waits[c.Alias] == nil {
		f.waits[c.Alias] = kafka.NewWaits(c.Alias, f.log)
	}
	c.Waits = f.waits[c.Alias]
	return c, nil
}

// ended is how loops ended that were told to.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
