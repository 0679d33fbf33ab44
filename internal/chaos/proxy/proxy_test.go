package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker answers each request frame by a response frame that holds its correlation id and body.
type broker struct {
	ln net.Listener
	wg sync.WaitGroup

	mu   sync.Mutex
	seen []int32 // correlation ids that arrived
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{ln: ln}
	b.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		b.wg.Wait()
	})
	return b
}

func (b *broker) serve(c net.Conn) {
	defer c.Close()
	for {
		var head [12]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		body := make([]byte, int(binary.BigEndian.Uint32(head[:]))-8)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		b.mu.Lock()
		b.seen = append(b.seen, int32(binary.BigEndian.Uint32(head[8:])))
		b.mu.Unlock()
		out := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		out = append(append(out, head[8:]...), body...)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func (b *broker) arrived() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

// behind gives a broker and a proxy in front of it.
func behind(t *testing.T) (*broker, *Proxy) {
	t.Helper()
	b := newBroker(t)
	p, err := New(b.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return b, p
}

type client struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, p *Proxy) client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return client{t, c}
}

func request(key int16, corr int32, body []byte) []byte {
	req := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	req = binary.BigEndian.AppendUint16(req, uint16(key))
	req = binary.BigEndian.AppendUint16(req, 9)
	req = binary.BigEndian.AppendUint32(req, uint32(corr))
	return append(req, body...)
}

// ask sends a request in pieces, so that frames and reads do not agree.
func (c client) ask(key int16, corr int32, body []byte) {
	c.t.Helper()
	req := request(key, corr, body)
	for len(req) > 0 {
		n := min(len(req), 5+len(req)/2)
		if _, err := c.Write(req[:n]); err != nil {
			c.t.Fatal(err)
		}
		req = req[n:]
	}
}

// get reads one response within a time.
func (c client) get(within time.Duration) (corr int32, body []byte, err error) {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(within))
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, int(binary.BigEndian.Uint32(head[:]))-4)
	_, err = io.ReadFull(c, body)
	return int32(binary.BigEndian.Uint32(head[4:])), body, err
}

func (c client) answered(corr int32, want []byte, within time.Duration) {
	c.t.Helper()
	got, body, err := c.get(within)
	if err != nil || got != corr || !bytes.Equal(body, want) {
		c.t.Fatalf("answer %d of %d bytes, %v; want %d of %d bytes", got, len(body), err, corr, len(want))
	}
}

func (c client) silent(within time.Duration) {
	c.t.Helper()
	if _, _, err := c.get(within); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read ended with %v, want nothing to arrive", err)
	}
}

// ends expects the end of the connection.
func (c client) ends(rst bool) {
	c.t.Helper()
	_, _, err := c.get(5 * time.Second)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read gave %v, want the end of the connection", err)
	}
	if rst && !errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("the connection ended by %v, want a reset", err)
	}
}

// refused expects that a new connection is turned away, which may show before the dial has returned.
func refused(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client{t, c}.ends(true)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("no " + what)
		}
	}
}

const soon = 5 * time.Second

func TestPassesUnchanged(t *testing.T) {
	_, p := behind(t)
	c := dial(t, p)
	for i, size := range []int{0, 1, 7, 100, 200_000, 3} {
		body := bytes.Repeat([]byte{byte(i)}, size)
		var asking sync.WaitGroup // a request that is larger than all buffers is written while its answer is read
		asking.Go(func() {
			if _, err := c.Write(request(1, int32(i), body)); err != nil {
				t.Error(err)
			}
		})
		c.answered(int32(i), body, soon)
		asking.Wait()
	}
}

func TestDelay(t *testing.T) {
	_, p := behind(t)
	c := dial(t, p)
	p.Set(Up, Fault{Delay: 100 * time.Millisecond})
	p.Set(Down, Fault{Delay: 50 * time.Millisecond})
	began := time.Now()
	for i := range int32(5) { // a delay is not a rate: they are under way together
		c.ask(1, i, nil)
	}
	for i := range int32(5) {
		c.answered(i, nil, soon)
	}
	if took := time.Since(began); took < 150*time.Millisecond || took > time.Second {
		t.Errorf("took %v, want 150 ms and a little", took)
	}
	p.Set(Down, Fault{Delay: time.Hour})
	c.ask(1, 9, nil)
	c.silent(50 * time.Millisecond)
	p.Heal()
	c.answered(9, nil, soon)
}

