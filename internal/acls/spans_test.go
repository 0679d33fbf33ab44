package acls

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// String is a span in short: "orders", "orders-*" (exact), "orders-*+" (wider than the pattern), with "." where a dot is
// taken for one.
func (s span) String() string {
	text := s.text
	if s.open {
		text += "*"
		if !s.exact {
			text += "+"
		}
	}
	if s.dot {
		text += " ."
	}
	return text
}

func TestSpansOf(t *testing.T) {
	for pattern, want := range map[string][]string{
		"orders":               {"orders"},
		`orders\.eu`:           {"orders.eu"},
		`\Qorders.eu\E`:        {"orders.eu"},
		"orders.eu":            {"orders.eu ."},
		".*":                   {"*"},
		"orders-.*":            {"orders-*"},
		"^orders-.*$":          {"orders-*"},
		"(orders-.*)":          {"orders-*"},
		"orders.eu-.*":         {"orders.eu-* ."},
		"orders-.+":            {"orders-*+"},
		"orders-.?":            {"orders-*+"},
		"orders-.{3}":          {"orders-*+"},
		"orders-[0-9]+":        {"orders-*+"},
		"orders-[0-2]":         {"orders-0", "orders-1", "orders-2"},
		"orders-[0-2].*":       {"orders-0*", "orders-1*", "orders-2*"},
		"orders-[a-zA-Z0-9]+":  {"orders-*+"},
		"orders-.*-eu":         {"orders-*+"},
		"orders|payments":      {"orders", "payments"},
		"orders|orphans":       {"orders", "orphans"},
		"(eu|us)-orders":       {"eu-orders", "us-orders"},
		"(eu|us)-orders-.*":    {"eu-orders-*", "us-orders-*"},
		"orders(-dlq)?":        {"orders", "orders-dlq"},
		"orders-[ab]":          {"orders-a", "orders-b"},
		"orders-[a-z][a-z]":    {"orders-*+"},
		"(ab)+":                {"ab*+"},
		"(ab)*":                {"*+"},
		"(ab){2,}":             {"ab*+"},
		"(ab){0,2}":            {"*+"},
		".*-eu":                {"*+"},
		"[a-z]+":               {"*+"},
		"(?i)orders":           {"*+"},
		"(?:orders)":           {"orders"},
		"orders{":              {"*+"},
		"[a-z&&[^b]]rders":     {"*+"},
		`\p{Lower}rders`:       {"*+"},
		"(?!secret).*":         {"*+"},
		"":                     nil,
		"orders-(a|b|c)(d|e)x": {"orders-adx", "orders-aex", "orders-bdx", "orders-bex", "orders-cdx", "orders-cex"},
	} {
		var got []string
		for _, s := range spansOf(pattern, false) {
			got = append(got, s.String())
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", pattern, diff)
		}
	}
	if got := spansOf(" orders ", false); len(got) != 1 || got[0].String() != "orders" {
		t.Errorf("with blanks: %v", got)
	}
	if got := spansOf("orders", true); len(got) != 1 || got[0].String() != "*+" {
		t.Errorf("behind a pattern that sets flags: %v", got)
	}
	if got := spansOf("123-.*", true); len(got) != 1 || !got[0].open {
		t.Errorf("behind a pattern that sets flags: %v", got)
	}
}

// TestSpansCover: whatever name a pattern accepts is in a span, but where a "." was taken for a dot (AC2).
func TestSpansCover(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "-", `\.`, ".", ".*", ".+", ".?", "[ab]", "[a-c]+", "(a|b-)", "(ab)?", "(a|b.*)", "a*", "b{2}", "a{0,1}", "^", "$", `\w`, `\d*`, "|", "(?:b|)"})
	name := rapid.StringMatching(`[ab.c-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pattern"), "")
		re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		spans := spansOf(pattern, false)
		if len(spans) > mostSpans {
			t.Fatalf("%d spans", len(spans))
		}
		for range 20 {
			n := name.Draw(t, "name")
			covered := slices.ContainsFunc(spans, func(s span) bool {
				// Where a "." is taken for a dot the span is compared with any character in its place.
				text := regexp.QuoteMeta(s.text)
				if s.dot {
					text = strings.ReplaceAll(text, `\.`, ".")
				}
				if s.open {
					text += ".*"
				}
				return regexp.MustCompile(`\A` + text + `\z`).MatchString(n)
			})
			if n != "" && re.MatchString(n) && !covered {
				t.Fatalf("%q accepts %q, which is in none of %v", pattern, n, spans)
			}
		}
		// The other way round: an exact span opens nothing that the pattern does not accept.
		for _, s := range spans {
			if strings.ContainsAny(pattern, "^$") {
				break // in the middle of a pattern they accept nothing, which is not told apart
			}
			if s.open && s.exact && !re.MatchString(s.text+"any") {
				t.Fatalf("%q does not accept %q of the exact span %v", pattern, s.text+"any", s)
			}
			if !s.open && !re.MatchString(s.text) {
				t.Fatalf("%q does not accept %q", pattern, s.text)
			}
		}
	})
}
