package cli

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// seedMirrorMaker is what a MirrorMaker 2 alone could have left of a flow A->B:
//
//	orders-0   mirrored from source offset 100 on, which is target offset 0, with syncs of 100, 150 and 190
//	orders-1   its syncs were lost
//	gone-0     the remote topic was deleted
//
// Groups: billing on all of them, late without a checkpoint.
func seedMirrorMaker(ctx context.Context, source, target []kgo.Opt) error {
	compact := map[string]string{"cleanup.policy": "compact"}
	err := errors.Join(
		testcluster.CreateTopic(ctx, source, "orders", 2, nil),
		testcluster.CreateTopic(ctx, source, "mm2-offset-syncs.B.internal", 1, compact),
		testcluster.CreateTopic(ctx, target, "A.orders", 2, nil),
		testcluster.CreateTopic(ctx, target, "A.checkpoints.internal", 1, compact),
		produceNumbers(ctx, source, "orders", 0, 200),
		produceNumbers(ctx, source, "orders", 1, 20),
		produceNumbers(ctx, target, "A.orders", 0, 100),
		produceNumbers(ctx, target, "A.orders", 1, 20))
	if err != nil {
		return err
	}
	sync := func(up, down int64) *kgo.Record {
		return record(mm2.OffsetSync{Topic: "orders", Upstream: up, Downstream: down})
	}
	checkpoint := func(topic string, partition int32, up, down int64, note string) *kgo.Record {
		return record(mm2.Checkpoint{Group: "billing", Topic: topic, Partition: partition, Upstream: up, Downstream: down, Metadata: note})
	}
	err = errors.Join(
		put(ctx, source, "mm2-offset-syncs.B.internal", sync(100, 0), sync(150, 50), sync(190, 90)),
		put(ctx, target, "A.checkpoints.internal",
			checkpoint("A.orders", 0, 160, 51, "m1"), checkpoint("A.orders", 0, 170, 51, "m1"),
			checkpoint("A.orders", 1, 12, 3, ""), checkpoint("A.gone", 0, 5, 5, "")))
	if err != nil {
		return err
	}
	cl, err := client(source)
	if err != nil {
		return err
	}
	defer cl.Close()
	for group, at := range map[string]int64{"billing": 180, "late": 7} {
		o := kadm.Offsets{}
		o.AddOffset("orders", 0, at, -1)
		if err := kadm.NewClient(cl).CommitAllOffsets(ctx, group, o); err != nil {
			return err
		}
	}
	return nil
}