func TestRate(t *testing.T) {
	_, p := behind(t)
	c := dial(t, p)
	p.Set(Up, Fault{Rate: 100_000})
	body := make([]byte, 30_000)
	began := time.Now()
	c.ask(1, 1, body)
	c.answered(1, body, soon)
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("30 kB took %v at 100 kB/s", took)
	}
	p.Set(Up, Fault{Rate: 10})
	c.ask(1, 2, body)
	c.silent(50 * time.Millisecond)
	p.Heal()
	c.answered(2, body, soon)
}

func TestHold(t *testing.T) {
	b, p := behind(t)
	c := dial(t, p)
	for _, d := range []Direction{Up, Down} {
		had := b.arrived()
		p.Set(d, Fault{Hold: true})
		c.ask(1, 1, []byte("x"))
		c.silent(50 * time.Millisecond)
		if got := b.arrived() - had; got != int(d) { // held on its way down it has arrived
			t.Errorf("%v: %d requests arrived", d, got)
		}
		p.Heal()
		c.answered(1, []byte("x"), soon)
	}
}

// TestSwallow: what was swallowed never comes, and the connection does not go on behind the hole.
func TestSwallow(t *testing.T) {
	b, p := behind(t)
	c := dial(t, p)
	p.Set(Up, Fault{Swallow: true})
	c.ask(1, 1, nil)
	c.silent(50 * time.Millisecond)
	p.Heal()
	c.ends(true)
	if b.arrived() != 0 {
		t.Error("a swallowed request arrived")
	}
	c = dial(t, p)
	p.Set(Down, Fault{Swallow: true})
	c.ask(1, 2, nil)
	c.silent(50 * time.Millisecond)
	p.Heal()
	c.ends(true)
	if b.arrived() != 1 {
		t.Error("a request was swallowed whose answer should be")
	}
	// A connection that had nothing to lose goes on.
	c = dial(t, p)
	eventually(t, "connection", func() bool { return len(p.Conns()) == 1 })
	p.Set(Up, Fault{Swallow: true})
	p.Heal()
	c.ask(1, 3, nil)
	c.answered(3, nil, soon)
}

func TestOneConnection(t *testing.T) {
	_, p := behind(t)
	bad, good := dial(t, p), dial(t, p)
	eventually(t, "two connections", func() bool { return len(p.Conns()) == 2 })
	for _, c := range p.Conns() {
		if c.Client().String() == bad.LocalAddr().String() {
			c.Set(Up, Fault{Hold: true})
		}
	}
	bad.ask(1, 1, nil)
	good.ask(1, 2, nil)
	good.answered(2, nil, soon)
	bad.silent(50 * time.Millisecond)
	p.Heal()
	bad.answered(1, nil, soon)
}

func TestCutAndReset(t *testing.T) {
	_, p := behind(t)
	for _, rst := range []bool{false, true} {
		c := dial(t, p)
		c.ask(1, 1, nil)
		c.answered(1, nil, soon)
		end := p.Cut
		if rst {
			end = p.Reset
		}
		if n := end(); n != 1 {
			t.Errorf("%d connections ended, want 1", n)
		}
		c.ends(rst)
		eventually(t, "end", func() bool { return len(p.Conns()) == 0 })
	}
	p.Refuse(true)
	refused(t, p)
	p.Heal()
	c := dial(t, p)
	c.ask(1, 1, nil)
	c.answered(1, nil, soon)
}

// TestLoseAnswers: the request arrives, earlier answers do too, and the connection is cut where the answer would be.
func TestLoseAnswers(t *testing.T) {
	b, p := behind(t)
	for range 20 { // as reads fall
		p.LoseAnswers(0, 1)
		had := b.arrived()
		c := dial(t, p)
		c.ask(1, 100, []byte("before"))
		c.ask(0, 101, []byte("lost"))
		c.answered(100, []byte("before"), soon)
		c.ends(false)
		if got := b.arrived() - had; got != 2 {
			t.Fatalf("%d requests arrived, want 2", got)
		}
		c = dial(t, p)
		c.ask(0, 102, []byte("again"))
		c.answered(102, []byte("again"), soon)
	}
	if n := p.Lost(0); n != 20 {
		t.Errorf("%d answers lost, want 20", n)
	}
}

// TestEnds: the end of one side is the end of the other, behind what was sent before; a held end waits.
func TestEnds(t *testing.T) {
	b, p := behind(t)
	c := dial(t, p)
	p.Set(Up, Fault{Hold: true})
	c.ask(1, 1, nil)
	_ = c.Close()
	c2 := dial(t, p)
	eventually(t, "two connections", func() bool { return len(p.Conns()) == 2 })
	p.Heal()
	eventually(t, "request", func() bool { return b.arrived() == 1 })
	_ = c2.Close()
	eventually(t, "end", func() bool { return len(p.Conns()) == 0 })
	_ = b.ln.Close()
	refused(t, p)
}
