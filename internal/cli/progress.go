package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Pacing of progress: nothing is said about work that is done at once. A terminal gets one line that is written over;
// a log file gets a plain line now and then.
const (
	terminalAfter = 300 * time.Millisecond
	terminalEvery = 100 * time.Millisecond
	plainAfter    = 3 * time.Second
	plainEvery    = 5 * time.Second
)

// progress shows how far long work is. It is not safe for concurrent use.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	began    time.Time
	last     time.Time
	shown    bool // a line stands on the terminal
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, terminal: ok && term.IsTerminal(int(f.Fd())), now: time.Now, began: time.Now()}
}

func (p *progress) show(what string, done, of int) {
	now := p.now()
	after, every := plainAfter, plainEvery
	if p.terminal {
		after, every = terminalAfter, terminalEvery
	}
	if p.terminal && done == of {
		p.clear()
		return
	}
	if now.Sub(p.began) < after || now.Sub(p.last) < every {
		return
	}
	p.last = now
	// A progress line that cannot be written is no reason to end the work.
	if p.terminal {
		p.shown = true
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s: %d of %d", what, done, of)
		return
	}
	_, _ = fmt.Fprintf(p.w, "%s: %d of %d\n", what, done, of)
}

func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}
