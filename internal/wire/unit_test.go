package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBufferClassesHoldWhatTheyPromise(t *testing.T) {
	for n := 1; n < 70<<20; n += 1 + n/7 {
		class := classOf(n)
		if class < 0 {
			if n <= 64<<20 {
				t.Fatalf("%d bytes have no class", n)
			}
			continue
		}
		size := classSize(class)
		if size < n {
			t.Fatalf("class %d of %d bytes holds %d", class, n, size)
		}
		if n > leastBuffer && float64(size) > 1.26*float64(n) {
			t.Fatalf("%d bytes take a buffer of %d", n, size)
		}
		if class > 0 && classSize(class-1) >= n {
			t.Fatalf("%d bytes are in class %d, the one below holds them", n, class)
		}
	}
}

func TestBufferReturnsAtTheLastRelease(t *testing.T) {
	var freed int
	p := &pool{freed: func([]byte) { freed++ }}
	budget := NewBudget(1 << 20)
	b := p.get(1000)
	b.charge(budget, 0)
	one, two := b.share(), b.share()
	b.release()
	one()
	if freed != 0 || budget.Used() != 1000 {
		t.Fatalf("freed %d times, %d bytes used, with a reference left", freed, budget.Used())
	}
	two()
	if freed != 1 || budget.Used() != 0 {
		t.Fatalf("freed %d times, %d bytes used, after the last release", freed, budget.Used())
	}
	defer func() {
		if recover() == nil {
			t.Error("a second Release did not panic")
		}
	}()
	two()
}

func TestPoolKeepsTheNewest(t *testing.T) {
	var p pool
	take := func(n, count int) []*buffer {
		var list []*buffer
		for range count {
			list = append(list, p.get(n))
		}
		return list
	}
	free := func(list []*buffer) {
		for _, b := range list {
			b.release()
		}
	}
	old := take(1<<20, 20)
	free(old)
	if b := p.get(1 << 20); b != old[19] {
		t.Error("the buffer put last is not the first to be reused")
	} else {
		b.release()
	}
	now := take(3<<20, 12) // more than may be idle, with the others
	free(now)
	if p.held > maxIdle || p.held < maxIdle-3<<20 {
		t.Errorf("%d bytes are idle, want up to %d", p.held, maxIdle)
	}
	if len(p.idle[classOf(1<<20)]) != 0 {
		t.Errorf("%d buffers of a size that is not used any more", len(p.idle[classOf(1<<20)]))
	}
	if len(p.idle[classOf(3<<20)]) != 10 {
		t.Errorf("%d buffers of the size in use", len(p.idle[classOf(3<<20)]))
	}
	free(take(100<<20, 1)) // beyond the classes: not kept
	if p.held > maxIdle {
		t.Errorf("%d bytes are idle", p.held)
	}
}

func TestBudgetServesInOrder(t *testing.T) {
	ctx := testContext(t)
	b := NewBudget(100)
	got, err := b.acquire(ctx, 10, 1000)
	if err != nil || got != 50 {
		t.Fatalf("first claim got %d, %v; want half", got, err)
	}
	if got, err = b.acquire(ctx, 40, 60); err != nil || got != 40 {
		t.Fatalf("second claim got %d, %v; want its least", got, err)
	}
	big, small := make(chan int64, 1), make(chan int64, 1)
	claim := func(least int64, to chan int64) {
		n, err := b.acquire(ctx, least, least)
		if err != nil {
			t.Error(err)
		}
		to <- n
	}
	go claim(90, big)
	eventually(t, "the large claim waits", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.queue) == 1 })
	go claim(5, small)
	eventually(t, "the small claim waits", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.queue) == 2 })
	b.change(40, 0)
	select {
	case <-small:
		t.Fatal("the small claim overtook the large one")
	default:
	}
	b.change(50, 0)
	if n := <-big; n != 90 {
		t.Errorf("large claim got %d", n)
	}
	if n := <-small; n != 5 {
		t.Errorf("small claim got %d", n)
	}
}

