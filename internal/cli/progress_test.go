package cli

import (
	"bytes"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	type step struct {
		at       time.Duration
		done, of int
	}
	for _, c := range []struct {
		name     string
		terminal bool
		steps    []step
		want     string
	}{
		{"done at once, on a terminal", true, []step{{10 * time.Millisecond, 1, 2}, {20 * time.Millisecond, 2, 2}}, ""},
		{"done at once, in a file", false, []step{{time.Second, 1, 2}, {2 * time.Second, 2, 2}}, ""},
		{
			"long, on a terminal: one line, written over, gone at the end", true,
			[]step{{400 * time.Millisecond, 1, 9}, {420 * time.Millisecond, 2, 9}, {time.Second, 3, 9}, {2 * time.Second, 9, 9}},
			"\r\x1b[Kreading: 1 of 9\r\x1b[Kreading: 3 of 9\r\x1b[K",
		},
		{
			"long, in a file: a line now and then", false,
			[]step{{time.Second, 1, 9}, {4 * time.Second, 2, 9}, {5 * time.Second, 3, 9}, {9 * time.Second, 4, 9}, {10 * time.Second, 9, 9}},
			"reading: 2 of 9\nreading: 4 of 9\n",
		},
	} {
		var b bytes.Buffer
		p := newProgress(&b)
		if p.terminal {
			t.Fatal("a buffer is no terminal")
		}
		p.terminal = c.terminal
		for _, s := range c.steps {
			p.now = func() time.Time { return p.began.Add(s.at) }
			p.show("reading", s.done, s.of)
		}
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}
