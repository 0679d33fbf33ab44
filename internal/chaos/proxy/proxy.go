// Package proxy is a TCP relay in front of one broker that misbehaves on
// request: it delays, throttles, holds, swallows, cuts and loses answers, in
// either direction of any connection.
//
// It owns the connections that run through it. Bytes are passed on unchanged
// and in order, or not at all; a connection that has lost bytes is ended before
// another byte of the same direction passes, so a reader never sees a stream
// with a hole in it: what TCP would not do, the relay does not do either.
//
// It knows one thing about Kafka: frames begin with their length, requests go
// on with API key, version and correlation id, responses with the correlation
// id, and answers come in the order of the requests. That is enough to let a
// request through and lose its answer. It does not speak TLS.
package proxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction is a direction of a connection.
type Direction int

const (
	Up   Direction = iota // from the client to the broker
	Down                  // from the broker to the client
)

// String names the direction.
func (d Direction) String() string { return [...]string{"up", "down"}[d] }

// Fault is what happens to the bytes of one direction. The zero value is none.
type Fault struct {
	Delay   time.Duration // each byte arrives this much later
	Rate    int           // bytes a second at most; 0: no limit
	Hold    bool          // nothing passes, the ends of connections neither; it all arrives when the fault is lifted
	Swallow bool          // nothing passes, and it is gone: the connection ends when the fault is lifted
}

// String says what the fault is.
func (f Fault) String() string {
	s := ""
	if f.Delay > 0 {
		s += fmt.Sprintf(" delay %v", f.Delay)
	}
	if f.Rate > 0 {
		s += fmt.Sprintf(" %d bytes/s", f.Rate)
	}
	if f.Hold {
		s += " hold"
	}
	if f.Swallow {
		s += " swallow"
	}
	if s == "" {
		return "none"
	}
	return s[1:]
}

// Proxy relays to one address. Its methods may be called from several goroutines.
type Proxy struct {
	ln net.Listener
	to string
	wg sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	refuse  bool
	faults  [2]Fault
	conns   map[*Conn]struct{}
	lose    map[int16]int // by API key: how many answers are still to be lost
	lost    map[int16]int
	changed chan struct{} // closed when a fault changes, and replaced
}

// New listens on a free loopback port and relays to an address, which need not answer yet. It runs until Close.
func New(to string) (*Proxy, error) {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{ln: ln, to: to, conns: map[*Conn]struct{}{}, lose: map[int16]int{}, lost: map[int16]int{}, changed: make(chan struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close ends every connection and returns when all goroutines have ended.
func (p *Proxy) Close() {
	_ = p.ln.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Reset()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(in) })
	}
}

// serve connects one client with the broker. A broker that does not listen refuses the client, as it would without us.
func (p *Proxy) serve(in net.Conn) {
	p.mu.Lock()
	refuse := p.refuse || p.closed
	p.mu.Unlock()
	if refuse {
		reset(in)
		return
	}
	out, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		reset(in)
		return
	}
	c := &Conn{p: p, ends: [2]net.Conn{in, out}, done: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		reset(in)
		reset(out)
		return
	}
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	c.run()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// Set makes a fault the one of every connection in a direction, of those to come too.
func (p *Proxy) Set(d Direction, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[d] = f
	for c := range p.conns {
		c.faults[d] = nil
	}
	p.changedNow()
}

// Heal lifts every fault.
func (p *Proxy) Heal() {
	p.Refuse(false)
	p.mu.Lock()
	clear(p.lose)
	p.mu.Unlock()
	p.Set(Up, Fault{})
	p.Set(Down, Fault{})
}

// Refuse makes the proxy turn new connections away.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
}

// LoseAnswers lets the next n requests with an API key through and loses their answers: the connection is cut in their
// place. n replaces what was left of an earlier call.
func (p *Proxy) LoseAnswers(key int16, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose[key] = n
}

// Lost is how many answers to requests with an API key were lost.
func (p *Proxy) Lost(key int16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost[key]
}

// Conns are the open connections.
func (p *Proxy) Conns() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Conn, 0, len(p.conns))
	for c := range p.conns {
		all = append(all, c)
	}
	return all
}

// Cut closes every connection, with what was read of it delivered or not as it happens, and gives their number.
func (p *Proxy) Cut() int {
	all := p.Conns()
	for _, c := range all {
		c.Cut()
	}
	return len(all)
}

// Reset ends every connection by RST, and gives their number.
func (p *Proxy) Reset() int {
	all := p.Conns()
	for _, c := range all {
		c.Reset()
	}
	return len(all)
}

// changedNow wakes everybody who waits for another fault. The caller holds mu.
func (p *Proxy) changedNow() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// reset closes a connection with RST: what is under way is dropped, and the peer is told.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
