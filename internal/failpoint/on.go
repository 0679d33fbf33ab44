//go:build failpoints && unix

package failpoint

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// point is what is to happen at a place, and how often it is still to be passed.
type point struct {
	left int
	sig  syscall.Signal
}

// armed is read once. It is the process that fails, so it is the process's: a value handed down to every place would be
// in the way of the code that it marks.
var armed = sync.OnceValue(func() *points {
	all, err := parse(os.Getenv("TIDEMARK_FAILPOINTS"))
	if err != nil {
		panic(err)
	}
	return &points{all: all}
})

type points struct {
	mu  sync.Mutex
	all map[string]*point
}

// parse reads "name=n,name=n:stop".
func parse(s string) (map[string]*point, error) {
	all := map[string]*point{}
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			continue
		}
		name, count, _ := strings.Cut(part, "=")
		count, how, _ := strings.Cut(count, ":")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || how != "" && how != "stop" {
			return nil, fmt.Errorf("failpoint %q: want name=n or name=n:stop", part)
		}
		p := &point{left: n, sig: syscall.SIGKILL}
		if how == "stop" {
			p.sig = syscall.SIGSTOP
		}
		all[name] = p
	}
	return all, nil
}

// due says whether a signal is to be sent now.
func (ps *points) due(name string) (syscall.Signal, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.all[name]
	if p == nil {
		return 0, false
	}
	if p.left--; p.left != 0 {
		return 0, false
	}
	return p.sig, true
}

// Hit says that the process has come to a point.
func Hit(name string) {
	sig, ok := armed().due(name)
	if !ok {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint: %s: %v\n", name, sig) //nolint:forbidigo // there is nobody to give it a stream
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		panic(err)
	}
}

var skew = sync.OnceValue(func() time.Duration {
	d, err := time.ParseDuration("0" + strings.TrimLeft(os.Getenv("TIDEMARK_CLOCK"), "+-"))
	switch {
	case os.Getenv("TIDEMARK_CLOCK") == "":
		return 0
	case err != nil:
		panic(err)
	case strings.HasPrefix(os.Getenv("TIDEMARK_CLOCK"), "-"):
		return -d
	}
	return d
})

// Skew is how far the wall clock is to be wrong.
func Skew() time.Duration { return skew() }

// Watch has the process answer SIGUSR1 until the returned func is called.
func Watch() (stop func()) {
	ask := make(chan os.Signal, 1)
	signal.Notify(ask, syscall.SIGUSR1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range ask {
			var b bytes.Buffer
			report(&b)
			_, _ = os.Stderr.Write(b.Bytes()) //nolint:forbidigo // the same
		}
	})
	return func() {
		signal.Stop(ask)
		close(ask)
		wg.Wait()
	}
}

// report writes what lives, and what every goroutine is at. The last line says that it is whole.
func report(b *bytes.Buffer) {
	for range 2 { // the second round takes what finalizers and pools kept
		runtime.GC()
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(b, "failpoint: goroutines=%d heap=%d sys=%d\n", runtime.NumGoroutine(), m.HeapAlloc, m.Sys-m.HeapReleased)
	_ = pprof.Lookup("goroutine").WriteTo(b, 1)
	b.WriteString("failpoint: end of report\n")
}
