package prose_test

import (
	"testing"

	"tidemark/internal/prose"
)

func TestHanging(t *testing.T) {
	for _, c := range []struct{ head, text, want string }{
		{"  - ", "one two  three", "  - one two\n    three\n"},
		{"  - ", "one\ntwo", "  - one two\n"},
		{"- ", "a-word-that-is-longer-than-a-line x", "- a-word-that-is-longer-than-a-line\n  x\n"},
		{"- ", "", "- \n"},
	} {
		if got := prose.Hanging(c.head, c.text, 12); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
