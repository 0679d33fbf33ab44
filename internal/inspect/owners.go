package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/ledger"
	"tidemark/internal/status"
)

// owners says which worker has which lane now, by the lane group on the target. A worker that is joining has none yet.
func (r *Reader) owners(ctx context.Context) (map[int32]string, error) {
	group := "tidemark." + r.flow.Name().String()
	got, err := r.target.Admin().DescribeGroups(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("describe group %q on cluster %s: %w", group, r.flow.Target, err)
	}
	g := got[group]
	if errors.Is(g.Err, kerr.GroupIDNotFound) {
		return map[int32]string{}, nil // nobody ever ran the flow, or it is long ago
	}
	if g.Err != nil {
		return nil, fmt.Errorf("describe group %q on cluster %s: %w", group, r.flow.Target, g.Err)
	}
	out := map[int32]string{}
	for _, m := range g.Members {
		worker := m.ClientID + " at " + m.ClientHost
		if m.InstanceID != nil {
			worker += ", instance " + *m.InstanceID
		}
		assigned, ok := m.Assigned.AsConsumer()
		if !ok {
			continue
		}
		for _, t := range assigned.Topics {
			if t.Topic != r.ledger {
				continue
			}
			for _, n := range t.Partitions {
				out[n] = worker
			}
		}
	}
	return out, nil
}

// laneRows is one row for each lane. owners is nil where nobody could say who has them.
func laneRows(contents map[int32]*ledger.Contents, lanes int32, owners map[int32]string) []status.Lane {
	out := make([]status.Lane, lanes)
	for n := range lanes {
		l := status.Lane{Lane: n, State: status.LaneUnknown, Worker: owners[n], ProducerID: status.Unknown, Epoch: -1}
		switch {
		case owners == nil:
		case l.Worker != "":
			l.State = status.LaneOwned
		default:
			l.State = status.LaneFree
		}
		if c := contents[n]; c != nil {
			l.Partitions = len(c.Heads)
			if c.Claim != nil {
				l.Owner, l.ClaimedAt, l.Released = c.Claim.Owner, c.Claim.At.UTC(), c.Claim.Released
				l.ProducerID, l.Epoch = c.Claim.ProducerID, c.Claim.Epoch
			}
			if i := c.Reads(); i != ledger.IsolationUnknown {
				l.Isolation = i.String()
			}
		}
		out[n] = l
	}
	return out
}
