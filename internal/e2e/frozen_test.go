package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// says waits until a worker's log has a text.
func (w *worker) says(f *flow, text string, times int, within time.Duration) {
	f.tb.Helper()
	f.until(within, "worker says "+text, func(context.Context) (bool, string) {
		return strings.Count(w.output(), text) >= times, "it does not"
	})
}

// TestFrozenWorker freezes a worker under load for longer than its session, so that another one takes its lanes, and lets
// it run on: it must not write any more, and comes back as a member.
func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "frozen", `fr-.*`, `frozeng.*`, "")
	f.createLoadTopics("fr-")
	stop := f.load("fr-")
	one := f.process()
	f.remoteGrows("fr-plain", 500)
	two := f.process()
	two.says(f, "lanes assigned", 1, 40*time.Second)
	f.remoteGrows("fr-plain", 500)
	for _, w := range []*worker{one, two} {
		other := two
		if w == two {
			other = one
		}
		n := strings.Count(other.output(), "lanes assigned")
		if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		other.says(f, "lanes assigned", n+1, 60*time.Second)
		f.remoteGrows("fr-plain", 500)
		if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		n = strings.Count(w.output(), "lanes assigned")
		w.says(f, "lanes assigned", n+1, 60*time.Second)
		f.remoteGrows("fr-plain", 500)
	}
	stop()
	f.wellAtLast("fr-", one, two)
}
