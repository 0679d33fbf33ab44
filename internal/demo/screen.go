package demo

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// screen writes progress. On a terminal a step that goes on is drawn over itself; elsewhere only whole lines are written.
type screen struct {
	out      io.Writer
	began    time.Time
	terminal bool
	open     bool // an unfinished line is on the terminal
	err      error
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, began: time.Now()}
	if f, ok := out.(*os.File); ok {
		s.terminal = term.IsTerminal(int(f.Fd()))
	}
	return s
}

// step says what is done now.
func (s *screen) step(format string, args ...any) {
	s.print(fmt.Sprintf("%5.1fs  ", time.Since(s.began).Seconds()) + fmt.Sprintf(format, args...) + "\n")
}

// working shows how far a step is; only terminals see it.
func (s *screen) working(format string, args ...any) {
	if s.terminal {
		s.print(fmt.Sprintf("%5.1fs  ", time.Since(s.began).Seconds()) + fmt.Sprintf(format, args...))
		s.open = true
	}
}

// print writes text in place of an unfinished line. The first error is kept, and nothing is written after it.
func (s *screen) print(text string) {
	if s.open {
		text = "\r\x1b[K" + text
	}
	s.open = false
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}
