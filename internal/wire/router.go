package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

const (
	// troubleLasts is how long a partition may be without leader, connection
	// or answer before that is reported; elections and broker restarts take
	// less.
	troubleLasts = 5 * time.Second
	// troubleAgain is the time between reports of the same trouble.
	troubleAgain = 10 * time.Second
	// goneAfter refreshes in a row must say that a topic does not exist before
	// it is believed: a starting broker says so of topics that do exist.
	goneAfter = 4
)

// trouble is the run of failures that a partition is in. The zero value means
// that all is well.
type trouble struct {
	since    time.Time
	reported time.Time
	failures int
}

// add counts a failure and says whether it is time to report.
func (t *trouble) add(now time.Time) (report bool) {
	if t.failures == 0 {
		t.since = now
	}
	t.failures++
	if now.Sub(t.since) < troubleLasts || now.Sub(t.reported) < troubleAgain {
		return false
	}
	t.reported = now
	return true
}

// router finds the leaders of partitions: from memory, from a metadata refresh,
// or by trying again with a growing back-off. Fetchers and producers have one
// each; metadata requests are shared underneath.
type router struct {
	net    *Net
	md     *kafka.Metadata
	closed <-chan struct{} // the Net was closed
	// found hands a leader over. The search for the partition is over then.
	found func(partition.ID, kafka.Leader)
	// failed reports that a refresh did not bring a leader, the misses-th time
	// in this search. True ends the search.
	failed func(tp partition.ID, err error, misses int) bool

	placer    chan struct{} // wakes place
	refresher chan struct{} // wakes refresh

	mu    sync.Mutex
	seeks map[partition.ID]*seek
}

// seek is the search for one partition's leader.
type seek struct {
	at     time.Time // not before
	stale  bool      // memory is not to be trusted: refresh first
	asking bool      // waits for a refresh
	misses int
}

func newRouter(n *Net) *router {
	return &router{
		net:       n,
		md:        n.md,
		closed:    n.gone,
		placer:    make(chan struct{}, 1),
		refresher: make(chan struct{}, 1),
		seeks:     map[partition.ID]*seek{},
	}
}

// find starts the search for tp's leader, after the given delay. stale asks for
// a metadata refresh first. A search that is going on already is replaced.
func (r *router) find(tp partition.ID, stale bool, delay time.Duration) {
	r.mu.Lock()
	r.seeks[tp] = &seek{at: time.Now().Add(delay), stale: stale}
	r.mu.Unlock()
	signal(r.placer)
}

// forget ends the search for tp.
func (r *router) forget(tp partition.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seeks, tp)
}

// run searches until ctx ends or the Net is closed. Two goroutines, because a refresh can take as
// long as a dead cluster likes, and partitions whose leader is known must not
// wait for it.
func (r *router) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.place(ctx) })
	g.Go(func() error { return r.refresh(ctx) })
	return g.Wait()
}

// place serves the searches that are due from memory and passes the others on.
func (r *router) place(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		known, next := r.due(time.Now())
		for tp, s := range known {
			if l, err := r.md.Leader(tp); err == nil {
				r.end(tp, s, l)
			} else {
				r.distrust(s)
			}
		}
		if len(known) > 0 {
			continue
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.closed:
			return ErrClosed
		case <-r.placer:
		case <-timer.C:
		}
	}
}

// due is what can be looked up in memory now, and the time until the next
// search is due. Those that need a refresh go to the refresher.
func (r *router) due(now time.Time) (known map[partition.ID]*seek, next time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, next = map[partition.ID]*seek{}, time.Hour
	for tp, s := range r.seeks {
		wait := s.at.Sub(now)
		switch {
		case s.asking:
		case wait > 0:
			next = min(next, wait)
		case s.stale:
			s.asking = true
			signal(r.refresher)
		default:
			known[tp] = s
		}
	}
	return known, next
}

func (r *router) distrust(s *seek) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.stale = true
}

// end hands a leader over, unless the search was replaced or forgotten.
func (r *router) end(tp partition.ID, s *seek, l kafka.Leader) {
	if r.remove(tp, s) {
		r.found(tp, l)
	}
}

func (r *router) remove(tp partition.ID, s *seek) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seeks[tp] != s {
		return false
	}
	delete(r.seeks, tp)
	return true
}

// refresh asks the cluster for the topics of all searches that wait for it.
func (r *router) refresh(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.refresher:
		}
		waiting, topics := r.asking()
		if len(topics) == 0 {
			continue
		}
		lost := r.ask(ctx, topics)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for tp, s := range waiting {
			// The leader in memory is worth a try even if the refresh failed:
			// it may be only the way to the bootstrap servers that is broken.
			l, err := r.md.Leader(tp)
			if err == nil {
				r.end(tp, s, l)
				continue
			}
			if lost != nil {
				err = fmt.Errorf("find the leader of %v: %w", tp, lost)
			}
			r.miss(tp, s, err)
		}
		signal(r.placer)
	}
}

// ask does one refresh, of bounded length, so that those who wait for it can be
// told that it does not work.
func (r *router) ask(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, troubleLasts)
	defer cancel()
	return r.md.Refresh(ctx, topics...)
}

func (r *router) asking() (map[partition.ID]*seek, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting, names := map[partition.ID]*seek{}, map[string]bool{}
	var topics []string
	for tp, s := range r.seeks {
		if !s.asking {
			continue
		}
		waiting[tp] = s
		if !names[tp.Topic] {
			names[tp.Topic] = true
			topics = append(topics, tp.Topic)
		}
	}
	return waiting, topics
}

// miss puts a search off after a refresh that did not help.
func (r *router) miss(tp partition.ID, s *seek, err error) {
	r.mu.Lock()
	s.misses++
	misses := s.misses
	r.mu.Unlock()
	if r.failed(tp, err, misses) {
		r.remove(tp, s)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.asking = false
	s.at = time.Now().Add(r.net.seekBackoff().after(misses))
}
