//go:build unix

package javapattern

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/testcluster"
)

// A question is what java.util.regex is asked, and the answer.
type question struct {
	pattern string
	names   []string
	refused string // Java's reason
	matches []bool // for each name
}

// askJava answers all questions in one run of one JVM.
func askJava(t *testing.T, questions []question) {
	t.Helper()
	if err := testcluster.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for _, q := range questions {
		in.WriteString("x" + hex.EncodeToString([]byte(q.pattern)))
		for _, n := range q.names {
			in.WriteString(" x" + hex.EncodeToString([]byte(n)))
		}
		in.WriteString("\n")
	}
	cmd := exec.CommandContext(t.Context(), "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "testdata/Match.java")
	cmd.Stdin = strings.NewReader(in.String())
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("java: %v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(lines), len(questions))
	}
	for i, line := range lines {
		q := &questions[i]
		if reason, refused := strings.CutPrefix(line, "!"); refused {
			q.refused = reason
			continue
		}
		if len(line) != len(q.names) {
			t.Fatalf("%q: answer %q to %d names", q.pattern, line, len(q.names))
		}
		for _, c := range line {
			q.matches = append(q.matches, c == '1')
		}
	}
}

// differs says where the translation of a question's pattern is another pattern than Java's: "" if it is not.
func differs(q question) (problem string, translated bool) {
	re, _, err := Compile(q.pattern, 0)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Reason == "" || e.Nearest == "" || e.Char < 1 {
			return fmt.Sprintf("a refusal without its parts: %v", err), false
		}
		return "", false
	}
	if q.refused != "" {
		return "translated, but Java refuses it: " + q.refused, true
	}
	// What \b takes for a word in names that are not ASCII differs between releases of Java (see the package comment).
	boundary := strings.Contains(q.pattern, `\b`) || strings.Contains(q.pattern, `\B`)
	for i, n := range q.names {
		if boundary && strings.ContainsFunc(n, func(r rune) bool { return r >= 0x80 }) {
			continue
		}
		if got := re.MatchString(n); got != q.matches[i] {
			return fmt.Sprintf("name %q: %v, but Java says %v (RE2 is %s)", n, got, q.matches[i], re), true
		}
	}
	return "", true
}

// Against java.util.regex itself: random patterns of everything that is hard, and random names.
func TestRandomPatternsAgreeWithJava(t *testing.T) {
	const patterns = 8000
	g := generator{Rand: rand.New(rand.NewPCG(20260814, 1)), letters: 5}
	compare(t, patterns, func() string { return g.pattern(3) }, g.name)
}

// The same for loops in loops, whose rounds may be empty: backtracking is no definition, so RE2 need not agree.
func TestRandomLoopsAgreeWithJava(t *testing.T) {
	const patterns = 2500
	g := generator{Rand: rand.New(rand.NewPCG(20260814, 2)), letters: 8, loops: true}
	compare(t, patterns, func() string { return g.pattern(4) }, g.name)
}

func compare(t *testing.T, patterns int, pattern, name func() string) {
	t.Helper()
	questions := make([]question, patterns)
	for i := range questions {
		q := &questions[i]
		q.pattern = pattern()
		for range 16 {
			q.names = append(q.names, name())
		}
	}
	askJava(t, questions)
	translated, matched, refused, only := 0, 0, 0, 0
	for _, q := range questions {
		problem, ok := differs(q)
		if problem != "" {
			t.Errorf("%q: %s", q.pattern, problem)
		}
		switch {
		case ok:
			translated++
		case q.refused != "":
			refused++
		default:
			only++
		}
		if slices.Contains(q.matches, true) {
			matched++
		}
	}
	t.Logf("%d translated, %d refused as by Java, %d refused by us alone; %d match a name", translated, refused, only, matched)
	// The test is worth something only if most patterns are translated and many of them match.
	if translated < patterns/2 || matched < patterns/5 {
		t.Errorf("of %d patterns only %d are translated and %d match", patterns, translated, matched)
	}
}

// A generator makes patterns and names from the same few characters, so that they meet.
type generator struct {
	*rand.Rand
	letters int  // names are shorter than this
	loops   bool // only a and b, groups, loops and places
}

