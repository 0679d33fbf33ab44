package entry_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/configfile"
)

// TestPropertiesSyntax writes random keys and values with Java's escapes, in every way that Java's own syntax allows, and
// checks that they come back. The model is the pair itself.
func TestPropertiesSyntax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringMatching(`[ -~]{0,20}[!-~]`).Draw(t, "client id")
		want = strings.TrimSpace(want)
		escape := strings.NewReplacer(`\`, `\\`, "\t", `\t`)
		value := escape.Replace(want)
		if cut := rapid.IntRange(0, len(want)).Draw(t, "cut"); rapid.Bool().Draw(t, "continued") {
			end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
			// A blank at the start of a continuation is dropped by the syntax, so it is written as an escape.
			rest := escape.Replace(want[cut:])
			if strings.HasPrefix(rest, " ") {
				rest = `\` + rest
			}
			value = escape.Replace(want[:cut]) + `\` + end + "  \t" + rest
		}
		separator := rapid.SampledFrom([]string{"=", ":", " = ", "\t:  ", " "}).Draw(t, "separator")
		if separator == " " && strings.IndexAny(want, "=:") == 0 {
			separator = "="
		}
		text := "clusters A,B\n! c\\\nbootstrap.servers=x:1\n   A->B.enabled=true\nA.client.id" + separator + value
		c, err := configfile.Parse("x.properties", []byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := c.Clusters["A"].ClientID; got != want {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
	})
}
