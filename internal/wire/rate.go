package wire

import (
	"context"
	"sync"
	"time"
)

// Rate bounds how many bytes of records a second all fetchers that share it read. A nil one, and the zero value, bound nothing.
//
// What has come is a debt: the next fetch is sent when it is paid. So no fetch has to be cut to a size that the rate allows, a
// batch that is larger than a second's worth comes as well, and a rate may change at any time. Time without records is not saved
// up: golang.org/x/time/rate was rejected since it allows bursts, and takes nothing that is larger than one.
type Rate struct {
	mu        sync.Mutex
	perSecond int64 // 0: no bound
	paid      time.Time
	changed   chan struct{} // closed when the rate changes
}

// Set bounds the rate from now on; 0 or less is no bound. What is owed stays owed.
func (r *Rate) Set(perSecond int64) { r.set(perSecond, time.Now()) }

func (r *Rate) set(perSecond int64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	perSecond = max(perSecond, 0)
	if perSecond == r.perSecond {
		return
	}
	owed := int64(0)
	if r.paid.After(now) {
		owed = int64(r.paid.Sub(now).Seconds() * float64(r.perSecond))
	}
	r.perSecond, r.paid = perSecond, now.Add(lasts(owed, perSecond))
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// lasts is how long bytes take.
func lasts(bytes, perSecond int64) time.Duration {
	if perSecond == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(perSecond) * float64(time.Second))
}

// took says that records have come.
func (r *Rate) took(bytes int, now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paid.Before(now) {
		r.paid = now
	}
	r.paid = r.paid.Add(lasts(int64(bytes), r.perSecond))
}

// due is how long to wait until the next fetch, and what ends the wait earlier: another rate.
func (r *Rate) due(now time.Time) (time.Duration, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perSecond == 0 || !r.paid.After(now) {
		return 0, nil
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.paid.Sub(now), r.changed
}

// wait returns when what has come is paid, or ctx ends.
func (r *Rate) wait(ctx context.Context) error {
	for r != nil {
		d, changed := r.due(time.Now())
		if d == 0 {
			break
		}
		t := time.NewTimer(d)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-t.C:
		}
		t.Stop()
		if ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

// most is how much one fetch may ask for: a quarter of a second's worth, so that others do not wait long for their turn, and no less
// than makes a fetch worth sending.
func (r *Rate) most(bytes int64) int64 {
	if r == nil {
		return bytes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perSecond == 0 {
		return bytes
	}
	return min(bytes, max(r.perSecond/4, leastFetch))
}
