package engine

import (
	"testing"
	"time"
)

// A member that is asked for in one rebalance after another joins them all, and every heartbeat is answered, none of them
// in the milliseconds in between in which the answer would be 0. One that hears of the same rebalance for too long loses its
// lease before the coordinator can have given its lanes to others.
func TestLeaseThroughRebalances(t *testing.T) {
	now := time.Second
	l := newLease(session)
	l.clock = func() time.Duration { return now }
	l.renew(now, 1, false)
	through := func(generation int32, d time.Duration) (valid bool) {
		for until := now + d; now < until; now += hearEvery {
			l.renew(now, generation, true)
			if !l.Valid() {
				return false
			}
		}
		return true
	}
	if !through(1, 15*time.Second) || !through(2, 15*time.Second) || !through(3, 15*time.Second) {
		t.Errorf("no lease after %v of rebalances, although the last heartbeat was answered just now", now)
	}
	began := now // generation 3 is over at the latest now: the last answer to it was sent before
	if through(4, 60*time.Second) {
		t.Error("a rebalance of a minute leaves the lease valid")
	}
	if over := now - began; over >= rebalanceTimeout {
		t.Errorf("the lease ran out %v after the rebalance can have begun, whose time-out is %v", over, rebalanceTimeout)
	}
	l.renew(now, 5, false)
	if !l.Valid() {
		t.Error("no lease after an answer 0")
	}
}
