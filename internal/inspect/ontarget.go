package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/verdicts"
)

// target is what the target knows about groups.
type target struct {
	states    map[string]kafka.Group
	positions map[string]map[partition.ID]kafka.Committed
	ends      map[partition.ID]int64 // log ends of partitions that groups have committed on
}

// onTarget asks the target about all groups that were gathered.
func (r *Reader) onTarget(ctx context.Context, h *status.Header, b *gathered) (target, error) {
	remote := map[partition.ID]bool{}
	b.each(func(tp partition.ID, p *status.Position) {
		if p.RemoteTopic != "" {
			remote[partition.ID{Topic: p.RemoteTopic, Partition: tp.Partition}] = true
		}
	})
	return r.groupsOnTarget(ctx, h, slices.Sorted(maps.Keys(b.groups)), func(tp partition.ID) bool { return remote[tp] })
}

// groupsOnTarget asks the target for groups' states and commits, and for the log ends of those partitions that they have
// committed on and that count (nil: all). What it does not tell is a note: the verdicts stand.
func (r *Reader) groupsOnTarget(ctx context.Context, h *status.Header, groups []string, counts func(partition.ID) bool) (target, error) {
	out := target{states: map[string]kafka.Group{}}
	if len(groups) == 0 {
		return out, nil
	}
	listed, err := r.target.Groups(ctx)
	if err != nil {
		h.Notes = append(h.Notes, "states of groups on the target: "+err.Error())
	}
	for _, g := range listed {
		out.states[g.ID] = g
	}
	var failed map[string]error
	out.positions, failed, err = r.target.FetchPositions(ctx, groups, false)
	if err != nil {
		h.Notes = append(h.Notes, "positions on the target: "+err.Error())
		return out, ctx.Err()
	}
	for _, g := range slices.Sorted(maps.Keys(failed)) {
		h.Notes = append(h.Notes, fmt.Sprintf("positions of group %q on the target: %v", g, failed[g]))
	}
	asked := map[partition.ID]bool{}
	for _, committed := range out.positions {
		for tp := range committed {
			if counts == nil || counts(tp) {
				asked[tp] = true
			}
		}
	}
	tps := slices.SortedFunc(maps.Keys(asked), partition.ID.Compare)
	if len(tps) == 0 {
		return out, nil
	}
	// After the commits: in the other order a group that is at the end, and goes on, would look as if it was beyond it. A
	// partition that tells no end is one whose remote topic is gone, which its verdict says, or of which nobody knows.
	if out.ends, _, err = r.target.ListOffsets(ctx, tps, kafka.Latest, false); err != nil {
		h.Notes = append(h.Notes, "log ends on the target: "+err.Error())
	}
	return out, ctx.Err()
}

// fill completes a group's position with its commit on the target and the end of the log there.
func (t target) fill(group string, p *status.Position) {
	remote := partition.ID{Topic: p.RemoteTopic, Partition: p.Partition}
	c, ok := t.positions[group][remote]
	if !ok || p.RemoteTopic == "" {
		return
	}
	p.OnTarget = c.Offset
	if end, ok := t.ends[remote]; ok {
		p.TargetEnd = end
	}
}

// deleted are the topics that the source has no more, of those whose copies groups have committed on. Deleting a topic deletes the
// commits on it, but not those that we have written on its copy.
func (r *Reader) deleted(ctx context.Context, h *status.Header, on target) (map[string]bool, error) {
	names := map[string]bool{}
	for _, committed := range on.positions {
		for tp := range committed {
			if name, remote := r.upstream(tp.Topic); remote {
				names[name] = true
			}
		}
	}
	if len(names) == 0 || !h.Source.Reached {
		return nil, nil
	}
	out := map[string]bool{}
	err := r.askSource(ctx, func(ctx context.Context) error {
		described, err := r.source.DescribeTopics(ctx, slices.Sorted(maps.Keys(names))...)
		for _, t := range described {
			out[t.Name] = errors.Is(t.Err, kafka.ErrNoTopic)
		}
		return err
	})
	r.sourceAnswered(h, err)
	return out, ctx.Err()
}

