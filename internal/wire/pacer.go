package wire

import "time"

const (
	// Below paceOn fetches a second each one is sent at once. Above, both we
	// and the broker pay more for requests than for records: at 10,000
	// records/s, fetches 1 to 2 ms apart take about half the CPU of fetching
	// at will and have the better p99.
	paceOn = 1500
	// paceGap is the least time between two fetches then. Timers add up to a
	// millisecond to it.
	paceGap    = time.Millisecond
	paceWindow = 50 * time.Millisecond
	// paceBulk is the response size above which a fetch is worth its cost
	// whatever the rate.
	paceBulk = 256 << 10
)

// pacer spreads the fetches of one connection. It is pure: the caller tells it
// the time, and calls wait once and then sent once for each fetch.
//
// It looks at windows of 50 ms. Once on, it goes off when less than half of the
// fetches of a window had to wait. The rate alone would not do: pacing itself
// holds it down, more or less so by the load of the machine.
type pacer struct {
	began time.Time // start of the current window
	count int       // fetches in it
	held  int       // of them had to wait
	on    bool
	last  time.Time // last fetch
}

// wait says how long to wait before the next fetch, given the size of the last
// response.
func (p *pacer) wait(now time.Time, lastBytes int) time.Duration {
	if !p.on || lastBytes >= paceBulk {
		return 0
	}
	d := p.last.Add(paceGap).Sub(now)
	if d <= 0 {
		return 0
	}
	p.held++
	return d
}

// sent notes a fetch.
func (p *pacer) sent(now time.Time) {
	p.last = now
	p.count++
	if p.began.IsZero() {
		p.began = now
		return
	}
	elapsed := now.Sub(p.began)
	if elapsed < paceWindow {
		return
	}
	if p.on {
		p.on = 2*p.held >= p.count
	} else {
		p.on = float64(p.count) > paceOn*elapsed.Seconds()
	}
	p.began, p.count, p.held = now, 0, 0
}
