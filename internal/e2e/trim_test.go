package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// TestTrimUnderLoad deletes the source's records in front of the mirror again and again while batches are on their way to
// the target. Each time a partition stops, is fenced and opened again. It must go on every time, with nothing twice and in
// order; what was deleted before it was read is missing, that is all.
func TestTrimUnderLoad(t *testing.T) {
	t.Parallel()
	const parts, last = 12, int64(1) << 40
	f := newFlow(t, "trim", `trim-.*`, `none`, "")
	f.topic("trim-a", parts, nil)
	conn := suite.source.ClientOpts()
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		for i := int64(0); ctx.Err() == nil; i++ {
			l := testcluster.Load{Topic: "trim-a", Partitions: parts, First: i * 12000, Count: 12000, BatchBytes: 8000}
			if err := testcluster.Produce(context.WithoutCancel(ctx), conn, l); err != nil {
				return err
			}
		}
		return nil
	})
	w := f.process()
	f.remoteGrows("trim-a", 500)
	cl := suite.source.Client(t)
	for range 25 {
		ends, err := testcluster.Ends(t.Context(), cl, "trim-a", testcluster.ReadUncommitted)
		if err != nil {
			t.Fatal(err)
		}
		for p, end := range ends {
			if err := testcluster.Trim(t.Context(), conn, "trim-a", p, end); err != nil {
				t.Fatal(err)
			}
		}
		pause.For(t.Context(), 200*time.Millisecond)
	}
	cancel()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	f.produce(testcluster.Load{Topic: "trim-a", Partitions: parts, First: last, Count: parts})
	var recs []testcluster.Rec
	tcl := suite.target.Client(t)
	f.until(30*time.Second, "the last record of every partition", func(ctx context.Context) (bool, string) {
		var err error
		if recs, err = testcluster.Read(ctx, tcl, f.remote("trim-a"), testcluster.ReadCommitted); err != nil {
			return false, err.Error()
		}
		there := map[int32]bool{}
		for _, r := range recs {
			if seq, ok := r.Seq(); ok && seq >= last {
				there[r.Partition] = true
			}
		}
		return len(there) == parts, fmt.Sprintf("in %v of %d", there, parts)
	})
	before := map[int32]int64{}
	for _, r := range recs {
		seq, ok := r.Seq()
		if at, some := before[r.Partition]; !ok || some && seq <= at {
			t.Fatalf("target offset %d of partition %d holds record %d behind %d", r.Offset, r.Partition, seq, at)
		}
		before[r.Partition] = seq
	}
	f.healthy(60 * time.Second)
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}
