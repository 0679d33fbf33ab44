package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/offsetmap"
)

// Return gives the places on the source of what a group has committed on remote topics of the flow: where it goes on when it moves
// back. Only the target is read.
func (r *Reader) Return(ctx context.Context, group string) (status.Return, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Return{}, err
	}
	defer cancel()
	out := status.Return{Header: r.header(), Group: group, Offsets: []status.Homeward{}}
	lanes, err := r.lanes(ctx, r.ledger)
	if err != nil {
		return out, err
	}
	on, err := r.groupsOnTarget(ctx, &out.Header, []string{group}, nil)
	if err != nil {
		return out, err
	}
	out.TargetState = on.states[group].State
	remote := map[partition.ID]partition.ID{} // by source partition
	var wanted []int32
	for tp := range on.positions[group] {
		if name, ok := r.sourceOf(tp.Topic); ok {
			p := partition.ID{Topic: name, Partition: tp.Partition}
			remote[p] = tp
			wanted = append(wanted, ledger.LaneOf(p.Topic, p.Partition, lanes))
		}
	}
	slices.Sort(wanted)
	contents, trouble, err := r.readLedger(ctx, slices.Compact(wanted), nil)
	if err != nil {
		return out, err
	}
	out.Trouble = trouble
	var names []string
	for _, tp := range remote {
		names = append(names, tp.Topic)
	}
	slices.Sort(names)
	topics := r.remoteTopics(ctx, &out.Header, slices.Compact(names))
	for _, p := range slices.SortedFunc(maps.Keys(remote), partition.ID.Compare) {
		tp := remote[p]
		c := contents[ledger.LaneOf(p.Topic, p.Partition, lanes)]
		if !r.keepsNames() || c != nil && c.Heads[p].RemoteTopic == tp.Topic { // with kept names a topic can be anybody's
			out.Offsets = append(out.Offsets, homeward(c, topics, p, tp, on.positions[group][tp].Offset))
		}
	}
	return out, nil
}

// sourceOf is the source topic that a topic of the target can be the copy of.
func (r *Reader) sourceOf(topic string) (string, bool) {
	if r.keepsNames() {
		return topic, true
	}
	return r.upstream(topic)
}

// keepsNames says whether remote topics are called as those of the source.
func (r *Reader) keepsNames() bool { return r.policy.RemoteTopic(r.flow.SourceAlias, "t") == "t" }

// homeward is the place on the source of one committed offset of the target.
func homeward(c *ledger.Contents, topics remoteTopics, p, remote partition.ID, committed int64) status.Homeward {
	out := status.Homeward{Topic: p.Topic, Partition: p.Partition, RemoteTopic: remote.Topic, OnTarget: committed, Offset: status.Unknown}
	if c == nil || !c.Heads[p].Mirrored() {
		out.Sentence = "the ledger has no offset map of the partition"
		return out
	}
	m, err := c.Map(p)
	if err != nil {
		out.Sentence = err.Error()
		return out
	}
	if v, lost := topics.lost(remote.Topic, m.Origin().TargetTopicID); lost {
		out.Sentence = v.String()
		return out
	}
	at, kind := m.Source(offsetmap.TargetOffset(committed))
	out.Offset = int64(at)
	out.Sentence, out.Exact = backwards(kind, out.Offset)
	if missing := len(m.Missing()); missing > 0 && !out.Exact {
		out.Sentence += fmt.Sprintf(" (%d blocks of the map are missing)", missing)
	}
	out.AsOf = c.Heads[p].At.UTC()
	return out
}
