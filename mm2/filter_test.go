package mm2

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func filter(t testing.TB, include, exclude []string) *Filter {
	t.Helper()
	f, err := NewFilter(include, exclude)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPatternsMatchWholeNames(t *testing.T) {
	names := []string{"foo", "foobar", "xfoo", "bar", "FOO", "aa", "aaaa", "a{b", "foo.bar", "foo-bar"}
	for _, tc := range []struct {
		include []string
		want    []string
	}{
		{[]string{"foo"}, []string{"foo"}},
		{[]string{"foo.*"}, []string{"foo", "foobar", "foo.bar", "foo-bar"}},
		{[]string{"foo|bar"}, []string{"foo", "bar"}},
		{[]string{"foo", "bar"}, []string{"foo", "bar"}},
		{[]string{" foo "}, []string{"foo"}},
		{[]string{"^foo$"}, []string{"foo"}},
		{[]string{"(?m)^foo$"}, []string{"foo"}},
		{[]string{"(?i)FOO"}, []string{"foo", "FOO"}},
		{[]string{"(?i)BAR", "Foo"}, []string{"bar", "foo", "FOO"}}, // the flag goes on, as in Java's join
		{[]string{"((?i)BAR)", "Foo"}, []string{"bar"}},
		{[]string{"(?i:BAR)", "Foo"}, []string{"bar"}},
		{[]string{"(?i)BAR", "(?-i)Foo", "foo"}, []string{"bar", "foo"}},
		{[]string{"(a)(?i)BAR|BAR", "Foo"}, []string{"bar", "foo", "FOO"}},
		{[]string{"(b)ar", "((?i)x)", "Foo"}, []string{"bar"}},
		{[]string{"[^]]{3}"}, []string{"foo", "bar", "FOO", "a{b"}},
		{[]string{"[]f]oo"}, []string{"foo"}},
		{[]string{"[^]a-z]{3}"}, []string{"FOO"}},
		{[]string{"a{2,3}"}, []string{"aa"}},
		{[]string{"a{2,}"}, []string{"aa", "aaaa"}},
		{[]string{`a\{b`}, []string{"a{b"}},
		{[]string{`a[{]b`}, []string{"a{b"}},
		{[]string{`\Qa{b\E`}, []string{"a{b"}},
		{[]string{`foo[\-\.]bar`}, []string{"foo.bar", "foo-bar"}},
		{[]string{"foo.bar"}, []string{"foo.bar", "foo-bar"}},
		{[]string{`foo\x{2e}bar`}, []string{"foo.bar"}},
		{[]string{""}, nil},
		{nil, nil},
		{DefaultTopics(), names},
	} {
		f := filter(t, tc.include, nil)
		for _, n := range names {
			if ok, rule := f.Match(n); ok != slices.Contains(tc.want, n) {
				t.Errorf("%q: %q is %v: %s", tc.include, n, ok, rule)
			}
		}
	}
}

func TestUnusablePatternsAreNamed(t *testing.T) {
	for pattern, want := range map[string]string{
		"*":             `topics.exclude: pattern "*": nothing to repeat before *; write ".*" if a glob was meant`,
		"*-orders":      `topics.exclude: pattern "*-orders": nothing to repeat before *; write ".*-orders" if a glob was meant`,
		"+x":            `topics.exclude: pattern "+x": nothing to repeat before +; write \+ for the character`,
		"(?!test).*":    `topics.exclude: pattern "(?!test).*": look-ahead and look-behind are no RE2 syntax; list such names in the exclude list instead`,
		".*(?<!-dlq)":   `topics.exclude: pattern ".*(?<!-dlq)": look-ahead and look-behind are no RE2 syntax; list such names in the exclude list instead`,
		"(?>a|b)":       `topics.exclude: pattern "(?>a|b)": atomic groups are no RE2 syntax; write "(?:a|b)"`,
		"a*+b":          `topics.exclude: pattern "a*+b": possessive quantifiers are no RE2 syntax; write "a*b"`,
		`(a)\1`:         `topics.exclude: pattern "(a)\\1": back-references are no RE2 syntax; list the names`,
		`a\R`:           `topics.exclude: pattern "a\\R": unknown escape \R; Go's RE2 syntax is at https://pkg.go.dev/regexp/syntax`,
		"a**":           `topics.exclude: pattern "a**": invalid nested repetition operator; Go's RE2 syntax is at https://pkg.go.dev/regexp/syntax`,
		"a(b":           `topics.exclude: pattern "a(b": missing closing ); write \( or \) for the character (a comma ends a pattern of a list)`,
		"a)(b":          `topics.exclude: pattern "a)(b": unexpected ); write \( or \) for the character (a comma ends a pattern of a list)`,
		"[a":            `topics.exclude: pattern "[a": missing closing ]; write \[ for the character (a comma ends a pattern of a list)`,
		"a{2":           `topics.exclude: pattern "a{2": '{' does not begin a repetition; write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`,
		"a{,3}":         `topics.exclude: pattern "a{,3}": '{' does not begin a repetition; write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`,
		"[a-z&&[^x]]":   `topics.exclude: pattern "[a-z&&[^x]]": a class inside a class is no RE2 syntax; write \[ and \& for the characters, or one plain class such as [a-z]`,
		"[][a]":         `topics.exclude: pattern "[][a]": a class inside a class is no RE2 syntax; write \[ and \& for the characters, or one plain class such as [a-z]`,
		"[^][a]":        `topics.exclude: pattern "[^][a]": a class inside a class is no RE2 syntax; write \[ and \& for the characters, or one plain class such as [a-z]`,
		"[a&&b]":        `topics.exclude: pattern "[a&&b]": a class inside a class is no RE2 syntax; write \[ and \& for the characters, or one plain class such as [a-z]`,
		"[[:alpha:]]+":  `topics.exclude: pattern "[[:alpha:]]+": a class inside a class is no RE2 syntax; write \[ and \& for the characters, or one plain class such as [a-z]`,
		`\Qa.b`:         `topics.exclude: pattern "\\Qa.b": \Q has no \E; add \E`,
		`a\`:            `topics.exclude: pattern "a\\": trailing backslash at end of expression; Go's RE2 syntax is at https://pkg.go.dev/regexp/syntax`,
		"(?x)a b":       `topics.exclude: pattern "(?x)a b": invalid or unsupported Perl syntax; Go's RE2 syntax is at https://pkg.go.dev/regexp/syntax`,
		"  a(b  ":       `topics.exclude: pattern "a(b": missing closing ); write \( or \) for the character (a comma ends a pattern of a list)`,
		`\p{javaLower}`: `topics.exclude: pattern "\\p{javaLower}": invalid character class range; Go's RE2 syntax is at https://pkg.go.dev/regexp/syntax`,
	} {
		_, err := NewFilter(DefaultTopics(), []string{"fine", pattern})
		var pe *PatternError
		if !errors.As(err, &pe) || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", pattern, err, want)
		}
	}
	if _, err := NewKeyedFilter("groups", []string{"("}, nil); err == nil || !strings.HasPrefix(err.Error(), `groups: pattern "(":`) {
		t.Errorf("group pattern: %v", err)
	}
}

