package inspect

import (
	"context"
	"slices"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

// groupsMM2 is Groups where only a MirrorMaker 2 has been: the positions are those of its checkpoints, completed with
// what source and target say about the groups now.
func (r *Reader) groupsMM2(ctx context.Context, out status.Groups, names []string, never *ErrNeverRun) (status.Groups, error) {
	l, err := r.checkpointsInstead(ctx, &out.Header, never)
	if err != nil {
		return out, err
	}
	out.Basis, out.Damage = status.BasisCheckpoints, l.damage
	of := slices.DeleteFunc(l.table.All(), func(c mm2.Checkpoint) bool { return len(names) > 0 && !slices.Contains(names, c.Group) })
	b := &gathered{reader: r, at: out.At, missing: "MirrorMaker 2 has written no checkpoint of this position", groups: map[string]map[partition.ID]*status.Position{}}
	for _, name := range names {
		b.group(name)
	}
	for _, c := range of {
		b.checkpoint(c, l.at[c], translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition})
	}
	states := r.sourceGroups(ctx, &out, b, names)
	if err := r.bounds(ctx, &out.Header, &l, of); err != nil {
		return out, err
	}
	for _, c := range of {
		b.checkpoint(c, l.at[c], r.judge(&l, c))
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
	out.Groups, out.NotWritten = b.list(states, on, names), r.notWritten()
	return out, nil
}

// checkpoint puts a checkpoint's position in, and keeps what the source said about it.
func (b *gathered) checkpoint(c mm2.Checkpoint, at status.Stored, v translate.Verdict) {
	topic := b.reader.sourceTopic(c.Topic)
	p := position(topic, c.Partition, c.Upstream, v)
	p.RemoteTopic, p.Metadata, p.AsOf = c.Topic, c.Metadata, at.Written
	tp := partition.ID{Topic: topic, Partition: c.Partition}
	if was := b.group(c.Group)[tp]; was != nil {
		p.Now = was.Now
	}
	b.group(c.Group)[tp] = p
}
