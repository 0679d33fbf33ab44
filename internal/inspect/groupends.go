package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tidemark/internal/config"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// sourceEnds completes positions with the source's log ends: from the source, or where it does not answer from the
// ledger, whose heads are newer than the rows of groups that do not move.
func (b *gathered) sourceEnds(ctx context.Context, h *status.Header) error {
	tps := b.partitions()
	if len(tps) == 0 {
		return nil
	}
	if h.Source.Reached {
		if l := b.reader.sourceEnds(ctx, h, tps); h.Source.Reached {
			open := map[partition.ID]bool{}
			b.each(func(tp partition.ID, p *status.Position) {
				end, ok := l.end[tp]
				if !ok {
					return
				}
				p.SourceEnd, p.SourceAt, p.SourceLive = end, b.at, true
				if stable, ok := l.stable[tp]; ok && b.reader.flow.Isolation == config.ReadCommitted && stable < end && p.Committed >= stable && p.Verdict.HasPosition() {
					p.Open, open[tp] = max(0, end-p.Committed), true
				}
			})
			of := b.reader.transactions(ctx, h, slices.SortedFunc(maps.Keys(open), partition.ID.Compare))
			b.each(func(tp partition.ID, p *status.Position) {
				if p.Open > 0 {
					p.Transaction = of[tp]
				}
			})
			return nil
		}
	}
	return b.ledgerEnds(ctx, h, tps)
}

func (b *gathered) ledgerEnds(ctx context.Context, h *status.Header, tps []partition.ID) error {
	n, err := b.reader.lanes(ctx, b.reader.ledger)
	if never := (*ErrNeverRun)(nil); errors.As(err, &never) {
		h.Notes = append(h.Notes, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	var lanes []int32
	for _, tp := range tps {
		lanes = append(lanes, ledger.LaneOf(tp.Topic, tp.Partition, n))
	}
	slices.Sort(lanes)
	contents, trouble, err := b.reader.readLedger(ctx, slices.Compact(lanes), nil)
	if err != nil {
		return err
	}
	h.Trouble = append(h.Trouble, trouble...)
	b.each(func(tp partition.ID, p *status.Position) {
		head, ok := contents[ledger.LaneOf(tp.Topic, tp.Partition, n)].Heads[tp]
		if ok && head.SourceEnd >= 0 && head.At.After(p.SourceAt) {
			p.SourceEnd, p.SourceAt = int64(head.SourceEnd), head.At.UTC()
		}
	})
	return nil
}

// partitions are the source partitions that groups have positions on.
func (b *gathered) partitions() []partition.ID {
	var tps []partition.ID
	b.each(func(tp partition.ID, _ *status.Position) { tps = append(tps, tp) })
	slices.SortFunc(tps, partition.ID.Compare)
	return slices.Compact(tps)
}

func (b *gathered) each(do func(partition.ID, *status.Position)) {
	for _, positions := range b.groups {
		for tp, p := range positions {
			do(tp, p)
		}
	}
}
