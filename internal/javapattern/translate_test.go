//go:build unix

package javapattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What a pattern matches, checked against Java too.
func TestTranslations(t *testing.T) {
	type row struct {
		pattern string
		yes, no []string
	}
	words := strings.Fields
	rows := []row{
		{"orders", words("orders"), words("orders2 xorders ORDERS")},
		{".*", []string{"", "x", "a.b"}, []string{"a\nb", "a\u2028b", "\u0085"}},
		{"(?s).*", []string{"a\nb", "\u0085"}, nil},
		{"(?d).*", []string{"a\rb", "\u0085"}, []string{"a\nb"}},
		{"^foo$|^bar$", words("foo bar"), []string{"foo\n", "foobar"}},
		{`foo\Z`, words("foo"), []string{"foo\n"}},
		{`(foo$)?`, []string{"", "foo"}, []string{"foo\n"}},
		{"(?m)^foo$", words("foo"), []string{"\nfoo", "foo\n"}},
		{`\Qa.b*\E.`, words("a.b*x"), words("axb*x a.b*")},
		{`[a-z&&[^x]]+`, words("abc y"), words("x axb A")},
		{`[a-z&&[def]]`, words("d e"), words("a x")},
		{`[a-z&&def]`, words("d e"), words("a x")},
		{`[a-m[x-z]]+`, words("axz"), words("n w")},
		{`[^a[b]]`, words("c"), words("a b")},
		{`[a[^b]]`, words("a c"), words("b")},
		{`[]a]+`, words("]a"), words("b")},
		{`[a-]+`, words("a-"), words("b")},
		{`[\w&&[^\d]]+`, words("a_Z"), words("1 a1")},
		{`\p{Alpha}\p{Lower}\p{Upper}\p{Digit}`, words("aaA1"), words("\u00e9aA1 aAA1")},
		{`\p{Punct}+`, words(`!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`), words("a \u00e9")},
		{`\p{javaLowerCase}+`, words("a\u00e9\u00aa"), words("A 1")},
		{`\p{L}+`, words("a\u00c9\u4e2d"), words("1 -")},
		{`\pL\PL`, words("a1"), words("ab 1a")},
		{`\p{IsLatin}+`, words("a\u00e9"), words("\u03b1")},
		{`\p{script=GREEK}`, words("\u03b1"), words("a")},
		{`\s`, []string{" ", "\t", "\v", "\f"}, []string{"\u00a0", "\u0085"}},
		{`\h`, []string{" ", "\t", "\u00a0", "\u3000"}, []string{"\n", "\v"}},
		{`\v`, []string{"\n", "\v", "\r", "\u0085", "\u2028"}, []string{" ", "\t"}},
		{`[\v-\r]`, []string{"\v", "\f", "\r"}, []string{"\n"}},
		{`a\Rb`, []string{"a\nb", "a\r\nb", "a\u2029b"}, []string{"a\n\nb", "ab"}},
		{`\w+`, words("a_1"), words("\u00e9 a-b")},
		{`\d+`, words("123"), []string{"\u0663"}},
		{`a\b-\bb`, words("a-b"), nil},
		{`\0101\x42\x{43}\u0044\cA\e\a\t`, []string{"ABCD\x01\x1b\a\t"}, nil},
		{`\uD83D\uDE00`, []string{"\U0001f600"}, nil},
		{`\0400`, []string{" 0"}, []string{"\u0100"}},
		{`(?<kind>a|b)-(?<n>\d)`, words("a-1 b-2"), words("a-b")},
		{"(?i)ask", words("ask ASK aSk"), []string{"a\u017fk", "as\u212a"}},
		{"(?iu)ask", []string{"ask", "a\u017fk", "as\u212a"}, nil},
		{"(?iu)\u00e9", words("\u00e9 \u00c9"), words("e")},
		{"(?i)\u00e9", words("\u00e9"), words("\u00c9")},
		{"(?i)[a-c]", words("a B"), words("d")},
		{"(?i)[^a]", words("b"), words("a A")},
		{"(?i:a)b", words("ab Ab"), words("aB")},
		{"a(?i)b|c", words("ab aB c C"), words("Ab")},
		{"(a(?i)b)c", words("abc aBc"), words("abC")},
		{"(?u)\u00e9(?x) # a comment\n b +", words("\u00e9b \u00e9bb"), []string{"\u00c9", "\u00e9 b"}},
		{`(?x)a\ b`, []string{"a b"}, words("ab")},
		{"a{2}b{1,2}c{0,}d*?e??", words("aabb aabcde"), words("abb")},
		{"a||b", []string{"a", "", "b"}, words("ab")},
		{"(|a)+", []string{"", "a", "aa"}, words("b")},
		{"]}a", words("]}a"), nil},
		{`\G\Aa\z`, words("a"), words("b")},
		{"[a&&b]", nil, words("a b &")},
		{"", []string{""}, words("a")},
	}
	questions := make([]question, len(rows))
	for i, r := range rows {
		questions[i] = question{pattern: r.pattern, names: slices.Concat(r.yes, r.no)}
	}
	askJava(t, questions)
	for i, r := range rows {
		re, _, err := Compile(r.pattern, 0)
		if err != nil {
			t.Errorf("%q: %v", r.pattern, err)
			continue
		}
		if questions[i].refused != "" {
			t.Errorf("%q: Java refuses it: %s", r.pattern, questions[i].refused)
			continue
		}
		for j, n := range questions[i].names {
			want := j < len(r.yes)
			if re.MatchString(n) != want || questions[i].matches[j] != want {
				t.Errorf("%q against %q: %v, Java %v, want %v", n, r.pattern, re.MatchString(n), questions[i].matches[j], want)
			}
		}
	}
}

