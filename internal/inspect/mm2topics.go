package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/status"
	"tidemark/mm2"
)

// Checkpoints, OffsetSyncs and Heartbeats read partition 0 of a topic of MirrorMaker 2's, as its own readers do: the
// newest record of a key counts, a null value deletes.

// Checkpoints are on the target.
func (r *Reader) Checkpoints(ctx context.Context) (status.MM2Records, error) {
	kept := map[string]status.Checkpoint{}
	out, err := r.mm2(ctx, status.KindCheckpoints, r.policy.CheckpointsTopic(r.flow.Source), false, func(rec record) error {
		delete(kept, string(rec.key))
		c, err := mm2.ParseCheckpoint(rec.key, rec.value)
		if err == nil {
			kept[string(rec.key)] = status.Checkpoint{
				Group: c.Group, Topic: c.Topic, Partition: c.Partition, Upstream: c.Upstream, Downstream: c.Downstream, Metadata: c.Metadata, Stored: stored(rec),
			}
		}
		return err
	})
	out.Checkpoints = slices.SortedFunc(maps.Values(kept), func(a, b status.Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out, err
}

// OffsetSyncs are where the flow's offset_syncs_location says; on the source the topic carries the target's alias.
func (r *Reader) OffsetSyncs(ctx context.Context) (status.MM2Records, error) {
	kept := map[string]status.OffsetSync{}
	onSource := r.flow.OffsetSyncsLocation == config.LocationSource
	topic := r.policy.OffsetSyncsTopic(r.flow.Source)
	if onSource {
		topic = r.policy.OffsetSyncsTopic(r.flow.Target)
	}
	out, err := r.mm2(ctx, status.KindOffsetSyncs, topic, onSource, func(rec record) error {
		delete(kept, string(rec.key))
		s, err := mm2.ParseOffsetSync(rec.key, rec.value)
		if err == nil {
			kept[string(rec.key)] = status.OffsetSync{Topic: s.Topic, Partition: s.Partition, Upstream: s.Upstream, Downstream: s.Downstream, Stored: stored(rec)}
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
	out, err := r.mm2(ctx, status.KindHeartbeats, mm2.HeartbeatsTopic, false, func(rec record) error {
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
func (r *Reader) mm2(ctx context.Context, kind, topic string, onSource bool, take func(record) error) (status.MM2Records, error) {
	out := status.MM2Records{Header: r.header(), Kind: kind, Topic: topic, Cluster: r.flow.Target}
	s := r.target
	if onSource {
		out.Cluster = r.flow.Source
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.opts.Timeout)
		defer cancel()
		if !r.openSource(ctx, &out.Header) {
			return out, fmt.Errorf("%s are on the source (offset_syncs_location in %s), which cannot be asked: %s", kind, r.cfg.File, out.Source.Error)
		}
		s = r.source
	} else {
		var cancel context.CancelFunc
		var err error
		if ctx, cancel, err = r.begin(ctx); err != nil {
			return out, err
		}
		defer cancel()
	}
	t, ok, err := s.topic(ctx, topic)
	if err != nil {
		return out, err
	}
	if !ok {
		return out, &ErrNeverRun{Flow: out.Flow, Topic: topic, Cluster: out.Cluster, Off: r.off(kind)}
	}
	if t.Partitions > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s has %d partitions; only partition 0 is used", topic, t.Partitions))
	}
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
	out.Trouble = trouble
	out.Damage = slices.SortedFunc(maps.Values(bad), func(a, b status.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	return out, err
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
