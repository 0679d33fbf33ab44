package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/internal/config"
	"tidemark/internal/mirrormaker"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

// What MirrorMaker 2 left on a target where no run of Tidemark has been takes the place of our own answers in snapshots.

// mirrorMakerOf is what is known of MirrorMaker 2's ways by the file.
func mirrorMakerOf(flow config.Flow, policy mm2.Policy) mirrormaker.Flow {
	return mirrormaker.Flow{
		Policy: policy, SourceAlias: flow.SourceAlias, TargetAlias: flow.TargetAlias, SourceCluster: flow.Source, TargetCluster: flow.Target,
		SyncsOnSource: flow.OffsetSyncsLocation == config.LocationSource, Earliest: flow.UnmirroredPositions == config.UnmirroredEarliest,
	}
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

// besides notes that MirrorMaker 2 ran this flow too where what is shown is Tidemark's own.
func (r *Reader) besides(ctx context.Context, h *status.Header) {
	if note := r.mirrorMaker.Besides(ctx, h.At, r.opts.ConnectTimeout); note != "" {
		h.Notes = append(h.Notes, note)
	}
}

// checkpointsInstead reads MirrorMaker 2's checkpoints where no run of ours has been, and notes that it does.
func (r *Reader) checkpointsInstead(ctx context.Context, h *status.Header, never *ErrNeverRun) (mirrormaker.Left, []status.Damage, error) {
	var left mirrormaker.Left
	t := r.mirrorMaker.Checkpoints()
	is, err := r.mirrorMaker.Read(ctx, t, left.Take)
	h.Notes, h.Trouble = append(h.Notes, is.Notes...), append(h.Trouble, is.Trouble...)
	if err != nil {
		return left, is.Damage, err
	}
	note, err := instead(never, t.Name, "its checkpoints", is.Exists)
	if err == nil {
		h.Notes = append([]string{note}, h.Notes...)
	}
	return left, is.Damage, err
}

// bound completes what was left with what bounds the positions of checkpoints.
func (r *Reader) bound(ctx context.Context, h *status.Header, left *mirrormaker.Left, of []mm2.Checkpoint) error {
	if len(of) == 0 {
		return nil
	}
	noSyncs := ""
	if r.mirrorMaker.SyncsOnSource && !h.Source.Reached && (h.Source.Asked || !r.openSource(ctx, h)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		noSyncs = "MirrorMaker 2's offset syncs are on the source"
	}
	return r.mirrorMaker.Bound(ctx, h, left, of, noSyncs)
}

// translateMM2 is Translate where only a MirrorMaker 2 has been.
func (r *Reader) translateMM2(ctx context.Context, out status.Translation, never *ErrNeverRun) (status.Translation, error) {
	left, damage, err := r.checkpointsInstead(ctx, &out.Header, never)
	if err != nil {
		return out, err
	}
	out.Basis, out.Damage = status.BasisCheckpoints, damage
	of := left.Of(out.Group)
	if err := r.bound(ctx, &out.Header, &left, of); err != nil {
		return out, err
	}
	for _, c := range of {
		v := r.mirrorMaker.Judge(&left, c)
		if !v.HasPosition() {
			out.Without = append(out.Without, *r.checkpoint(&left, c, v))
			continue
		}
		out.Offsets = append(out.Offsets, status.Offset{
			Topic: c.Topic, Partition: c.Partition, Offset: int64(v.Target), Metadata: c.Metadata, Exact: v.IsExact(), Sentence: v.String(),
		})
	}
	return out, nil
}

// checkpoint is a checkpoint as a position with a verdict.
func (r *Reader) checkpoint(left *mirrormaker.Left, c mm2.Checkpoint, v translate.Verdict) *status.Position {
	p := position(r.mirrorMaker.SourceTopic(c.Topic), c.Partition, c.Upstream, v)
	p.RemoteTopic, p.Metadata, p.AsOf = c.Topic, c.Metadata, left.Written(c)
	return p
}

// groupsMM2 is Groups where only a MirrorMaker 2 has been: the positions are those of its checkpoints, completed with
// what source and target say about the groups now.
func (r *Reader) groupsMM2(ctx context.Context, out status.Groups, names []string, never *ErrNeverRun) (status.Groups, error) {
	left, damage, err := r.checkpointsInstead(ctx, &out.Header, never)
	if err != nil {
		return out, err
	}
	out.Basis, out.Damage = status.BasisCheckpoints, damage
	of := slices.DeleteFunc(left.All(), func(c mm2.Checkpoint) bool { return len(names) > 0 && !slices.Contains(names, c.Group) })
	b := &gathered{reader: r, at: out.At, decided: r.decided(ctx, &out.Header), missing: "MirrorMaker 2 has written no checkpoint of this position", groups: map[string]map[partition.ID]*status.Position{}, denied: map[string]string{}}
	for _, name := range names {
		b.group(name)
	}
	b.addMoved(b.decided, names)
	take := func(c mm2.Checkpoint, v translate.Verdict) {
		p, at := r.checkpoint(&left, c, v), r.mirrorMaker.SourceOf(c)
		if was := b.group(c.Group)[at]; was != nil {
			p.Now, p.Gone = was.Now, was.Gone // what the source said about it
		}
		b.group(c.Group)[at] = p
	}
	for _, c := range of {
		take(c, translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition})
	}
	states := r.sourceGroups(ctx, &out, b, names)
	if err := r.bound(ctx, &out.Header, &left, of); err != nil {
		return out, err
	}
	for _, c := range of {
		take(c, r.mirrorMaker.Judge(&left, c))
	}
	on, err := r.onTarget(ctx, &out.Header, b)
	if err != nil {
		return out, err
	}
	if out.Source.Reached {
		if err := b.sourceEnds(ctx, &out.Header); err != nil {
			return out, err
		}
	}
	out.Groups, out.NotWritten = b.list(states, on, names, nil), r.notWritten()
	return out, nil
}

