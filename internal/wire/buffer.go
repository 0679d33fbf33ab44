package wire

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	leastBuffer = 512
	// classes cover 512 B to 64 MiB in four steps a doubling, so that at most
	// a quarter of a buffer is unused. Larger responses are rare (one batch
	// above every limit) and left to the garbage collector.
	classes = 17*4 + 1
	// maxIdle bounds the bytes that wait for reuse: eight responses of the
	// default size.
	maxIdle = 32 << 20
)

// pool keeps response buffers for reuse. A fresh buffer costs the zeroing of
// its bytes, which for responses of megabytes is more than reading them.
//
// sync.Pool would be less code, but the garbage collector empties it, and with
// a heap as small as ours it runs many times a second.
type pool struct {
	mu   sync.Mutex
	idle [classes][]idleBuffer // oldest first
	held int                   // bytes in idle
	puts uint64

	// freed is called with the bytes of every buffer that goes back; nil
	// outside tests, which overwrite the bytes to show use after release.
	freed func([]byte)
}

// idleBuffer is a buffer that waits, since the put of that number.
type idleBuffer struct {
	*buffer
	since uint64
}

// buffer is one response's bytes, shared by reference counting.
type buffer struct {
	b     []byte // the response as it came, without its length
	home  *pool
	class int // index of its pool, or -1
	refs  atomic.Int32

	budget *Budget // nil: not counted
}

// classOf is the smallest class that holds n bytes, or -1.
func classOf(n int) int {
	if n <= leastBuffer {
		return 0
	}
	shift := bits.Len(uint(n-1)) - 10 // 512 < n <= 1024 is shift 0
	base := leastBuffer << shift
	class := 4*shift + (n-base+base/4-1)/(base/4)
	if class >= classes {
		return -1
	}
	return class
}

// classSize is the capacity of a class's buffers in bytes.
func classSize(class int) int {
	base := leastBuffer << (class / 4)
	return base + base/4*(class%4)
}

// get returns a buffer of n bytes with one reference and unspecified contents.
func (p *pool) get(n int) *buffer {
	class := classOf(n)
	b := p.reuse(class)
	if b == nil {
		size := n
		if class >= 0 {
			size = classSize(class)
		}
		b = &buffer{b: make([]byte, size), home: p, class: class}
	}
	b.b = b.b[:n]
	b.refs.Store(1)
	return b
}

// reuse takes the buffer of a class that was put last, whose bytes are most
// likely in a cache; nil if there is none.
func (p *pool) reuse(class int) *buffer {
	if class < 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[class]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1].buffer
	list[len(list)-1].buffer = nil
	p.idle[class] = list[:len(list)-1]
	p.held -= classSize(class)
	return b
}

// put keeps a buffer for reuse, and lets those go that have waited longest if
// there are too many: sizes change with the load.
func (p *pool) put(b *buffer) {
	if b.class < 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.puts++
	p.idle[b.class] = append(p.idle[b.class], idleBuffer{b, p.puts})
	p.held += classSize(b.class)
	for p.held > maxIdle {
		p.evict()
	}
}

// evict lets the oldest idle buffer go. The caller holds mu.
func (p *pool) evict() {
	oldest := -1
	for class, list := range p.idle {
		if len(list) > 0 && (oldest < 0 || list[0].since < p.idle[oldest][0].since) {
			oldest = class
		}
	}
	list := p.idle[oldest]
	p.idle[oldest] = append(list[:0], list[1:]...)
	list[len(list)-1].buffer = nil
	p.held -= classSize(oldest)
}

// charge makes the buffer hold its size in a budget, in place of had reserved
// bytes, until the last release.
func (b *buffer) charge(budget *Budget, had int64) {
	b.budget = budget
	budget.change(had, int64(len(b.b)))
}

func (b *buffer) retain() { b.refs.Add(1) }

// release gives one reference back. Too many releases would hand out bytes
// that somebody still reads, so they are a panic.
func (b *buffer) release() {
	left := b.refs.Add(-1)
	if left > 0 {
		return
	}
	if left < 0 {
		panic("wire: a response buffer was released more often than it was retained")
	}
	if b.budget != nil {
		b.budget.change(int64(len(b.b)), 0)
		b.budget = nil
	}
	if b.home.freed != nil {
		b.home.freed(b.b)
	}
	b.home.put(b)
}

// share returns a function that gives one new reference back. Calling it twice
// is a panic, for the same reason as in release.
func (b *buffer) share() func() {
	b.retain()
	var given atomic.Bool
	return func() {
		if given.Swap(true) {
			panic("wire: Fetched.Release was called twice")
		}
		b.release()
	}
}
