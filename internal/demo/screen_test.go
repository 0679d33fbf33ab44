package demo

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
)

func TestScreen(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{"file", false, "T  one\nT  two\n"},
		{"terminal", true, "T  one\nT  1 of 2\r\x1b[KT  2 of 2\r\x1b[KT  two\n"},
	} {
		var out bytes.Buffer
		s := newScreen(&out)
		s.terminal = c.terminal
		s.step("one")
		s.working("%d of 2", 1)
		s.working("%d of 2", 2)
		s.step("two")
		if got := regexp.MustCompile(` *\d+\.\ds`).ReplaceAllString(out.String(), "T"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// broken is an output that is gone, such as a closed pipe.
type broken struct{}

var errGone = errors.New("gone")

func (broken) Write([]byte) (int, error) { return 0, errGone }

func TestOutputGone(t *testing.T) {
	s := newScreen(broken{})
	if err := verdict(s, nil); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
}
