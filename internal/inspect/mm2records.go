package inspect

import (
	"context"
	"fmt"

	"tidemark/internal/mirrormaker"
	"tidemark/internal/status"
)

// Checkpoints, OffsetSyncs and Heartbeats list what a topic of MirrorMaker 2's holds.

// Checkpoints are on the target.
func (r *Reader) Checkpoints(ctx context.Context) (status.MM2Records, error) {
	var kept mirrormaker.Checkpoints
	out, err := r.mm2(ctx, status.KindCheckpoints, r.mirrorMaker.Checkpoints(), kept.Take)
	out.Checkpoints = kept.List()
	return out, err
}

// OffsetSyncs are where the flow's offset_syncs_location says.
func (r *Reader) OffsetSyncs(ctx context.Context) (status.MM2Records, error) {
	kept := mirrormaker.Newest{}
	out, err := r.mm2(ctx, status.KindOffsetSyncs, r.mirrorMaker.OffsetSyncs(), kept.Take)
	out.OffsetSyncs = kept.List()
	return out, err
}

// Heartbeats are those that flows to the target write there.
func (r *Reader) Heartbeats(ctx context.Context) (status.MM2Records, error) {
	kept := mirrormaker.Heartbeats{}
	out, err := r.mm2(ctx, status.KindHeartbeats, r.mirrorMaker.Heartbeats(), kept.Take)
	out.Heartbeats = kept.List()
	return out, err
}

// mm2 reads a topic of MirrorMaker 2's.
func (r *Reader) mm2(ctx context.Context, kind string, topic mirrormaker.Topic, take func(key, value []byte, at status.Stored) error) (status.MM2Records, error) {
	out := status.MM2Records{Header: r.header(), Kind: kind, Cluster: r.flow.Target}
	var cancel context.CancelFunc
	var err error
	if topic.OnSource {
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
	is, err := r.mirrorMaker.Read(ctx, topic, take)
	out.Topic, out.Damage, out.Trouble = is.Name, is.Damage, is.Trouble
	if err != nil {
		return out, err
	}
	if !is.Exists {
		return out, &ErrNeverRun{Flow: out.Flow, Topic: is.Name, Cluster: out.Cluster, Off: r.off(kind)}
	}
	out.Notes = append(out.Notes, is.Notes...)
	if is.Partitions > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s has %d partitions; only partition 0 is used", is.Name, is.Partitions))
	}
	return out, nil
}

// noSyncs is that offset syncs cannot be read because the source does not answer.
func (r *Reader) noSyncs(h *status.Header) error {
	return fmt.Errorf("offset-syncs are on the source (offset_syncs_location in %s), which cannot be asked: %s", r.cfg.File, h.Source.Error)
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
