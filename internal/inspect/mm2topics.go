package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/mm2"
)

// Checkpoints, OffsetSyncs and Heartbeats read partition 0 of a topic of MirrorMaker 2's, as its own readers do: the
// newest record of a key counts, a null value deletes.

// Checkpoints are on the target.
func (r *Reader) Checkpoints(ctx context.Context) (status.MM2Records, error) {
	kept := checkpoints{at: map[mm2.Checkpoint]status.Stored{}}
	out, err := r.mm2(ctx, status.KindCheckpoints, kept.take)
	for _, c := range kept.table.All() {
		out.Checkpoints = append(out.Checkpoints, status.Checkpoint{
			Group: c.Group, Topic: c.Topic, Partition: c.Partition, Upstream: c.Upstream, Downstream: c.Downstream, Metadata: c.Metadata, Stored: kept.at[c],
		})
	}
	return out, err
}

// checkpoints are the newest of each key and where they are.
type checkpoints struct {
	table mm2.CheckpointTable
	at    map[mm2.Checkpoint]status.Stored // the last time that this very checkpoint was written
}

func (k *checkpoints) take(rec record) error {
	c, err := k.table.Apply(rec.key, rec.value)
	if err == nil {
		k.at[c] = stored(rec)
	}
	return err
}

// OffsetSyncs are where the flow's offset_syncs_location says; on the source the topic carries the target's alias.
func (r *Reader) OffsetSyncs(ctx context.Context) (status.MM2Records, error) {
	kept := map[partition.ID]status.OffsetSync{}
	out, err := r.mm2(ctx, status.KindOffsetSyncs, func(rec record) error {
		s, err := mm2.ParseOffsetSync(rec.key, rec.value)
		tp := partition.ID{Topic: s.Topic, Partition: s.Partition}
		switch {
		case err == nil:
			kept[tp] = status.OffsetSync{Topic: s.Topic, Partition: s.Partition, Upstream: s.Upstream, Downstream: s.Downstream, Stored: stored(rec)}
		case errors.Is(err, mm2.ErrTombstone):
			delete(kept, tp)
		}
		return err
	})
	out.OffsetSyncs = slices.SortedFunc(maps.Values(kept), func(a, b status.OffsetSync) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out, err
}

// Heartbeats are those that flows to the target write there.
func (r *Reader) Heartbeats(ctx context.Context) (status.MM2Records, error) {
	kept := map[string]status.Heartbeat{}
	out, err := r.mm2(ctx, status.KindHeartbeats, func(rec record) error {
		delete(kept, string(rec.key))
		h, err := mm2.ParseHeartbeat(rec.key, rec.value)
		if err == nil {
			kept[string(rec.key)] = status.Heartbeat{Source: h.Source, Target: h.Target, Timestamp: time.UnixMilli(h.Timestamp).UTC(), Stored: stored(rec)}
		}
		return err
	})
	out.Heartbeats = slices.SortedFunc(maps.Values(kept), func(a, b status.Heartbeat) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	return out, err
}

func stored(rec record) status.Stored { return status.Stored{Offset: rec.offset, Written: rec.at} }

// mm2 reads a topic. take keeps a record or says why it cannot; its error is damage of that record, and ErrTombstone is
// none.
func (r *Reader) mm2(ctx context.Context, kind string, take func(record) error) (status.MM2Records, error) {
	out := status.MM2Records{Header: r.header(), Kind: kind, Cluster: r.flow.Target}
	topic := internalTopic{on: r.target, name: mm2.HeartbeatsTopic}
	var cancel context.CancelFunc
	var err error
	if kind == status.KindOffsetSyncs && r.syncsOnSource() {
		out.Cluster = r.flow.Source
		ctx, cancel = context.WithTimeout(ctx, r.opts.Timeout)
		defer cancel()
		if !r.openSource(ctx, &out.Header) {
			return out, r.noSyncs(&out.Header)
		}
	} else {
		if ctx, cancel, err = r.begin(ctx); err != nil {
			return out, err
		}
		defer cancel()
	}
	switch kind {
	case status.KindCheckpoints:
		topic = r.checkpointsTopic()
	case status.KindOffsetSyncs:
		topic = r.syncsTopic()
	}
	is, err := r.find(ctx, topic)
	if err != nil {
		return out, err
	}
	out.Topic = is.name
	if !is.exists {
		return out, &ErrNeverRun{Flow: out.Flow, Topic: is.name, Cluster: out.Cluster, Off: r.off(kind)}
	}
	out.Notes = append(out.Notes, is.notes...)
	if is.partitions > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s has %d partitions; only partition 0 is used", is.name, is.partitions))
	}
	out.Damage, out.Trouble, err = r.scan(ctx, topic.on, is.name, take)
	return out, err
}

// noSyncs is that offset syncs cannot be read because the source does not answer.
func (r *Reader) noSyncs(h *status.Header) error {
	return fmt.Errorf("offset-syncs are on the source (offset_syncs_location in %s), which cannot be asked: %s", r.cfg.File, h.Source.Error)
}

// scan reads partition 0 of a topic to its end. A later record of a key heals the damage of an earlier one.
func (r *Reader) scan(ctx context.Context, s *side, topic string, take func(record) error) ([]status.Damage, []status.Trouble, error) {
	bad := map[string]status.Damage{}
	trouble, err := r.readAll(ctx, s, topic, []int32{0}, func(p int32) func(record) error {
		return func(rec record) error {
			key := plain(rec.key)
			delete(bad, key)
			if err := take(rec); err != nil && !errors.Is(err, mm2.ErrTombstone) {
				bad[key] = status.Damage{Topic: topic, Partition: p, Offset: rec.offset, Key: key, Error: err.Error()}
			}
			return nil
		}
	})
	damage := slices.SortedFunc(maps.Values(bad), func(a, b status.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	return damage, trouble, err
}

// off names the switch that keeps a run from writing a topic of this kind; empty where it does write it.
func (r *Reader) off(kind string) string {
	switch {
	case kind == status.KindCheckpoints && !r.flow.EmitCheckpoints:
		return "emit_checkpoints"
	case kind == status.KindOffsetSyncs && !r.flow.EmitOffsetSyncs:
		return "emit_offset_syncs"
	case kind == status.KindHeartbeats && !r.flow.EmitHeartbeats:
		return "emit_heartbeats"
	}
	return ""
}
