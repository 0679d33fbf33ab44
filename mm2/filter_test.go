package mm2

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/javapattern"
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
		"*":           `topics.exclude: pattern "*": * at character 1 has nothing to repeat; write ".*" if a glob was meant`,
		"(?!test).*":  `topics.exclude: pattern "(?!test).*": (?!test) at character 1 is a look-ahead, which RE2 cannot do; include only what is wanted: "test.*"`,
		".*(?<=-dlq)": `topics.exclude: pattern ".*(?<=-dlq)": (?<=-dlq) at character 3 is a look-behind, which RE2 cannot do; say it with two lists: what to include and what to exclude`,
		"a*+b":        `topics.exclude: pattern "a*+b": *+ at character 2 is a possessive quantifier, which RE2 cannot do; write "a*b"`,
		"a(b":         `topics.exclude: pattern "a(b": ( at character 2 is never closed; write \( or \) for the character (a comma ends a pattern of a list)`,
		"a)(b":        `topics.exclude: pattern "a)(b": ) at character 2 closes nothing; write \( or \) for the character (a comma ends a pattern of a list)`,
		"[a":          `topics.exclude: pattern "[a": [ at character 1 is never closed; write \[ for the character (a comma ends a pattern of a list)`,
		"a{2":         `topics.exclude: pattern "a{2": { at character 2 does not begin a repetition; write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`,
		"  a(b  ":     `topics.exclude: pattern "a(b": ( at character 2 is never closed; write \( or \) for the character (a comma ends a pattern of a list)`,
	} {
		_, err := NewFilter(DefaultTopics(), []string{"fine", pattern})
		var pe *PatternError
		if !errors.As(err, &pe) || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", pattern, err, want)
		}
	}
	// What is commonest in an include list is said in the words of the two lists.
	for pattern, want := range map[string]string{
		"(?!x).*":        `groups: pattern "(?!x).*": (?!x) at character 1 is a look-ahead, which RE2 cannot do; write groups = .* and groups.exclude = x.*`,
		"(?!x)(?!y).*-a": `groups: pattern "(?!x)(?!y).*-a": (?!x) at character 1 is a look-ahead, which RE2 cannot do; write groups = .*-a and groups.exclude = x.*, y.*`,
	} {
		if _, err := NewKeyedFilter("groups", []string{pattern}, nil); err == nil || err.Error() != want {
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
}

// TestCase16DefaultExcludes: which settings of topics are left to the target by default, by the names that topics have.
func TestCase16DefaultExcludes(t *testing.T) {
	f, err := NewKeyedFilter("config.properties", nil, DefaultConfigPropertiesExclude())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{
		"message.timestamp.before.max.ms": true, "message.timestamp.after.max.ms": true, "message.timestamp.difference.max.ms": true,
		"message.timestamp.type": true, "min.insync.replicas": true, "unclean.leader.election.enable": true,
		"leader.replication.throttled.replicas": true, "follower.replication.throttled.replicas": true,
		"retention.ms": false, "cleanup.policy": false, "max.message.bytes": false, "segment.ms": false,
	} {
		if rule, excluded := f.Excluded(key); excluded != want {
			t.Errorf("%s: %v, %s", key, excluded, rule)
		}
	}
}

// Against the definition: the list joined by "|" and matched as one expression, as
// Java does it, gives the same verdict as the patterns one by one.
func TestListIsTheJoinedExpression(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "A.*", "(?i)b", "(?-i)c", "(?i:A)b", "[ab]+", "a|b", "c?", `\.`, "(a|(?i)b)c", "(?s)a.", ""})
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(element, 1, 5).Draw(t, "patterns")
		joined, _, err := javapattern.Compile(strings.Join(patterns, "|"), 0)
		if err != nil {
			t.Fatal(err)
		}
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
		re, _, err := javapattern.Compile(strings.TrimSpace(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		if ok, rule := flt.Match(name); ok != re.MatchString(name) || rule == "" {
			t.Fatalf("%q against %q: %v, %s", name, text, ok, rule)
		}
	})
}
