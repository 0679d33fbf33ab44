package prose_test

import (
	"os/exec"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/prose"
)

// TestShellWord: what a shell makes of the word is the text again, whatever is in it.
func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"billing": "billing", "b1:9092,b2:9092": "b1:9092,b2:9092", "": "''", "my group": "'my group'", "o'clock": `'o'\''clock'`,
		"A->B": "'A->B'", "$HOME `id` \"x\"": "'$HOME `id` \"x\"'", "a\x1b[2J'\\\n": `$'a\x1b[2J\'\\\x0a'`, "caf\u00e9": "'caf\u00e9'", "x\xff1": `$'x\xff1'`,
	} {
		got := prose.ShellWord(text)
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		said, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+got).Output()
		if err != nil || string(said) != text {
			t.Errorf("%s is %q for a shell (%v), want %q", got, said, err, text)
		}
	}
}

// TestPlainShells: without characters that a terminal obeys any shell gives the word back.
func TestPlainShells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z'"$>\\ *&;|~#()-]{0,8}`).Draw(t, "word")
		out, err := exec.Command("sh", "-c", "printf %s "+prose.ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Fatalf("%q came back as %q, %v", word, out, err)
		}
	})
}
