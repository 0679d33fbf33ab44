package e2e

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
)

// ownPair makes two clusters of the test's own the source and the target of a flow that has not started yet.
func (f *flow) ownPair(opts testcluster.RealOptions) {
	f.tb.Helper()
	var pair [2]*testcluster.Real
	var g errgroup.Group
	for i, name := range []string{"source", "target"} {
		o := opts
		o.Name = f.alias + "-" + name
		g.Go(func() (err error) {
			pair[i], err = testcluster.StartReal(f.tb.Context(), o)
			return err
		})
	}
	err := g.Wait()
	f.tb.Cleanup(func() {
		for _, r := range pair {
			if r != nil {
				_ = r.Stop()
			}
		}
	})
	if err != nil {
		f.tb.Fatal(err)
	}
	f.awayFrom(pair[0])
	f.toward(pair[1])
}

// TestTransactionVersion0 runs between clusters that were formatted with transaction.version=0, as those are that were
// upgraded from Kafka 3: markers carry no epoch of their own there.
func TestTransactionVersion0(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "tv0", `tv-.*`, `tv0g.*`, "")
	f.ownPair(testcluster.RealOptions{HeapMB: 384, Features: map[string]int{"transaction.version": 0}})
	f.createLoadTopics("tv-")
	stop := f.load("tv-")
	for i := range 3 {
		w := f.process("--instance-id", "one")
		f.remoteGrows("tv-plain", 500)
		if i == 0 {
			f.anywhere(1, 10, "tv-plain", "tv-tx", "tv-old")
		}
		_ = w.end(syscall.SIGKILL, 10*time.Second)
	}
	w := f.process("--instance-id", "one")
	f.remoteGrows("tv-plain", 500)
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	stop()
	w = f.process("--instance-id", "one")
	f.wellAtLast("tv-", w)
}