// Each refusal names the construct, where it is and what to write. java says whether Java takes the pattern.
func TestRefusals(t *testing.T) {
	const comma = " (a comma ends a pattern of a list)"
	var questions []question
	var takes []bool
	for _, r := range []struct {
		pattern string
		java    bool
		want    string
	}{
		{"(?!x).*", true, `(?!x) at character 1 is a look-ahead, which RE2 cannot do; write ".*" here and "x.*" in the exclude list`},
		{"^(?!test-).+$", true, `(?!test-) at character 2 is a look-ahead, which RE2 cannot do; write "^.+$" here and "test-.*" in the exclude list`},
		{"(?!a|b)(?!.*-dlq$).*", true, `(?!a|b) at character 1 is a look-ahead, which RE2 cannot do; write ".*" here and "(?:a|b).*" and ".*-dlq" in the exclude list`},
		{"(?!.*test.*)orders-.*", true, `(?!.*test.*) at character 1 is a look-ahead, which RE2 cannot do; write "orders-.*" here and ".*test.*" in the exclude list`},
		{".*(?<!-dlq)", true, `(?<!-dlq) at character 3 is a look-behind, which RE2 cannot do; write ".*" here and ".*-dlq" in the exclude list`},
		{".*(?<!-dlq)$", true, `(?<!-dlq) at character 3 is a look-behind, which RE2 cannot do; write ".*$" here and ".*-dlq" in the exclude list`},
		{"a(?!b).*", true, `(?!b) at character 2 is a look-ahead, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"(?=a).*", true, `(?=a) at character 1 is a look-ahead, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"(?<=x)y", true, `(?<=x) at character 1 is a look-behind, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"((?!x).)*", true, `(?!x) at character 2 is a look-ahead, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"(?!x).*|y", true, `(?!x) at character 1 is a look-ahead, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"(?i)(?!x).*", true, `(?!x) at character 5 is a look-ahead, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"(?!a{1,2}).*", true, `(?!a{1,2}) at character 1 is a look-ahead, which RE2 cannot do; say it with two lists: what to include and what to exclude`},
		{"\u00e9(?>a|b)", true, "(?> at character 2 begins an atomic group, which RE2 cannot do; write \"\u00e9(?:a|b)\""},
		{"a*+b", true, `*+ at character 2 is a possessive quantifier, which RE2 cannot do; write "a*b"`},
		{"a{2,3}+", true, `{2,3}+ at character 2 is a possessive quantifier, which RE2 cannot do; write "a{2,3}"`},
		{`(a)\1`, true, `\1 at character 4 is a back-reference, which RE2 cannot do; list the names`},
		{`(?<n>a)\k<n>`, true, `\k at character 8 begins a back-reference, which RE2 cannot do; list the names`},
		{`\X`, true, `\X at character 1 is a grapheme, which RE2 does not know; write . for one character`},
		{`\N{DIGIT ONE}`, true, `\N at character 1 begins the name of a character, which RE2 does not know; write \x{..}`},
		{`(?U)\w`, true, `(?U at character 1 sets a flag that RE2 does not know; leave it out, and write \p{L} for letters, \p{Nd} for digits`},
		{`\p{InGreek}`, true, `\p{InGreek} at character 1 is no property of characters that can be translated; write the block as a range: [\x{370}-\x{3FF}] for \p{InGreek}`},
		{`\p{alpha}`, false, `\p{alpha} at character 1 is no property of characters that can be translated; write \p{Alpha}`},
		{`(?i)\p{Lu}`, true, `\p{Lu} at character 5 is of one case, which releases of Java read differently under (?i); write \p{L} or \p{Alpha}`},
		{`(?iu)[a-z]`, true, `a-z at character 7 is a range under (?iu), which releases of Java read differently; write (?i), which is for ASCII letters`},
		{"[[:alpha:]]+", true, `[: at character 2 begins a class that Java reads character by character; write \p{Alpha} for [[:alpha:]]`},
		{"[a-z&&[b]c]", true, `&& at character 5 is followed by a class and more; write classes in brackets on both sides: [[...]&&[...]]`},
		{"[&&a]", true, `&& at character 2 has nothing before it; write \& for the character`},
		{"a{,3}", false, `{,3} at character 2 has no least number, which Java requires; write "a{0,3}"`},
		{"a{2", false, `{ at character 2 does not begin a repetition; write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`},
		{"{2}", true, `{ at character 1 does not begin a repetition; write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`},
		{"a{3,2}", false, `{ at character 2 begins a repetition whose greatest number is below its least; swap them`},
		{"a{2}{3}", true, `{ at character 5 follows a quantifier, where Java repeats nothing; put a group around what is to be repeated`},
		{"a{2000}", true, `a{2000} at character 1 repeats more than 1000 times, which is RE2's limit; write it as several repetitions`},
		{"(?:a{900}){900}", true, `the pattern is larger than RE2 allows; write it as several patterns, with smaller repetitions`},
		{"(?:^|a){2}", true, `(?:^|a){2} at character 1 repeats a place in the name, where Java stops counting; leave ^, $ and \b out of what is repeated`},
		{`\R{2}`, true, `\R{2} at character 1 repeats \R, where Java never takes \r\n for two line breaks; write [\r\n]`},
		{"(foo$|bar)-x", true, `$ at character 5 is not at the end of the pattern, and Java finds it before a last line break too; write \z, or leave it out`},
		{"(?m)a^b", true, `^ at character 6 is not at the start of the pattern, where (?m) gives it another meaning than RE2 does; leave out (?m): names are matched whole`},
		{"(?m)^.*", true, `^ at character 5 never matches an empty name under (?m); leave out (?m): names are matched whole`},
		{"*", false, `* at character 1 has nothing to repeat; write ".*" if a glob was meant`},
		{"*-orders", false, `* at character 1 has nothing to repeat; write ".*-orders" if a glob was meant`},
		{"a|*", false, `* at character 3 has nothing to repeat; write \* for the character`},
		{"a**", false, `* at character 3 has nothing to repeat; write \* for the character`},
		{"(?i)+a", false, `+ at character 5 has nothing to repeat; write \+ for the character`},
		{"a(b", false, `( at character 2 is never closed; write \( or \) for the character` + comma},
		{"a)(b", false, `) at character 2 closes nothing; write \( or \) for the character` + comma},
		{"[a", false, `[ at character 1 is never closed; write \[ for the character` + comma},
		{"[b-a]", false, `b-a at character 2 is a range that ends before it begins; write \- for the character`},
		{`\Qa.b`, true, `\Q has no \E; add \E`},
		{`a\`, false, `\ at character 2 escapes nothing; write \\ for the character`},
		{`\y`, false, `\y at character 1 is no escape that Java knows here; ` + syntaxPage},
		{`[\b]`, false, `\b at character 2 is no escape that Java knows here; ` + syntaxPage},
		{"(?P<n>a)", false, `(?P at character 1 is no group of Java's; write (?<name>...) for a group with a name`},
		{"(?<n>a)(?<n>b)", false, `(?<n> at character 8 names a second group so; give it another name`},
		{"(?x)a # b", true, `# b at character 7 begins a comment without an end, and a list would end in it; leave the comment out`},
		{"(?x)[a ]", true, `" " at character 7 is a blank or a comment in a class under (?x); leave it out, or write \ before it`},
		{`\uD83D`, true, `\uD83D at character 1 is no hexadecimal number of a character; write \xhh, \uhhhh or \x{h..h}`},
		{`\08`, false, `\0 at character 1 is no octal number that ends here; write \x{..}`},
	} {
		want := fmt.Sprintf("pattern %q: %s", r.pattern, r.want)
		_, _, err := Compile(r.pattern, 0)
		var e *Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", r.pattern, err, want)
			continue
		}
		if !strings.Contains(r.pattern, e.Construct) || !strings.HasPrefix(string([]rune(r.pattern)[e.Char-1:]), e.Construct) {
			t.Errorf("%q: construct %q is not at character %d", r.pattern, e.Construct, e.Char)
		}
		questions = append(questions, question{pattern: r.pattern})
		takes = append(takes, r.java)
	}
	if _, _, err := Compile("\ufffda\xff", 0); err == nil || !strings.HasSuffix(err.Error(), "it is no valid UTF-8; save the file as UTF-8") {
		t.Errorf("no UTF-8: %v", err)
	}
	askJava(t, questions)
	for i, q := range questions {
		if (q.refused == "") != takes[i] {
			t.Errorf("%q: Java takes it: %v (%s)", q.pattern, !takes[i], q.refused)
		}
	}
}

// Flags that are set outside of groups go on into what Java would join, others do not.
func TestFlagsAfterPattern(t *testing.T) {
	for pattern, want := range map[string]Flags{
		"a": 0, "(?i)a": FoldCase, "a|(?is)b": FoldCase | DotAll, "((?i)a)": 0, "(?i:a)": 0, "(?i)a(?-i)b": 0, "(a)(?mx)b": Multiline | Comments,
		"(?du)": UnixLines | UnicodeCase,
	} {
		_, after, err := Translate(pattern, 0)
		if err != nil || after != want {
			t.Errorf("%q leaves %b, want %b: %v", pattern, after, want, err)
		}
	}
	re, after, err := Compile("a(?-i)b", FoldCase|DotAll)
	if err != nil || after != DotAll || !re.MatchString("Ab") || re.MatchString("AB") {
		t.Errorf("%v leaves %b: %v", re, after, err)
	}
}

// A pattern without special characters matches itself and nothing else, and its translation is a plain text.
func TestPlainNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9_-]{0,20}`).Draw(t, "name")
		other := rapid.StringMatching(`[a-zA-Z0-9_-]{0,20}`).Draw(t, "other")
		re, after, err := Compile(name, 0)
		if err != nil || after != 0 {
			t.Fatal(err)
		}
		if !re.MatchString(name) || re.MatchString(other) != (other == name) {
			t.Fatalf("%q is %s", name, re)
		}
	})
}

// FuzzTranslate: any text is translated to RE2 that compiles, or refused at a place that it has.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{".*", "(?!x).*", "[a&&[^b]]", `\Qa\E*`, "(?x) a #\n", `\x{41}\u0041\07\cA`, "a{2,3}+", "(?<n>a)", `\p{L}\R`, "[]", "(", `\`, "(?", "{", "[a-", "(?m)^a$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		text, _, err := Translate(pattern, 0)
		var e *Error
		switch {
		case errors.As(err, &e):
			if e.Char < 1 || e.Char > utf8.RuneCountInString(pattern)+1 || e.Reason == "" || e.Nearest == "" || e.Pattern != pattern {
				t.Fatalf("%q: %+v", pattern, e)
			}
		case err != nil:
			t.Fatalf("%q: %v", pattern, err)
		default:
			if _, err := regexp.Compile(text); err != nil && !strings.Contains(err.Error(), "too large") && !strings.Contains(err.Error(), "invalid repeat count") {
				t.Fatalf("%q is %q: %v", pattern, text, err)
			}
		}
	})
}
