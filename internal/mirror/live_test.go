package mirror

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// A worker can say at any time what it is doing: which partitions are mirrored, which are not and why, and that a lane waits
// for its ledger.
func TestLive(t *testing.T) {
	r := newRig(t, 2)
	r.both("orders", 4)
	ps := r.partitions("orders")
	one := partition.ID{Topic: "orders", Partition: 1}
	ps[one] = Partition{TP: one, Remote: "A.orders", NotYet: "the remote topic has one partition"}
	r.produce("orders", 0, 200)
	run := r.start(ps)
	var live status.Live
	r.until("three partitions to be mirrored, and one to be stopped", func() (bool, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		live = run.flow.Live(ctx)
		states := map[string]int{}
		var through int64
		for _, l := range live.Lanes {
			for _, p := range l.Partitions {
				states[p.State]++
				through += max(p.MirroredTo, 0)
			}
		}
		return states["live"] == 3 && states["stopped"] == 1 && through == live.Records && live.Records > 0, live.Text()
	})
	for _, part := range []string{"flow A->B, this worker: 2 of 2 lanes, 3 partitions mirrored", "orders", "stopped", "the remote topic has one partition"} {
		if text := live.Text(); !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
