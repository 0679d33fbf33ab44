package engine

import (
	"sync"
	"time"

	"tidemark/internal/kafka"
)

// leaseMargin is taken off the session time-out: a write that is handed over in the last moment of a lease still has to
// reach the broker before another member can own the lane.
const leaseMargin = 2 * time.Second

// rebalanceGrace is how long answers that say "rebalance in progress" keep the lease alive. The coordinator still
// counts us as a member then, but only until the rebalance times out; a lease that was renewed last at the end of the
// grace must have run out by then too.
const rebalanceGrace = rebalanceTimeout - session

// lease is valid while the group's coordinator is sure to count this process as a member. Its age counts from the
// sending of the last good heartbeat, not from its answer, and by a clock that goes on while the machine sleeps: a
// laptop or a paused virtual machine wakes up with an expired lease.
type lease struct {
	session time.Duration
	clock   func() time.Duration // kafka.Boottime, or a test's
	asked   chan struct{}        // a lane waits for an answer: the next heartbeat is due at once

	mu         sync.Mutex
	sent       time.Duration // of the last heartbeat that was answered well; 0 none
	settled    time.Duration // of the last one that surely came before the rebalance that goes on, if one does
	heard      time.Duration // of the last one that was answered as a member of generation
	generation int32
	confirms   int // how many were answered with code 0
}

func newLease(session time.Duration) *lease {
	return &lease{session: session, clock: kafka.Boottime, asked: make(chan struct{}, 1)}
}

// Valid says whether a write may leave now.
func (l *lease) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent != 0 && l.clock()-l.sent < l.session-leaseMargin
}

// renew notes an answer to a heartbeat that was sent at a time of the clock by a member of a generation. Any good answer
// to a newer generation says that the rebalance before it ended with us in the group: what goes on now began after the last
// answer to the older one. Waiting for code 0 alone was rejected: while members come and go all the time, the group is
// without a rebalance for milliseconds only, and a healthy worker lost its lease.
func (l *lease) renew(sent time.Duration, generation int32, rebalancing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation != l.generation {
		l.settled, l.generation = max(l.settled, l.heard), generation
	}
	l.heard = max(l.heard, sent)
	switch {
	case !rebalancing:
		l.sent, l.settled = max(sent, l.sent), max(sent, l.settled)
		l.confirms++
	case sent-l.settled < rebalanceGrace:
		l.sent = max(sent, l.sent)
	}
}

// end makes the lease invalid at once.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = 0
}

// ask has a heartbeat sent without waiting for its time. Whoever asks before it is sent shares it.
func (l *lease) ask() {
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

func (l *lease) confirmed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.confirms
}