func (g generator) of(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) name() string {
	var b strings.Builder
	for range g.IntN(g.letters) {
		if g.loops || g.IntN(4) > 0 {
			b.WriteString(g.of("a", "b", "a", "b", "a", "b", "A", "c"))
		} else {
			b.WriteString(g.of("B", "z", "k", "s", "-", ".", "_", "1", "7", " ", "{", "]", "&", "\n", "\r\n", "\u0085", "\u2028", "\t", "\v",
				"\u00e9", "\u00c9", "\u212a", "\u017f", "\u0130", "\u03b1", "\u4e2d", "\U0001f600", "\u00a0", ":", "^", "|", `\`, "#", "\x00"))
		}
	}
	return b.String()
}

func (g generator) pattern(depth int) string {
	p := g.alternatives(depth)
	if g.loops {
		return p
	}
	switch g.IntN(12) {
	case 0:
		p = "^" + p
	case 1:
		p += "$"
	case 2:
		p = g.flags() + p
	}
	if g.IntN(40) == 0 && p != "" { // and broken ones
		i := g.IntN(len(p))
		p = strings.ToValidUTF8(p[:i]+g.of("", "(", ")", "[", "]", "{", "}", "*", `\`, "&&", "-", "^", "?", "|", "+")+p[i+g.IntN(2):], "")
	}
	return p
}

func (g generator) flags() string {
	f := ""
	for range 1 + g.IntN(2) {
		f += g.of("i", "i", "s", "m", "d", "u", "x", "-i", "U")
	}
	return "(?" + f + ")"
}

func (g generator) alternatives(depth int) string {
	p := g.sequence(depth)
	for g.IntN(4) == 0 {
		p += "|" + g.sequence(depth)
	}
	return p
}

func (g generator) sequence(depth int) string {
	p := ""
	for range g.IntN(4) {
		p += g.atom(depth) + g.quantifier()
	}
	return p
}

func (g generator) quantifier() string {
	if g.IntN(3) > 0 {
		return ""
	}
	if g.loops {
		return g.of("*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,2}", "{3}", "{2,3}", "*?", "??")
	}
	q := g.of("*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "{0}", "{,2}", "{1001}", "{2,1}", "*", "+", "?")
	switch g.IntN(10) {
	case 0:
		q += "?"
	case 1:
		q += g.of("+", "{2}", "*", " ")
	}
	return q
}

func (g generator) atom(depth int) string {
	n := g.IntN(20)
	switch {
	case g.loops && depth > 0 && n < 9:
		return g.of("(", "(?:") + g.alternatives(depth-1) + ")"
	case g.loops:
		return g.of("a", "b", "a", "b", ".", "[ab]", `\b`, "^", "$", "ab", "", `\B`)
	case n < 8:
		return g.of("a", "b", "A", "c", "a", "b", "-", "_", "1", "k", "s", "\u00e9", "\u212a", "\U0001f600", " ", "#", "]", "}", "&", ":", "\n", "ab", "\u017f", "i")
	case n < 10:
		return g.of(".", ".*", ".", ".+", "^", "$", "{", "(?!a)", "(?<=a)", "(?>a)")
	case n < 13:
		return g.escape()
	case n < 16:
		return g.class(2)
	case depth == 0:
		return "b"
	}
	return g.of("(", "(", "(?:", "(?:", "(?i:", "(?s:", "(?-i:", "(?<n>", "(?x: ", "(?m:", "(?d:", "( ", "(?iu:", g.flags()+"(") + g.alternatives(depth-1) + ")"
}

func (g generator) escape() string {
	return g.of(`\d`, `\w`, `\s`, `\W`, `\D`, `\S`, `\h`, `\H`, `\v`, `\V`, `\R`, `\b`, `\B`, `\A`, `\z`, `\Z`, `\G`, `\t`, `\n`, `\e`, `\a`, `\f`,
		`\.`, `\-`, `\\`, `\_`, `\]`, `\Qa.b\E`, `\Q*\E`, `\Qa\E`, `\Q1\E`, `\x61`, `\x{62}`, `\u0061`, `\uD83D\uDE00`, `\ud83d`, `\0141`, `\061`, `\0`, `\0377`, `\0400`,
		`\cA`, `\ca`, `\1`, `\k<n>`, `\X`, `\N{DIGIT ONE}`, `\y`, `\p{Alpha}`, `\p{Lower}`, `\P{Lower}`, `\pL`, `\PL`, `\p{L}`, `\p{Lu}`, `\p{IsLatin}`, `\p{IsGreek}`,
		`\p{script=Han}`, `\p{sc=latin}`, `\p{gc=Ll}`, `\p{IsAlphabetic}`, `\p{IsLowercase}`, `\p{javaLowerCase}`, `\p{javaUpperCase}`, `\p{javaWhitespace}`, `\p{Punct}`, `\p{Space}`,
		`\p{Cntrl}`, `\p{Blank}`, `\p{Graph}`, `\p{Print}`, `\p{XDigit}`, `\p{ASCII}`, `\p{L1}`, `\p{LC}`, `\p{LD}`, `\p{all}`, `\p{alpha}`, `\p{Foo}`, `\p{InGreek}`, `\p{IsDigit}`,
		`\p{IsPunctuation}`, `\p{IsWhite_Space}`, `\p{Z}`, `\p{P}`, `\p{S}`, `\p{N}`, `\p{C}`, `\p{Cc}`, `\p{javaSpaceChar}`, `\p{javaISOControl}`, "\\\u00e9", `\ `, `\{`)
}

func (g generator) class(depth int) string {
	c := "["
	if g.IntN(4) == 0 {
		c += "^"
	}
	for range g.IntN(4) + 1 {
		switch n := g.IntN(12); {
		case n < 5:
			c += g.of("a", "b", "A", "-", "k", "s", "1", ".", "\u00e9", "^", "&", "]", "{", "(", "|", "*", " ", "#", ":", "\U0001f600")
		case n < 8:
			c += g.of("a-c", "A-Z", "a-z", "0-9", "Z-a", "+-.", "a-", "-b", `\t-a`, "z-a", "i-l", "\u00e0-\u00ff", `a-\d`, `\v-a`, `\x61-\x{63}`, "!-&")
		case n < 10:
			c += g.escape()
		case depth == 0:
			c += "b"
		case n < 11:
			c += g.class(depth - 1)
		default:
			c += "&&" + g.of("", g.class(depth-1), "ab", "^a", g.class(depth-1)+g.class(depth-1), "[^b]", "&")
		}
	}
	return c + "]"
}
