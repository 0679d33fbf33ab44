package e2e

import (
	"syscall"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

// TestBrokerRestarts kills the source's and the target's broker under load, each twice, with the mirror running on.
func TestBrokerRestarts(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "restart", `rs-.*`, `none`, "")
	f.ownPair(testcluster.RealOptions{HeapMB: 384})
	f.createLoadTopics("rs-")
	stop := f.load("rs-")
	w := f.process()
	f.remoteGrows("rs-plain", 500)
	for _, r := range []*testcluster.Real{f.reads(), f.writes(), f.reads(), f.writes()} {
		if err := r.Kill(0); err != nil {
			t.Fatal(err)
		}
		if err := r.Restart(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		f.remoteGrows("rs-plain", 500)
	}
	stop()
	f.faultless("rs-plain", "rs-tx", "rs-old")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}
