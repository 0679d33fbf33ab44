package engine

import (
	"context"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/events"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/status"
)

// stuckEvery is how often it is looked whether a transaction of the source holds partitions of ours. It is hours that matter: one
// that hangs does so for ever.
const stuckEvery = time.Minute

// watchTransactions says which transactions hang on the source, each once, until ctx ends.
func (f *flow) watchTransactions(ctx context.Context) error {
	if f.cfg.Isolation != config.ReadCommitted {
		return nil // who reads everything waits for none
	}
	var before status.Live
	said := map[partition.ID]int64{}
	for pause.For(ctx, stuckEvery) {
		now := f.mirror.Live(ctx)
		f.tellHanging(ctx, stuck(before, now), said)
		before = now
	}
	return nil
}

// stuck are the partitions that have records which wait, and have not moved between two looks.
func stuck(before, now status.Live) (out []partition.ID) {
	was := map[partition.ID]int64{}
	for _, l := range before.Lanes {
		for _, p := range l.Partitions {
			was[partition.ID{Topic: p.Topic, Partition: p.Partition}] = p.MirroredTo
		}
	}
	for _, l := range now.Lanes {
		for _, p := range l.Partitions {
			tp := partition.ID{Topic: p.Topic, Partition: p.Partition}
			if to, seen := was[tp]; seen && to == p.MirroredTo && to >= 0 && p.SourceEnd > to && p.State == status.LiveState {
				out = append(out, tp)
			}
		}
	}
	return out
}

// tellHanging says which of the partitions are held by a transaction that nothing ends. said has the start of the one that was told
// last of each. What cannot be asked now is asked at the next look: a source that is away is told by others.
func (f *flow) tellHanging(ctx context.Context, tps []partition.ID, said map[partition.ID]int64) {
	ctx, cancel := context.WithTimeout(ctx, stuckEvery/2)
	defer cancel()
	open, _ := f.source.OpenTransactions(ctx, tps, time.Now())
	for tp, t := range open {
		if last, told := said[tp]; !t.Hangs || told && last == t.StartOffset {
			continue
		}
		said[tp] = t.StartOffset
		f.events.Say(events.TransactionHangs, "partition", tp.String(), "start_offset", t.StartOffset, "producer", t.ProducerID, "transactional_id", t.ID, "since", t.Since.Format(time.RFC3339))
	}
}
