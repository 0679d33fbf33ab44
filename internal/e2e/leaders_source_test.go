package e2e

import (
	"syscall"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

// TestSourceLeadersMove mirrors from a cluster of three brokers while every leader and group coordinator moves again and
// again, a broker is killed and starts again, and the mirror itself is killed.
func TestSourceLeadersMove(t *testing.T) {
	source := three(t)
	between(t, source, suite.target)
	f := newFlow(t, "slead", `sl-.*`, `sleadg.*`, "")
	f.createLoadTopics("sl-")
	stop := f.load("sl-")
	w := f.process()
	f.remoteGrows("sl-plain", 500)
	f.anywhere(1, 10, "sl-plain", "sl-tx", "sl-old")
	for range 2 {
		f.moveLeaders(source)
		f.remoteGrows("sl-plain", 500)
	}
	if err := source.Kill(0); err != nil {
		t.Fatal(err)
	}
	f.remoteGrows("sl-plain", 500)
	if err := source.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	f.moveLeaders(source)
	f.remoteGrows("sl-plain", 500)
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	f.moveLeaders(source)
	w = f.process("--instance-id", "one")
	f.remoteGrows("sl-plain", 500)
	stop()
	at := f.anywhere(2, 10, "sl-plain", "sl-tx", "sl-old")
	f.faultless("sl-plain", "sl-tx", "sl-old")
	f.exact(at, testcluster.ReadCommitted)
	f.healthy(60 * time.Second)
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}
