package groups

import "tidemark/internal/translate"

// checkpoint is what was handed over last for a position.
type checkpoint struct {
	upstream, downstream int64
	metadata             string
}

// checkpoints hands over every position of a group that is news, whether the group is written or not: readers of the
// checkpoints topic translate for themselves. As from MirrorMaker 2, whose first offset sync comes with the first record,
// there is none of a partition of which nothing is mirrored yet.
func (o *Owner) checkpoints(w *work) {
	for _, p := range w.rows {
		if p.Committed == translate.Unknown || !p.Verdict.HasPosition() || p.Verdict.NothingMirrored() {
			continue
		}
		c := checkpoint{int64(p.Committed), int64(p.Verdict.Target), p.Metadata}
		last, had := w.g.emitted[p.Partition]
		if had && !c.follows(last, p.fresh && !w.stale) {
			continue
		}
		w.g.emitted[p.Partition] = c
		o.env.Checkpoint(w.id, p.Partition, c.upstream, c.downstream, c.metadata)
	}
}

// follows is MirrorMaker 2's rule (KIP-545), here also for news that leaves the target's offset where it is: lower on
// the target only where the group went back on the source, which only the newest commit can tell.
func (c checkpoint) follows(last checkpoint, fresh bool) bool {
	switch {
	case c == last:
		return false
	case c.upstream < last.upstream:
		return fresh
	}
	return c.downstream >= last.downstream
}
