package e2e

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/testcluster"
)

// reaches waits until a group's position on the target is x, or one behind markers that a lane's next owner wrote in front of
// it: on a busy machine a session runs out now and then.
func (f *flow) reaches(group, topic string, partition int32, x int64) {
	f.tb.Helper()
	f.until(60*time.Second, fmt.Sprintf("%s at %d of %s-%d on the target", group, x, topic, partition), func(ctx context.Context) (bool, string) {
		at, err := f.position(ctx, group, topic, partition)
		if err == nil && at > x {
			err = f.lawful(ctx, spot{group, topic, partition}, at)
			return err == nil, fmt.Sprintf("at %d, %v", at, err)
		}
		return err == nil && at == x, fmt.Sprintf("at %d, %v", at, err)
	})
}

// lawful says what is wrong with a position on the target, by the records of both sides and what the group committed last on
// the source.
func (f *flow) lawful(ctx context.Context, s spot, at int64) error {
	scl, tcl := f.scl, f.tcl
	if scl == nil {
		scl, tcl = f.reads().Client(f.tb), f.targetClient()
	}
	committed, err := f.src.FetchOffsets(ctx, s.group)
	if err != nil {
		return err
	}
	o, ok := committed.Lookup(s.topic, s.partition)
	if !ok {
		return errors.New("it has no position on the source")
	}
	source, err := testcluster.ReadPartition(ctx, scl, s.topic, s.partition, testcluster.ReadCommitted)
	if err != nil {
		return err
	}
	target, err := testcluster.ReadPartition(ctx, tcl, f.remote(s.topic), s.partition, testcluster.ReadCommitted)
	if err != nil {
		return err
	}
	ends, err := testcluster.Ends(ctx, tcl, f.remote(s.topic), testcluster.ReadCommitted)
	if err != nil {
		return err
	}
	return testcluster.CheckPosition(source, o.At, target, at, ends[s.partition])
}
