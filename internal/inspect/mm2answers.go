package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// What MirrorMaker 2 left on a target where no run of Tidemark has been, as verdicts. A checkpoint is a position that
// MirrorMaker 2 worked out from samples, so it is never called exact: it is Bounded by what its offset syncs, or the
// target's log end, say about what is read again.

const (
	fromCheckpoint = "from MirrorMaker 2's checkpoint"
	fromSync       = "from MirrorMaker 2's offset syncs"
)

// sampled is the one answer of MirrorMaker 2 about a position in the place of an offset map, so that translate.Judge
// fits it to the target's log as it does ours. Between target offsets each counts as a record.
type sampled struct {
	at  offsetmap.Position
	end offsetmap.TargetOffset
}

func (s sampled) Next(offsetmap.SourceOffset) offsetmap.Position { return s.at }
func (s sampled) Count(a, b offsetmap.TargetOffset) int64        { return int64(b - a) }
func (s sampled) TargetEnd() offsetmap.TargetOffset              { return s.end }

// left is what MirrorMaker 2 left: checkpoints, and about the partitions that were asked for its offset syncs and the
// target's logs.
type left struct {
	checkpoints
	topic  string // of the checkpoints
	syncs  map[partition.ID]*syncs
	logs   map[partition.ID]extent // by remote partition
	noLog  map[partition.ID]error
	damage []status.Damage
}

// syncs are those of one source partition.
type syncs struct {
	mm2.SyncTable
	at time.Time // when the newest was written
}

// readCheckpoints reads MirrorMaker 2's checkpoints; false where there is no topic of them.
func (r *Reader) readCheckpoints(ctx context.Context, h *status.Header) (left, bool, error) {
	out := left{checkpoints: checkpoints{at: map[mm2.Checkpoint]status.Stored{}}, syncs: map[partition.ID]*syncs{}}
	is, err := r.find(ctx, r.checkpointsTopic())
	if err != nil || !is.exists {
		return out, false, err
	}
	out.topic = is.name
	h.Notes = append(h.Notes, is.notes...)
	damage, trouble, err := r.scan(ctx, r.target, is.name, out.take)
	out.damage = damage
	h.Trouble = append(h.Trouble, trouble...)
	return out, true, err
}

// instead turns the finding that no run has been here into what is shown instead, or into an error that says that there
// is nothing of MirrorMaker 2 either.
func instead(never *ErrNeverRun, topic, what string, there bool) (note string, err error) {
	if !there {
		e := *never
		e.Else = fmt.Sprintf("no MirrorMaker 2 has left %s there", topic)
		return "", &e
	}
	return fmt.Sprintf("no `tidemark run` has created %s on %s: shown is what MirrorMaker 2 left, %s in %s", never.Topic, never.Cluster, what, topic), nil
}

// readSyncs reads the offset syncs of partitions. remote names the remote topic that they are about.
func (r *Reader) readSyncs(ctx context.Context, h *status.Header, want func(partition.ID) bool) (by map[partition.ID]*syncs, t internalTopic, is found, err error) {
	t = r.syncsTopic()
	if is, err = r.find(ctx, t); err != nil || !is.exists {
		return nil, t, is, err
	}
	h.Notes = append(h.Notes, is.notes...)
	by = map[partition.ID]*syncs{}
	_, trouble, err := r.scan(ctx, t.on, is.name, func(rec record) error {
		s, err := mm2.ParseOffsetSync(rec.key, rec.value)
		tp := partition.ID{Topic: s.Topic, Partition: s.Partition}
		switch {
		case errors.Is(err, mm2.ErrTombstone):
			delete(by, tp)
		case err == nil && want(tp):
			if by[tp] == nil {
				by[tp] = &syncs{}
			}
			by[tp].Add(s)
			by[tp].at = rec.at
		}
		return err
	})
	h.Trouble = append(h.Trouble, trouble...)
	return by, t, is, err
}

// bounds completes what was left with what bounds positions: the remote logs, and offset syncs where they can be read.
// Without syncs the bounds are wider; that is a note.
func (r *Reader) bounds(ctx context.Context, h *status.Header, l *left, of []mm2.Checkpoint) error {
	remote, source := map[partition.ID]bool{}, map[partition.ID]bool{}
	for _, c := range of {
		remote[partition.ID{Topic: c.Topic, Partition: c.Partition}] = true
		source[partition.ID{Topic: r.sourceTopic(c.Topic), Partition: c.Partition}] = true
	}
	if len(remote) == 0 {
		return nil
	}
	if err := r.boundingSyncs(ctx, h, l, source); err != nil {
		return err
	}
	var tps []partition.ID
	for tp := range remote {
		tps = append(tps, tp)
	}
	// After the syncs: in the other order one that MirrorMaker 2 writes in between would lie beyond its log's end.
	var err error
	l.logs, l.noLog, err = r.target.extents(ctx, tps)
	return err
}

