package wire

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestRate: what came is paid for before the next fetch, whatever its size; time without records is not saved up; another rate counts
// at once, for what is owed too.
func TestRate(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var r Rate
	owes := func(ms int, want time.Duration) {
		t.Helper()
		if d, _ := r.due(at(ms)); d.Round(time.Millisecond) != want {
			t.Errorf("at %d ms: %v to wait, want %v", ms, d, want)
		}
	}
	r.took(1<<30, at(0))
	owes(0, 0) // no bound
	r.set(1000, at(0))
	owes(5000, 0)
	r.took(500, at(5000))
	owes(5000, 500*time.Millisecond)
	r.took(2000, at(5100)) // another fetcher's, on its way
	owes(5100, 2400*time.Millisecond)
	r.set(2000, at(5100))
	owes(5100, 1200*time.Millisecond)
	r.set(500, at(5700))
	owes(5700, 2400*time.Millisecond)
	owes(8100, 0)
	r.took(250, at(9000))
	r.set(0, at(9000))
	owes(9000, 0)
	r.set(-1, at(9000))
	owes(9000, 0)
	if n := r.most(5 << 20); n != 5<<20 {
		t.Errorf("a fetch asks for %d bytes without a bound", n)
	}
	for rate, want := range map[int64]int64{100: leastFetch, 8 << 20: 2 << 20, 1 << 40: 4 << 20} {
		r.set(rate, at(9000))
		if n := r.most(4 << 20); n != want {
			t.Errorf("at %d bytes a second a fetch asks for %d, want %d", rate, n, want)
		}
	}
}

// TestRateWakes: who waits goes on when the bound is lifted, or ctx ends.
func TestRateWakes(t *testing.T) {
	var r Rate
	r.Set(1)
	r.took(1<<20, time.Now())
	ended := make(chan error, 2)
	go func() { ended <- r.wait(t.Context()) }()
	_, changed := r.due(time.Now())
	r.Set(2)
	<-changed
	r.Set(0)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.Set(1)
	r.took(1<<20, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- r.wait(ctx) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var none *Rate
	if err := none.wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFetchObeysARate: a log is not read faster than the rate, but for the last response. It is whole.
func TestFetchObeysARate(t *testing.T) {
	const perSecond, batches, size = 400_000, 40, 10_000
	c := fake(t, 1, "t", 2)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, batches/2, size), 1: oneRecordLog(t, batches/2, size)}}
	s.serve(c)
	rate := &Rate{}
	rate.Set(perSecond)
	f := startFetcher(t, netTo(t, c, nil), FetchOptions{Rate: rate})
	began := time.Now()
	drain(t, f, s.logs)
	least := time.Duration(float64(batches*size-perSecond/4) / perSecond * float64(time.Second))
	if took := time.Since(began); took < least {
		t.Errorf("read in %v, the rate allows no less than %v", took, least)
	}
}