func TestMatchNamesTheRule(t *testing.T) {
	f := filter(t, []string{"orders", "pay.*", "a", "b", "c"}, DefaultTopicsExclude())
	for name, want := range map[string]struct {
		ok   bool
		rule string
	}{
		"orders":       {true, `included by topics pattern "orders"`},
		"payments":     {true, `included by topics pattern "pay.*"`},
		"pay.internal": {false, `excluded by topics.exclude pattern ".*[\\-\\.]internal"`},
		"pay.replica":  {false, `excluded by topics.exclude pattern ".*\\.replica"`},
		"__pay":        {false, `excluded by topics.exclude pattern "__.*"`},
		"users":        {false, `not included by topics ("orders", "pay.*", "a" and 2 more)`},
	} {
		if ok, rule := f.Match(name); ok != want.ok || rule != want.rule {
			t.Errorf("%q: %v, %s", name, ok, rule)
		}
	}
	if _, rule := filter(t, nil, nil).Match("x"); rule != "not included: topics is empty" {
		t.Errorf("empty list: %s", rule)
	}
	g, err := NewKeyedFilter("groups", DefaultGroups(), DefaultGroupsExclude())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"billing": true, "console-consumer-1": false, "connect-x": false, "__x": false, "console": true} {
		if ok, rule := g.Match(name); ok != want {
			t.Errorf("group %q: %v, %s", name, ok, rule)
		}
	}
	if _, err := NewKeyedFilter("config.properties", nil, DefaultConfigPropertiesExclude()); err != nil {
		t.Error(err)
	}
}

// Against the definition: the list joined by "|" and matched as one expression, as
// Java does it, gives the same verdict as the patterns one by one.
func TestListIsTheJoinedExpression(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "A.*", "(?i)b", "(?-i)c", "(?i:A)b", "[ab]+", "a|b", "c?", `\.`, "(a|(?i)b)c", "(?s)a.", ""})
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(element, 1, 5).Draw(t, "patterns")
		joined := regexp.MustCompile(`\A(?:` + strings.Join(patterns, "|") + `)\z`)
		f, err := NewFilter(patterns, nil)
		if err != nil {
			t.Fatal(err)
		}
		name := rapid.StringMatching(`[abcABC.]{0,4}`).Draw(t, "name")
		if ok, rule := f.Match(name); ok != joined.MatchString(name) {
			t.Fatalf("%q against %q: %v, %s", name, patterns, ok, rule)
		}
	})
}

// FuzzPattern: any text is a usable filter or an error that names it, and a
// pattern that is accepted alone never matches part of a name only.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{".*", "a{2,3}", "(?i)a", "[a&&b]", `\Qx\E`, "(?<!a)", "*", `[\]`, `\x{`, "[]a]", "{", "(?i"} {
		f.Add(s, "name")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		flt, err := NewFilter([]string{text}, nil)
		if err != nil {
			var pe *PatternError
			if !errors.As(err, &pe) || pe.Key != "topics" || pe.Pattern != strings.TrimSpace(text) || pe.Reason == "" || pe.Nearest == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		re := regexp.MustCompile(`\A(?:` + strings.TrimSpace(text) + `)\z`)
		if ok, rule := flt.Match(name); ok != re.MatchString(name) || rule == "" {
			t.Fatalf("%q against %q: %v, %s", name, text, ok, rule)
		}
	})
}
