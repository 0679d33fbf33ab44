package inspect

import (
	"cmp"
	"maps"
	"slices"

	"tidemark/internal/control"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/verdicts"
)

// forgetEnded drops rows about topics that people have ended: their lane deletes those that it knows of, and the owner of the group
// the others, when it sees them.
func forgetEnded(by map[verdicts.Key]verdicts.Row, decided *control.Set) {
	ended := map[string]bool{}
	for _, d := range decided.Forgotten() {
		ended[d.Scope.Topic] = true
	}
	maps.DeleteFunc(by, func(key verdicts.Key, row verdicts.Row) bool {
		return ended[key.Topic] && decided.Ended(key.Topic, row.SourceTopic)
	})
}

// endedToo adds topics that people have ended to those that the source has no more, where it cannot be asked.
func endedToo(deleted map[string]bool, decided *control.Set, reached bool) map[string]bool {
	if reached {
		return deleted
	}
	out := map[string]bool{}
	for _, d := range decided.Forgotten() {
		out[d.Scope.Topic] = true
	}
	return out
}

// leaveOutEnded says of partitions of topics that people have ended that nobody waits for them: their lane drops them when it can.
func leaveOutEnded(rows []*row, decided *control.Set) {
	for _, d := range decided.Forgotten() {
		for _, w := range rows {
			if w.Topic == d.Scope.Topic && w.sourceID == d.TopicID && w.LeftOut == "" {
				w.LeftOut = "forgotten by " + d.By + " on " + d.At.UTC().Format("2006-01-02")
			}
		}
	}
}

// addMoved adds groups that have moved, all or those that are named: neither the source nor the verdicts topic need know them any
// more.
func (b *gathered) addMoved(decided *control.Set, names []string) {
	for _, d := range decided.AllMoved() {
		if g := d.Scope.Group; len(names) == 0 || slices.Contains(names, g) {
			b.group(g)
		}
	}
}

// movedOf says that a group has moved, and what it has committed on the source since.
func movedOf(decided *control.Set, id string, positions map[partition.ID]*status.Position) *status.Moved {
	d, is := decided.Moved(id)
	if !is {
		return nil
	}
	out := &status.Moved{At: d.At.UTC(), By: d.By, Reason: d.Reason, SourceAway: d.SourceAway}
	for tp, p := range positions {
		if p.Now == status.Unknown || p.Verdict.Final() {
			continue // what the flow does not carry anyway may stay where it is
		}
		was, had := d.Committed[tp.Topic][tp.Partition]
		if !had {
			was = status.Unknown
		}
		if was != p.Now {
			out.WentOn = append(out.WentOn, status.WentOn{Topic: tp.Topic, Partition: tp.Partition, Was: was, Now: p.Now})
		}
	}
	slices.SortFunc(out.WentOn, func(a, b status.WentOn) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

// throttleOf is how fast the flow may be; nil: as fast as it can.
func throttleOf(decided *control.Set) *status.Throttle {
	d, is := decided.Throttle()
	if !is {
		return nil
	}
	return &status.Throttle{Bytes: d.Bytes, At: d.At.UTC(), By: d.By, Reason: d.Reason}
}
