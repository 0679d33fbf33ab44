//go:build unix

package mm2_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// TestCase67RegexMeaning: what values of topics in a properties file select, beside what MirrorMaker 2's own filter makes of
// them. Where MirrorMaker 2 does not start, we do not either, and say why; where a comma inside of an expression makes
// another one of it, or RE2 cannot do it, we refuse what MirrorMaker 2 takes.
func TestCase67RegexMeaning(t *testing.T) {
	names := strings.Fields("foo foobar xfoo FOO bar a aa aaa goo fo |oo")
	const brace = `topics: pattern "a{2": { at character 2 does not begin a repetition; write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`
	rows := []struct {
		value  string
		takes  string
		java   string // what MirrorMaker 2 takes, or its exception, if that differs
		refuse string // a part of our error
	}{
		{value: "foo", takes: "foo"},
		{value: "foo.*", takes: "foo foobar"},
		{value: ".*foo", takes: "foo xfoo"},
		{value: "foo|bar", takes: "foo bar"},
		{value: "foo, bar", takes: "foo bar"},
		{value: "foo ,bar", takes: "foo bar"},
		{value: " foo ", takes: "foo"},
		{value: "^foo$", takes: "foo"},
		{value: "(?i)FOO", takes: "foo FOO"},
		{value: "(?i)BAR, FOO", takes: "foo FOO bar"}, // the flag goes on
		{value: "(?i:BAR), FOO", takes: "FOO bar"},
		{value: "a{2}", takes: "aa"},
		{value: "[a-g&&[^a]]oo", takes: "foo goo"},
		{value: `\\p{Lower}oo`, takes: "foo goo"},
		{value: "", takes: ""},
		{value: "*", java: "!PatternSyntaxException", refuse: `topics: pattern "*": * at character 1 has nothing to repeat; write ".*" if a glob was meant`},
		{value: "foo*bar, *", java: "!PatternSyntaxException", refuse: `write ".*" if a glob was meant`},
		{value: "a{2,3}", java: "!PatternSyntaxException", refuse: brace},
		{value: "foo,", takes: "foo", java: "!ConfigException"}, // nothing but foo can be meant
		{value: "(?!x).*", java: "foo foobar FOO bar a aa aaa goo fo |oo", refuse: `(?!x) at character 1 is a look-ahead, which RE2 cannot do; write ".*" here and "x.*" in the exclude list`},
		{value: "(foo, xfoo)", java: "foo xfoo", refuse: `topics: pattern "(foo": ( at character 1 is never closed`},
		{value: "[f,g]oo", java: "foo goo |oo", refuse: `topics: pattern "[f": [ at character 1 is never closed`}, // | has become one of the class
		{value: `(f)o\\1*`, java: "fo", refuse: `\1 at character 5 is a back-reference, which RE2 cannot do`},
	}
	args := make([]string, 0, 1+len(rows))
	var asked []string
	for _, n := range names {
		asked = append(asked, hex.EncodeToString([]byte(n)))
	}
	args = append(args, strings.Join(asked, ","))
	for _, r := range rows {
		args = append(args, "x"+hex.EncodeToString([]byte(strings.ReplaceAll(r.value, `\\`, `\`))))
	}
	out, err := testcluster.RunJava(t.Context(), "testdata/Filter.java", args...)
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(rows) {
		t.Fatalf("%d answers to %d values: %s", len(answers), len(rows), out)
	}
	for i, r := range rows {
		if r.refuse == "" && r.java == "" {
			r.java = r.takes
		}
		if answers[i] != r.java {
			t.Errorf("topics = %s: MirrorMaker 2 takes %q, not %q", r.value, answers[i], r.java)
		}
		file := fmt.Appendf(nil, "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\ntopics = %s\ntopics.exclude =\n", r.value)
		cfg, err := configfile.Parse("mm2.properties", file)
		if r.refuse != "" {
			if err == nil || !strings.Contains(err.Error(), r.refuse) || !strings.Contains(err.Error(), "mm2.properties:5") {
				t.Errorf("topics = %s: %v, want %s", r.value, err, r.refuse)
			}
			continue
		}
		if err != nil {
			t.Errorf("topics = %s: %v", r.value, err)
			continue
		}
		s, err := cfg.Selection(cfg.Flows[0])
		if err != nil {
			t.Fatal(err)
		}
		var taken []string
		for _, n := range names {
			if s.Select(n).Mirrored {
				taken = append(taken, n)
			}
		}
		if got := strings.Join(taken, " "); got != r.takes {
			t.Errorf("topics = %s: takes %q, want %q", r.value, got, r.takes)
		}
	}
	// In YAML a list is a list, so that a comma may stand in an expression.
	f, err := mm2.NewFilter([]string{"a{2,3}"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": false, "aa": true, "aaa": true, "aaaa": false} {
		if ok, rule := f.Match(name); ok != want {
			t.Errorf("%s: %v, %s", name, ok, rule)
		}
	}
	var pe *mm2.PatternError
	if _, err := mm2.NewFilter([]string{"(?!x).*"}, nil); !errors.As(err, &pe) || pe.Nearest != "write topics = .* and topics.exclude = x.*" {
		t.Errorf("look-ahead: %v", err)
	}
}