// boundingSyncs reads the offset syncs of source partitions, where they can be read.
func (r *Reader) boundingSyncs(ctx context.Context, h *status.Header, l *left, source map[partition.ID]bool) error {
	const wide = "how much would be read again is bounded by the target's log ends alone: "
	if r.syncsOnSource() && !h.Source.Reached && (h.Source.Asked || !r.openSource(ctx, h)) {
		h.Notes = append(h.Notes, wide+"MirrorMaker 2's offset syncs are on the source")
		return ctx.Err()
	}
	by, _, is, err := r.readSyncs(ctx, h, func(tp partition.ID) bool { return source[tp] })
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		h.Notes = append(h.Notes, wide+err.Error())
	case !is.exists:
		h.Notes = append(h.Notes, wide+is.name+" is not there")
	}
	if by != nil {
		l.syncs = by
	}
	return nil
}

// anew says that offset syncs are about another log than the one that is there; empty where nothing shows it. MirrorMaker 2
// writes a sync once its record is in the log, so none of this log can be at its end or beyond it.
func (s *syncs) anew(remote partition.ID, log extent) string {
	newest, ok := s.Newest()
	if !ok || newest.Downstream < log.to {
		return ""
	}
	return fmt.Sprintf("MirrorMaker 2's offset syncs go to offset %d of %s, whose log ends at %d: the remote topic was made anew, or lost records", newest.Downstream, remote, log.to)
}

// judge is the verdict about a checkpoint.
func (r *Reader) judge(l *left, c mm2.Checkpoint) translate.Verdict {
	remote := partition.ID{Topic: c.Topic, Partition: c.Partition}
	log, ok := l.logs[remote]
	if !ok {
		return r.noRemote(remote, l.noLog[remote])
	}
	table := l.syncs[partition.ID{Topic: r.sourceTopic(c.Topic), Partition: c.Partition}]
	if table == nil {
		table = &syncs{}
	}
	if why := table.anew(remote, log); why != "" {
		return translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: why}
	}
	// MirrorMaker 2 does not move a checkpoint back, so after its remote topic was made anew one can be too far on. Newer
	// offset syncs tell, and where there are none, the log's end.
	down := c.Downstream
	if now, _, ok := table.Translate(c.Upstream); ok {
		down = min(down, now)
	}
	if down > log.to {
		return translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: fmt.Sprintf(
			"MirrorMaker 2's checkpoint is at offset %d of %s, whose log ends at %d: the remote topic was made anew, or lost records", down, remote, log.to)}
	}
	return r.judgeSample(c.Upstream, log, offsetmap.Position{
		Kind: offsetmap.Bounded, Target: offsetmap.TargetOffset(down), N: table.Replays(c.Upstream, down, log.to),
	}, fromCheckpoint)
}

// judgeSample fits an answer of MirrorMaker 2 to the target's log.
func (r *Reader) judgeSample(upstream int64, log extent, at offsetmap.Position, from string) translate.Verdict {
	v := translate.Judge(translate.Input{
		Committed: offsetmap.SourceOffset(upstream), Map: sampled{at: at, end: offsetmap.TargetOffset(log.to)},
		SourceStart: translate.Unknown, LastStable: translate.Unknown, Earliest: r.flow.UnmirroredPositions == config.UnmirroredEarliest,
		TargetStart: offsetmap.TargetOffset(log.from), TargetEnd: offsetmap.TargetOffset(log.to),
	})
	v.Reason = from
	return v
}

// noRemote is the verdict where the target does not tell the remote partition's log.
func (r *Reader) noRemote(remote partition.ID, err error) translate.Verdict {
	v := translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: fmt.Sprintf("the log of %s is not known: %v", remote, err)}
	if errors.Is(err, kafka.ErrNoTopic) {
		v.Kind, v.Reason = translate.TopicNotMirrored, fmt.Sprintf("MirrorMaker 2 has a checkpoint, and %s is not on the target", remote)
	}
	return v
}

// checkpointsInstead reads MirrorMaker 2's checkpoints where no run of ours has been, and notes that it does.
func (r *Reader) checkpointsInstead(ctx context.Context, h *status.Header, never *ErrNeverRun) (left, error) {
	l, there, err := r.readCheckpoints(ctx, h)
	if err != nil {
		return l, err
	}
	note, err := instead(never, r.policy.CheckpointsTopic(r.flow.Source), "its checkpoints", there)
	if err == nil {
		h.Notes = append([]string{note}, h.Notes...)
	}
	return l, err
}

// translateMM2 is Translate where only a MirrorMaker 2 has been.
func (r *Reader) translateMM2(ctx context.Context, out status.Translation, never *ErrNeverRun) (status.Translation, error) {
	l, err := r.checkpointsInstead(ctx, &out.Header, never)
	if err != nil {
		return out, err
	}
	out.Basis, out.Damage = status.BasisCheckpoints, l.damage
	of := l.table.Of(out.Group)
	if err := r.bounds(ctx, &out.Header, &l, of); err != nil {
		return out, err
	}
	for _, c := range of {
		v := r.judge(&l, c)
		if !v.HasPosition() {
			p := position(r.sourceTopic(c.Topic), c.Partition, c.Upstream, v)
			p.RemoteTopic, p.Metadata, p.AsOf = c.Topic, c.Metadata, l.at[c].Written
			out.Without = append(out.Without, *p)
			continue
		}
		out.Offsets = append(out.Offsets, status.Offset{
			Topic: c.Topic, Partition: c.Partition, Offset: int64(v.Target), Metadata: c.Metadata, Exact: v.IsExact(), Sentence: v.String(),
		})
	}
	return out, nil
}
