package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
)

// reads is what the flow reads of the source.
func (f *Flow) reads() ledger.Isolation {
	if f.Committed {
		return ledger.ReadCommitted
	}
	return ledger.ReadUncommitted
}

// sameReads refuses a lane in which owners who read with another isolation have left records beyond a head. Those are counted
// over the source's records, which are others now: where contents repeat, records would be lost or stand twice and nothing
// would tell. That the lane was released does not help: a partition that could not be opened, or that the flow did not name,
// has kept its tail. Counting over what they read was rejected: the ledger would have to say it of each partition's tail, in
// heads that former builds could not read.
func (f *Flow) sameReads(ctx context.Context, c *ledger.Contents) error {
	reads := c.Reads()
	if reads == ledger.IsolationUnknown || reads == f.reads() {
		return nil
	}
	for p, h := range c.Heads {
		if !h.Mirrored() {
			continue
		}
		m, err := c.Map(p)
		if err != nil {
			continue // the partition stops for that
		}
		to := partition.ID{Topic: h.RemoteTopic, Partition: p.Partition}
		landed, _, err := f.look(ctx, to, m.TargetEnd(), h.ProducerID)
		switch {
		case errors.Is(err, kafka.ErrNoTopic):
		case err != nil:
			return fmt.Errorf("isolation is %s in the file, it was %s; whether the former owner left records that only that can tell: %w", f.reads(), reads, err)
		case slices.ContainsFunc(landed, func(l lane.Landed) bool { return l.Ours }):
			return fmt.Errorf("isolation is %s in the file, and what the former owner wrote last to %s can only be told with %[3]s: set it to %[3]s, run until that partition goes on, end every worker with SIGTERM, and change it then",
				f.reads(), to, reads)
		}
	}
	return nil
}
