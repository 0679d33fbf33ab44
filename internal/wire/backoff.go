package wire

import (
	"math/rand/v2"
	"time"
)

// backoff gives growing waits: least, twice that, and so on up to most, each
// with a jitter of a quarter, so that many partitions and workers that failed
// together do not come back together.
type backoff struct{ least, most time.Duration }

// after is the wait after the given number of failures in a row; zero or less
// failures mean no wait.
func (b backoff) after(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	// 2^20 times any sensible least is beyond any most; more would overflow.
	d := min(b.least<<min(failures-1, 20), b.most)
	return d - d/8 + rand.N(d/4+1)
}

// seekBackoff is for partitions whose leader is not known or not in office.
func (n *Net) seekBackoff() backoff { return backoff{n.set.RetryBackoff, n.set.RetryBackoffMax} }

// dialBackoff is for brokers that cannot be reached.
func (n *Net) dialBackoff() backoff {
	return backoff{n.set.ReconnectBackoff, n.set.ReconnectBackoffMax}
}

// signal wakes the one goroutine that waits on ch, which has room for one: a
// wake-up that is pending already covers this one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
