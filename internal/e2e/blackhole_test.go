package e2e

import (
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// wall is a TCP relay in front of one listener that can stop passing bytes on without closing a connection: nothing is
// lost, it arrives when the wall is down again, as after a network that was split.
type wall struct {
	ln net.Listener
	to string

	mu    sync.Mutex
	open  chan struct{} // closed while bytes pass
	conns []net.Conn
	wg    sync.WaitGroup
}

func newWall(t *testing.T, to string) *wall {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wall{ln: ln, to: to, open: make(chan struct{})}
	close(w.open)
	w.wg.Go(w.accept)
	t.Cleanup(func() {
		w.down()
		_ = ln.Close()
		w.cut()
		w.wg.Wait()
	})
	return w
}

func (w *wall) addr() string { return w.ln.Addr().String() }

func (w *wall) accept() {
	for {
		in, err := w.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		w.wg.Go(func() { w.pass(in, out) })
		w.wg.Go(func() { w.pass(out, in) })
	}
}

func (w *wall) pass(from, to net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		<-open
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// up holds all bytes back.
func (w *wall) up() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

// down lets them pass, the held ones first.
func (w *wall) down() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

// cut closes every connection.
func (w *wall) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// walled starts a one-broker cluster with a second listener that is reached through a wall.
func walled(t *testing.T, name string, features map[string]int, props map[string]string) (*testcluster.Real, *wall) {
	t.Helper()
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream := "127.0.0.1:" + strconv.Itoa(probe.Addr().(*net.TCPAddr).Port)
	_ = probe.Close()
	w := newWall(t, upstream)
	all := map[string]string{
		"listeners":                      "CLIENTS://%CLIENT%,CONTROLLER://%CONTROLLER%,WALLED://" + upstream,
		"advertised.listeners":           "CLIENTS://%CLIENT%,WALLED://" + w.addr(),
		"listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT,WALLED:PLAINTEXT",
	}
	maps.Copy(all, props)
	r, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{Name: name, HeapMB: 384, Props: all, Features: features})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop() })
	return r, w
}

// behind is the flow as a worker sees it whose way to the target leads through the wall.
func (f *flow) behind(w *wall) *flow {
	g := *f
	g.yaml = strings.ReplaceAll(f.yaml, f.writes().BootstrapString(), w.addr())
	return &g
}

// TestWalledWorker cuts a worker off from the target without closing a connection, for longer than its session, while
// another takes its lanes and goes on; what it had sent arrives when the network is whole again.
func TestWalledWorker(t *testing.T) {
	t.Parallel()
	target, w := walled(t, "walled", nil, nil)
	f := newFlow(t, "walled", `wa-.*`, `walledg.*`, "")
	f.toward(target)
	f.createLoadTopics("wa-")
	stop := f.load("wa-")
	one := f.behind(w).process()
	f.remoteGrows("wa-plain", 500)
	w.up()
	two := f.process()
	two.says(f, "lanes assigned", 1, 60*time.Second)
	f.remoteGrows("wa-plain", 2000)
	f.remoteGrows("wa-old", 1000)
	w.down()
	f.remoteGrows("wa-plain", 500)
	one.says(f, "lanes assigned", 2, 60*time.Second)
	// Short cuts: connections reset, and walls shorter than a session.
	for range 4 {
		w.cut()
		f.remoteGrows("wa-plain", 300)
		w.up()
		pause.For(t.Context(), 3*time.Second)
		w.down()
		f.remoteGrows("wa-plain", 300)
	}
	stop()
	f.wellAtLast("wa-", one, two)
}
