package proxy

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Conn is one connection through a proxy. Its methods may be called from several goroutines.
type Conn struct {
	p    *Proxy
	ends [2]net.Conn // by the direction that begins there: client, broker
	once sync.Once
	done chan struct{} // closed when the connection is to end

	faults [2]*Fault // under p.mu: its own instead of the proxy's

	fmu    sync.Mutex
	asked  frames
	answer frames
	doomed []int32 // correlation ids of the requests whose answers are to be lost, oldest first
}

// Client is the client's address, as the broker would see it without us.
func (c *Conn) Client() net.Addr { return c.ends[Up].RemoteAddr() }

// Set gives the connection a fault of its own in a direction, until the proxy's is set.
func (c *Conn) Set(d Direction, f Fault) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.faults[d] = &f
	c.p.changedNow()
}

// Cut closes both ends.
func (c *Conn) Cut() { c.end(func(n net.Conn) { _ = n.Close() }) }

// Reset ends both ends by RST.
func (c *Conn) Reset() { c.end(reset) }

func (c *Conn) end(how func(net.Conn)) {
	c.once.Do(func() {
		close(c.done)
		how(c.ends[Up])
		how(c.ends[Down])
	})
}

// fault is the one that holds in a direction now; changed is closed when that may have changed.
func (c *Conn) fault(d Direction) (f Fault, changed <-chan struct{}) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.faults[d] != nil {
		return *c.faults[d], c.p.changed
	}
	return c.p.faults[d], c.p.changed
}

// chunk is what one read gave.
type chunk struct {
	bytes []byte
	at    time.Time // when it was read
	end   bool      // the sender has closed
	lost  bool      // behind these bytes comes an answer that is to be lost
}

// ahead bounds what waits in a direction, in chunks of at most 32 KiB: a relay that took everything would hide from the
// sender that nothing arrives.
const ahead = 16

// run relays both directions until one of them ends.
func (c *Conn) run() {
	var wg sync.WaitGroup
	for d := range Direction(2) {
		queue := make(chan chunk, ahead)
		wg.Go(func() { c.read(d, queue) })
		wg.Go(func() {
			c.write(d, queue)
			c.Cut()
		})
	}
	wg.Wait()
}

func (c *Conn) read(d Direction, queue chan<- chunk) {
	for {
		buf := make([]byte, 32<<10)
		n, err := c.ends[d].Read(buf)
		ch := chunk{bytes: buf[:n], at: time.Now(), end: err != nil}
		ch.bytes, ch.lost = c.watch(d, ch.bytes)
		select {
		case queue <- ch:
		case <-c.done:
			return
		}
		if ch.end || ch.lost {
			return
		}
	}
}

// errEnded says that the connection is to end.
var errEnded = errors.New("connection ended")

// write passes chunks on, as the fault of the moment says.
func (c *Conn) write(d Direction, queue <-chan chunk) {
	to := c.ends[1-d]
	swallowed := false
	for {
		var ch chunk
		var changed <-chan struct{}
		if swallowed { // nothing may follow a hole
			_, changed = c.fault(d)
		}
		select {
		case ch = <-queue:
		case <-changed:
		case <-c.done:
			return
		}
		f, err := c.due(d, ch.at)
		if err != nil {
			return
		}
		switch {
		case f.Swallow:
			swallowed = swallowed || len(ch.bytes) > 0 || ch.end
			if ch.lost {
				return
			}
			continue
		case swallowed:
			c.Reset()
			return
		}
		if c.pass(d, to, ch.bytes) != nil {
			return
		}
		if ch.end || ch.lost {
			return
		}
	}
}

// pass writes bytes no faster than the fault of the moment says.
func (c *Conn) pass(d Direction, to net.Conn, b []byte) error {
	for len(b) > 0 {
		const slices = 20 // a second
		n := len(b)
		f, changed := c.fault(d)
		if f.Rate > 0 {
			n = min(n, max(f.Rate/slices, 1))
		}
		if _, err := to.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		if f.Rate > 0 {
			if err := c.wait(time.Duration(n)*time.Second/time.Duration(f.Rate), changed); err != nil {
				return err
			}
		}
	}
	return nil
}

// due waits until a chunk may pass, and gives the fault by which it may.
func (c *Conn) due(d Direction, at time.Time) (Fault, error) {
	for {
		f, changed := c.fault(d)
		switch left := f.Delay - time.Since(at); {
		case f.Swallow:
			return f, nil
		case f.Hold:
			select {
			case <-changed:
			case <-c.done:
				return f, errEnded
			}
		case left > 0:
			if err := c.wait(left, changed); err != nil {
				return f, err
			}
		default:
			return f, nil
		}
	}
}

// wait waits for a time, or for a change.
func (c *Conn) wait(d time.Duration, changed <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-c.done:
		return errEnded
	}
	return nil
}
