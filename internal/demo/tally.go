package demo

import (
	"slices"

	"tidemark/internal/partition"
)

// given is how often a group was given a record.
type given struct{ onA, onB int }

// result is what became of one group.
type result struct {
	group   *group
	lag     int   // records that the group had not read on A when A stopped
	mm2     int64 // records that MirrorMaker 2's rule would have made it read again
	lost    int   // records that it had to read and never was given
	twice   int   // how often it was given a record again
	strange int   // records it was given that were aborted, or are not of its topics
}

// tally compares what a group was given, on A and on B, with what it had to read: every committed record that A held when
// it stopped, and the last ones that were written on B. A record that the group read on A before compaction or
// retention removed it there is no loss and nothing strange, but it may not come again.
func tally(g *group, all contents, last map[partition.ID]int64, aborted map[int64]bool) result {
	r := result{group: g}
	due := map[int64]bool{}
	for tp, l := range all {
		if !slices.Contains(g.topics, tp.Topic) {
			continue
		}
		at, known := g.at[tp]
		if !known {
			at = 0 // never committed here: everything is still to come
		}
		r.lag += len(l.offsets) - l.below(at)
		if known {
			r.mm2 += newMM2Partition(l).readAgain(at)
		}
		for _, n := range append(slices.Clone(l.numbers), last[tp]) {
			due[n] = true
			if g.read[n] == (given{}) {
				r.lost++
			}
		}
	}
	for n, times := range g.read {
		r.twice += times.onA + times.onB - 1
		if aborted[n] || times.onB > 0 && !due[n] {
			r.strange++
		}
	}
	return r
}
