package wire

import (
	"context"
	"fmt"
	"sync"
)

// Budget bounds the bytes of fetched and not yet released responses. One
// Budget is shared by all fetchers of a process, whatever cluster they read.
//
// A fetcher takes its share before it sends a request, so the bound holds
// without a look at what arrives; only a single batch larger than what was
// asked for can exceed it, by that one response a connection. Waiters are
// served in order of arrival: a fetcher that needs room for a large batch is
// not starved by those that need little.
type Budget struct {
	total int64

	mu    sync.Mutex
	used  int64
	peak  int64
	queue []*claim
}

// claim is one fetcher that waits for room.
type claim struct {
	least, most int64
	granted     chan int64 // room for one
}

// NewBudget returns a budget of the given number of bytes, at least 1.
func NewBudget(bytes int64) *Budget {
	return &Budget{total: max(1, bytes)}
}

// Total is the size of the budget in bytes.
func (b *Budget) Total() int64 { return b.total }

// Used is what is taken now, in bytes: responses not released yet, and room
// reserved by requests under way.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Peak is the most that was ever taken, in bytes.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// acquire takes between least and most bytes and says how many; it waits until
// least bytes are left. A least above the total means the total. It takes half
// of what is left at most, as long as that is no less than least: the long
// polls of many quiet brokers then never hold all of it.
func (b *Budget) acquire(ctx context.Context, least, most int64) (int64, error) {
	least = min(max(least, 1), b.total)
	c := &claim{least: least, most: max(least, most), granted: make(chan int64, 1)}
	b.mu.Lock()
	b.queue = append(b.queue, c)
	b.serve()
	b.mu.Unlock()
	select {
	case n := <-c.granted:
		return n, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case n := <-c.granted: // both happened: give it back
		b.used -= n
	default:
		for i := range b.queue {
			if b.queue[i] == c {
				b.queue = append(b.queue[:i], b.queue[i+1:]...)
				break
			}
		}
	}
	b.serve()
	return 0, fmt.Errorf("wait for fetch memory: %w", ctx.Err())
}

// serve grants what the head of the queue needs as long as there is room. The
// caller holds mu.
func (b *Budget) serve() {
	for len(b.queue) > 0 {
		c, left := b.queue[0], b.total-b.used
		if left < c.least {
			return
		}
		n := min(c.most, max(c.least, left/2))
		b.queue = append(b.queue[:0], b.queue[1:]...)
		b.take(n)
		c.granted <- n
	}
}

// take adds n bytes, which may be negative. The caller holds mu.
func (b *Budget) take(n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
}

// change replaces had reserved bytes by the bytes that are really held.
func (b *Budget) change(had, holds int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(holds - had)
	b.serve()
}
