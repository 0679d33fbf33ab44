package mirror

import (
	"context"
	"errors"
	"fmt"

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

// readTails gives a take-over what stands on the target beyond each head. A partition whose map cannot be loaded stops for
// that, and a remote topic that is gone holds nothing.
func (f *Flow) readTails(ctx context.Context, c *ledger.Contents, t *lane.Takeover) error {
	for p, h := range c.Heads {
		if !h.Mirrored() {
			continue
		}
		m, err := c.Map(p)
		if err != nil {
			continue
		}
		to := partition.ID{Topic: h.RemoteTopic, Partition: p.Partition}
		landed, _, err := f.look(ctx, to, m.TargetEnd(), h.ProducerID)
		switch {
		case errors.Is(err, kafka.ErrNoTopic):
		case err != nil:
			return fmt.Errorf("isolation is %s in the file, it was %s; whether the former owner left records that only that can tell: %w", f.reads(), c.Reads(), err)
		default:
			if err := t.Tail(to.String(), landed); err != nil {
				return err
			}
		}
	}
	return nil
}
