//go:build unix

package testcluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// MoveLeaders makes another replica the leader of every partition, internal
// topics too: the coordinators of groups and transactions move with them.
func MoveLeaders(ctx context.Context, r *Real) error {
	cl, err := kgo.NewClient(r.ClientOpts()...)
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	meta, err := adm.Metadata(ctx)
	if err != nil {
		return err
	}
	order, elect := kadm.AlterPartitionAssignmentsReq{}, kadm.TopicsSet{}
	meta.Topics.EachPartition(func(p kadm.PartitionDetail) {
		if len(p.Replicas) < 2 {
			return
		}
		i := max(slices.Index(p.Replicas, p.Leader), 0)
		order.Assign(p.Topic, p.Partition, slices.Concat(p.Replicas[i+1:], p.Replicas[:i+1]))
		elect.Add(p.Topic, p.Partition)
	})
	if _, err := adm.AlterPartitionAssignments(ctx, order); err != nil {
		return err
	}
	_, err = adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, elect)
	return err
}

// Coordinator is the index of the broker that coordinates a group or, where
// group is empty, a transactional id.
func (r *Real) Coordinator(ctx context.Context, cl *kadm.Client, group, txn string) (int, error) {
	var got kadm.FindCoordinatorResponses
	name := group
	if group != "" {
		got = cl.FindGroupCoordinators(ctx, group)
	} else {
		name = txn
		got = cl.FindTxnCoordinators(ctx, txn)
	}
	c, ok := got[name]
	if !ok {
		return 0, fmt.Errorf("no answer about %s", name)
	}
	if c.Err != nil {
		return 0, c.Err
	}
	for i := range r.Brokers() {
		if r.NodeID(i) == c.NodeID {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown node %d", c.NodeID)
}