// targetOnly are a group's commits on remote topics of the flow that none of its positions is about.
func (b *gathered) targetOnly(committed map[partition.ID]kafka.Committed, positions map[partition.ID]*status.Position, deleted map[string]bool) []status.TargetOnly {
	known := map[partition.ID]bool{}
	for tp, p := range positions {
		known[partition.ID{Topic: p.RemoteTopic, Partition: tp.Partition}] = true
	}
	var out []status.TargetOnly
	for _, tp := range slices.SortedFunc(maps.Keys(committed), partition.ID.Compare) {
		name, remote := b.reader.upstream(tp.Topic)
		_, has := positions[partition.ID{Topic: name, Partition: tp.Partition}]
		if remote && !known[tp] && !has && !deleted[name] && b.reader.topics.Select(name).Mirrored {
			out = append(out, status.TargetOnly{RemoteTopic: tp.Topic, Partition: tp.Partition, OnTarget: committed[tp].Offset})
		}
	}
	return out
}

// atHome says whether some of a group's commits on the target are on topics that the flow back mirrors.
func (r *Reader) atHome(committed map[partition.ID]kafka.Committed) bool {
	if r.topics.Back == nil {
		return false
	}
	for tp := range committed {
		if _, remote := r.upstream(tp.Topic); !remote && r.topics.Back.Select(tp.Topic).Mirrored {
			return true
		}
	}
	return false
}

// upstream is the source topic that a remote topic's name stands for.
func (r *Reader) upstream(remote string) (string, bool) {
	alias, ok := r.policy.TopicSource(remote)
	if !ok && r.flow.SourceAlias == "" && r.flow.Policy == config.PolicyIdentity && !r.policy.IsHeartbeatsTopic(remote) {
		return remote, true // a policy that keeps names says nothing about where they come from without an alias
	}
	if !ok || alias != r.flow.SourceAlias {
		return "", false
	}
	return r.policy.UpstreamTopic(remote)
}

// again reads verdicts a second time where the target's commit is ahead of them: a run may have carried a group on
// between the two looks. Its verdict is written before its commit, so the second look shows it.
func (r *Reader) again(ctx context.Context, h *status.Header, b *gathered, on target) error {
	var ahead []string
	for group, positions := range b.groups {
		for _, p := range positions {
			c, ok := on.positions[group][partition.ID{Topic: p.RemoteTopic, Partition: p.Partition}]
			if ok && p.Target != status.Unknown && c.Offset > p.Target {
				ahead = append(ahead, group)
				break
			}
		}
	}
	if len(ahead) == 0 {
		return nil
	}
	found, err := r.readRows(ctx, ahead)
	if err != nil {
		return err
	}
	r.current(ctx, h, found.by)
	forgetEnded(found.by, b.decided)
	for key, row := range found.by {
		if key.Partition == verdicts.WholeGroup {
			continue
		}
		was := b.group(key.Group)[partition.ID{Topic: key.Topic, Partition: key.Partition}]
		if was == nil || was.AsOf.Equal(row.At) {
			continue
		}
		b.add(key, row)
		is := b.group(key.Group)[partition.ID{Topic: key.Topic, Partition: key.Partition}]
		is.Now, is.Gone = was.Now, was.Gone
	}
	return nil
}

// noWorker is that no worker runs, so that no verdict is written; empty where one does, or where nobody could say.
func (r *Reader) noWorker(ctx context.Context, h *status.Header, lanes int32) string {
	owners, err := r.owners(ctx)
	switch {
	case err != nil:
		h.Notes = append(h.Notes, "who owns the lanes now is not known: "+err.Error())
		return ""
	case len(owners.owner) > 0:
		return ""
	}
	return status.NoWorker(int(lanes))
}

// noVerdict is why a position that the source has can be without a verdict.
func (r *Reader) noVerdict(noWorker string) string {
	if noWorker != "" {
		return "no lane has written a verdict about this position, and no worker runs"
	}
	if !r.flow.RefreshTopics {
		return "no lane has written a verdict about this position; " + r.seen()
	}
	return "no lane has written a verdict about this position; a run does within seconds"
}

// ownCommits completes a translation with what the group has committed on the target itself. That was asked before the
// verdicts were read: a run writes a verdict before the commit that it makes of it, so a commit that is ahead of them all
// is the group's own.
func ownCommits(t *status.Translation, on target) {
	t.TargetState = on.states[t.Group].State
	for i := range t.Offsets {
		o := &t.Offsets[i]
		tp := partition.ID{Topic: o.Topic, Partition: o.Partition}
		o.OnTarget, o.TargetEnd = status.Unknown, status.Unknown
		if c, ok := on.positions[t.Group][tp]; ok {
			o.OnTarget = c.Offset
		}
		if end, ok := on.ends[tp]; ok {
			o.TargetEnd = end
		}
	}
}
