package engine

import (
	"context"
	"testing"
	"time"

	"tidemark/internal/kafka"
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

// TestNoMemberNoHurry: before it is a member a process waits for its next heartbeat like any other.
func TestNoMemberNoHurry(t *testing.T) {
	t.Parallel()
	cl, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: []string{"127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	looks := 0
	m := &members{lease: newLease(session), client: cl}
	m.lease.clock = func() time.Duration {
		looks++
		return kafka.Boottime()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*heartbeatEvery+heartbeatEvery/2)
	defer cancel()
	if err := m.heartbeats(ctx); err != nil {
		t.Error(err)
	}
	if looks > 20 {
		t.Errorf("%d looks at the clock in two and a half rounds", looks)
	}
}
