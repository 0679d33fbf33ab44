package inspect

import (
	"context"
	"fmt"
	"slices"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// A group that reads a topic of the source which came from the target, as with flows in both directions, reads the original
// there once it has moved. Its place in that the map of the flow back knows, whose ledger lies on the source.

// returning are the positions of groups on topics that came from the target, by the original there.
type returning struct {
	group string
	p     *status.Position
	home  partition.ID // on the target
}

// original is the topic of the target that a topic of the source is the copy of.
func (r *Reader) original(topic string) (string, bool) {
	if r.topics.Select(topic).Rule != mm2.RuleCycle {
		return "", false
	}
	if alias, ok := r.policy.TopicSource(topic); !ok || alias != r.flow.TargetAlias {
		return "", false // it came over a third cluster
	}
	return r.policy.UpstreamTopic(topic)
}

// back completes positions on topics that came from the target with where the group goes on there, and what it would read again.
func (r *Reader) back(ctx context.Context, h *status.Header, b *gathered, on target) error {
	var all []returning
	for group, positions := range b.groups {
		for tp, p := range positions {
			name, ok := r.original(tp.Topic)
			if ok && max(p.Now, p.Committed) >= 0 {
				all = append(all, returning{group, p, partition.ID{Topic: name, Partition: tp.Partition}})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	var homes []partition.ID
	for _, w := range all {
		homes = append(homes, w.home)
	}
	slices.SortFunc(homes, partition.ID.Compare)
	homes = slices.Compact(homes)
	start, _, err := r.target.ListOffsets(ctx, homes, kafka.Earliest, false) // one that is not told has no such topic any more
	if err != nil {
		return err
	}
	contents, lanes, why := r.ledgerBack(ctx, h, homes)
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, w := range all {
		from, there := start[w.home]
		if !there {
			continue // nothing to read again
		}
		out := &status.Back{Topic: w.home.Topic, Place: status.Unknown, OnTarget: status.Unknown, Again: status.Unknown, Why: why}
		if c, ok := on.positions[w.group][w.home]; ok {
			out.OnTarget = c.Offset
		}
		if why == "" {
			c := contents[ledger.LaneOf(w.home.Topic, w.home.Partition, lanes)]
			out.Place, out.Exact, out.Why = placeBack(c, w.home, w.p)
		}
		if out.Place != status.Unknown {
			out.Again = max(0, out.Place-max(from, out.OnTarget))
		}
		w.p.Back = out
	}
	return nil
}

// placeBack is where a position on the copy is on the original, by the map of the flow that made the copy.
func placeBack(c *ledger.Contents, home partition.ID, p *status.Position) (place int64, exact bool, why string) {
	if c == nil || !c.Heads[home].Mirrored() {
		return status.Unknown, false, "the flow back knows no such partition"
	}
	m, err := c.Map(home)
	if err != nil {
		return status.Unknown, false, err.Error()
	}
	now := p.Now
	if now == status.Unknown {
		now = p.Committed
	}
	at, kind := m.Source(offsetmap.TargetOffset(now))
	if _, exact = backwards(kind, int64(at)); !exact && kind != offsetmap.Bounded && kind != offsetmap.BeyondMirrored {
		return status.Unknown, false, "the map of the flow back does not reach there"
	}
	return int64(at), exact, ""
}

// ledgerBack reads what the ledger of the flow back has about partitions of the target. It is on the source, so it can be that it
// cannot be read; why says so.
func (r *Reader) ledgerBack(ctx context.Context, h *status.Header, homes []partition.ID) (contents map[int32]*ledger.Contents, lanes int32, why string) {
	name := ledger.TopicName(r.flow.Target)
	if !h.Source.Reached {
		return nil, 0, fmt.Sprintf("%s is on %s, which does not answer", name, r.flow.Source)
	}
	contents = map[int32]*ledger.Contents{}
	err := r.askSource(ctx, func(ctx context.Context) error {
		t, ok, err := r.source.Topic(ctx, name)
		if err != nil || !ok {
			why = fmt.Sprintf("%s has no %s", r.flow.Source, name)
			return err
		}
		lanes = t.Partitions
		var wanted []int32
		for _, p := range homes {
			wanted = append(wanted, ledger.LaneOf(p.Topic, p.Partition, lanes))
		}
		slices.Sort(wanted)
		into, take := ledgers()
		failed, err := r.source.ReadAll(ctx, name, slices.Compact(wanted), r.progress, take)
		for _, one := range failed {
			err = one
		}
		contents = into
		return err
	})
	if err != nil {
		why = err.Error()
	}
	return contents, lanes, why
}