func TestBudgetClaimEndsWithContext(t *testing.T) {
	b := NewBudget(10)
	if _, err := b.acquire(t.Context(), 10, 10); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := b.acquire(ctx, 5, 5); ended <- err }()
	eventually(t, "the claim waits", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.queue) == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	b.change(10, 0)
	if b.Used() != 0 {
		t.Errorf("%d bytes are used by nobody", b.Used())
	}
	// More than everything means everything, or it would wait for ever.
	if n, err := b.acquire(t.Context(), 99, 99); err != nil || n != 10 {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestWholeBatches(t *testing.T) {
	a, b := numbered(t, 0, 2, 20, -1), numbered(t, 2, 1, 500, -1)
	both := append(append([]byte(nil), a...), b...)
	broken := append([]byte(nil), both...)
	binary.BigEndian.PutUint32(broken[len(a)+8:], 3)
	tests := []struct {
		name  string
		in    []byte
		whole int
		need  int64
		ok    bool
	}{
		{"nothing", nil, 0, 0, true},
		{"one", a, len(a), 0, true},
		{"two", both, len(both), 0, true},
		{"cut in the second", both[:len(both)-1], len(a), int64(len(b)), true},
		{"cut in the second's length", both[:len(a)+9], len(a), 4096, true},
		{"cut in the first", a[:20], 0, int64(len(a)), true},
		{"second is no batch", broken, len(a), 0, false},
		{"no batch", broken[len(a):], 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole, need, ok := wholeBatches(tt.in)
			if whole != tt.whole || need != tt.need || ok != tt.ok {
				t.Errorf("got %d, %d, %v; want %d, %d, %v", whole, need, ok, tt.whole, tt.need, tt.ok)
			}
		})
	}
}

func TestBackoffGrowsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := backoff{50 * time.Millisecond, time.Second}
		n := rapid.IntRange(-1, 1<<30).Draw(t, "failures")
		d := b.after(n)
		if n <= 0 {
			if d != 0 {
				t.Fatalf("waits %v after no failure", d)
			}
			return
		}
		want := time.Second
		if n < 6 {
			want = min(want, b.least<<(n-1))
		}
		if d < want*7/8-1 || d > want*9/8+1 {
			t.Fatalf("waits %v after %d failures, want about %v", d, n, want)
		}
	})
}

func TestPacer(t *testing.T) {
	now := time.Unix(0, 0)
	var p pacer
	// Each fetch is answered after the given time; it returns the rate.
	run := func(answer time.Duration, bytes, n int) float64 {
		began := now
		for range n {
			now = now.Add(answer)
			now = now.Add(p.wait(now, bytes))
			p.sent(now)
		}
		return float64(n) / now.Sub(began).Seconds()
	}
	if rate := run(time.Millisecond, 100, 500); rate < 999 {
		t.Errorf("1,000 fetches/s are held down to %.0f", rate)
	}
	run(100*time.Microsecond, 100, 1000) // now it is on
	if rate := run(100*time.Microsecond, 100, 2000); rate < 999 || rate > 1001 {
		t.Errorf("10,000 fetches/s become %.0f, want 1,000", rate)
	}
	if rate := run(300*time.Microsecond, paceBulk, 1); rate < 3000 {
		t.Errorf("a fetch after a large response is held down to %.0f/s", rate)
	}
	run(5*time.Millisecond, 100, 50)
	if p.on {
		t.Error("200 fetches/s are paced")
	}
}

func TestResponseBody(t *testing.T) {
	b := &buffer{b: []byte{2, 1, 3, 'a', 'b', 'c', 9, 0, 'x', 'y'}} // tags 1: abc, 9: empty
	got, err := responseBody(b, true)
	if err != nil || string(got) != "xy" {
		t.Errorf("got %q, %v", got, err)
	}
	for cut := range 8 {
		if _, err := responseBody(&buffer{b: b.b[:cut]}, true); err == nil {
			t.Errorf("a header cut at %d is accepted", cut)
		}
	}
	if got, err := responseBody(b, false); err != nil || len(got) != len(b.b) {
		t.Errorf("without tags: %d bytes, %v", len(got), err)
	}
}
