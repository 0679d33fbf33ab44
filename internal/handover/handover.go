// Package handover writes the positions of groups that a plan names (internal/inspect makes it, status.Handover is it) to the
// target, for commands. A run writes positions by itself (internal/groups); this is for flows that leave it, once their source is
// given up.
//
// Invariants:
//
//	HO1: what is written is what was planned, with one request for each group.
//	HO2: a group whose plan is another one now than the one that was shown is not written.
package handover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// ErrChanged says that what was shown for a group does not hold any more.
var ErrChanged = errors.New("it is not as it was shown any more: look again")

// Result is how it went with one group.
type Result struct {
	Group   status.Handed
	Written int
	Err     error
}

// Write commits what is to be written of a plan, for the groups of which now says the same. The error is about the target as a whole.
func Write(ctx context.Context, cfg *config.Config, flow config.Flow, log *slog.Logger, shown, now status.Handover) ([]Result, error) {
	cluster, err := cfg.Client(flow.Name(), config.TargetAdmin).Kafka()
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c, err := kafka.Open(cluster, log)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out []Result
	for _, g := range shown.Groups {
		if g.Writes == 0 {
			continue
		}
		res := Result{Group: g}
		if same(g, now) {
			res.Written, res.Err = write(ctx, c, g)
		} else {
			res.Err = ErrChanged
		}
		out = append(out, res)
	}
	return out, nil
}

// same says whether a group is planned as it was shown.
func same(g status.Handed, now status.Handover) bool {
	return slices.ContainsFunc(now.Groups, func(n status.Handed) bool {
		return n.Group == g.Group && n.As == g.As && n.Writes == g.Writes && slices.EqualFunc(n.Positions, g.Positions, func(a, b status.HandedPosition) bool {
			return a.Topic == b.Topic && a.Partition == b.Partition && a.Offset == b.Offset && a.OnTarget == b.OnTarget && a.Write == b.Write && a.Metadata == b.Metadata
		})
	})
}

func write(ctx context.Context, c *kafka.Client, g status.Handed) (int, error) {
	pos := map[partition.ID]kafka.Committed{}
	for _, p := range g.Positions {
		if p.Write {
			pos[partition.ID{Topic: p.Topic, Partition: p.Partition}] = kafka.Committed{Offset: p.Offset, LeaderEpoch: -1, Metadata: p.Metadata}
		}
	}
	refused, err := c.CommitPositions(ctx, g.As, pos)
	if err != nil {
		return 0, err
	}
	if len(refused) > 0 {
		err = &kafka.ErrPartitions{What: fmt.Sprintf("commit positions of group %q", g.As), Cluster: c.Cluster().Alias, Partitions: refused}
	}
	return len(pos) - len(refused), err
}