// lookupMM2 is Lookup where only a MirrorMaker 2 has mirrored the partition; own is why Tidemark has no answer.
func (r *Reader) lookupMM2(ctx context.Context, out status.Lookup, q Query, own error) (status.Lookup, error) {
	mm, never := &r.mirrorMaker, (*ErrNeverRun)(nil)
	if mm.SyncsOnSource && !r.openSource(ctx, &out.Header) {
		if errors.As(own, &never) {
			return out, fmt.Errorf("%w; MirrorMaker 2's %w", own, r.noSyncs(&out.Header))
		}
		return out, own // this flow is Tidemark's; that there was a MirrorMaker 2 would be a guess
	}
	asked := partition.ID{Topic: q.Topic, Partition: q.Partition}
	named := asked // as offset syncs name it
	if q.Reverse {
		named.Topic = mm.SourceTopic(q.Topic)
	}
	history := mirrormaker.History{}
	is, err := mm.Read(ctx, mm.OffsetSyncs(), history.Take(func(p partition.ID) bool { return p == asked || p == named }))
	out.Notes, out.Trouble = append(out.Notes, is.Notes...), append(out.Trouble, is.Trouble...)
	if err != nil {
		return out, err
	}
	// A source topic can be called as the remote topic of another one is. As in mapFor the name is then taken for one on
	// the target; where another separator made it than that of these syncs it is not.
	if history[named] != nil && mm.RemoteTopic(named.Topic, is.Name) == q.Topic {
		asked = named
	}
	s := history[asked]
	if s == nil {
		if errors.As(own, &never) {
			_, own = instead(never, fmt.Sprintf("an offset sync of %s in %s", named, is.Name), "", false)
		}
		return out, own
	}
	note := fmt.Sprintf("%v: shown is what MirrorMaker 2 left, its offset syncs in %s", own, is.Name)
	if errors.As(own, &never) {
		note, _ = instead(never, is.Name, "its offset syncs", true)
	}
	out.Notes = append([]string{note}, out.Notes...)
	out.Basis, out.Topic, out.RemoteTopic, out.AsOf = status.BasisOffsetSyncs, asked.Topic, mm.RemoteTopic(asked.Topic, is.Name), s.At
	out.MirroredTo = status.Unknown
	remote := partition.ID{Topic: out.RemoteTopic, Partition: q.Partition}
	logs, err := mm.Logs(ctx, remote)
	if err != nil {
		return out, err
	}
	if q.Reverse {
		out.TargetAt = q.Offset
		out.SourceAt, out.Exact, out.Sentence = s.Back(q.Offset, remote, logs[remote])
		return out, nil
	}
	out.SourceAt = q.Offset
	out.Verdict, out.Sentence = mm.There(s, q.Offset, remote, logs[remote])
	if v := out.Verdict; v != nil {
		out.Exact = v.IsExact()
		if v.HasPosition() {
			out.TargetAt = int64(v.Target)
		}
	}
	return out, nil
}
