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

// DropReplicas takes one replica from every partition that has several, its
// leader or another one, and gives the way back to the assignment before.
func DropReplicas(ctx context.Context, cl *kadm.Client, leader bool) (back func(context.Context) error, err error) {
	meta, err := cl.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	fewer, before := kadm.AlterPartitionAssignmentsReq{}, kadm.AlterPartitionAssignmentsReq{}
	meta.Topics.EachPartition(func(p kadm.PartitionDetail) {
		if len(p.Replicas) < 2 {
			return
		}
		i := slices.Index(p.Replicas, p.Leader)
		if i < 0 || !leader {
			i = (i + 1) % len(p.Replicas)
		}
		before.Assign(p.Topic, p.Partition, p.Replicas)
		fewer.Assign(p.Topic, p.Partition, slices.Delete(slices.Clone(p.Replicas), i, i+1))
	})
	assign := func(ctx context.Context, to kadm.AlterPartitionAssignmentsReq) error {
		got, err := cl.AlterPartitionAssignments(ctx, to)
		if err != nil {
			return err
		}
		return got.Error()
	}
	return func(ctx context.Context) error { return assign(ctx, before) }, assign(ctx, fewer)
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
