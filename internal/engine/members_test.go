package engine

import (
	"testing"
	"time"
)

// TestAskedHeartbeatIsNotWaitedFor: a lane that was just assigned is not held up by the heartbeats' pace.
func TestAskedHeartbeatIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	m := &members{lease: newLease(session)}
	for range 3 { // lanes that come together
		m.lease.ask()
	}
	began := time.Now()
	if !m.rest(t.Context(), time.Hour) {
		t.Fatal("it ended")
	}
	if m.rest(t.Context(), 50*time.Millisecond); time.Since(began) < 50*time.Millisecond {
		t.Error("one heartbeat did not do for all lanes that asked")
	}
}
