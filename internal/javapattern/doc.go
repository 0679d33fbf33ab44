// Package javapattern reads regular expressions as java.util.regex.Pattern does and gives the RE2 expression that matches
// the same names. MirrorMaker 2's filters (topics, topics.exclude, groups, config.properties.exclude) are such patterns,
// and Go compiles many of them with another meaning or not at all.
//
// Invariants:
//   - JP1: a pattern is translated, or refused by an *Error that names the construct, its place and what to write
//     instead. None is given another meaning in silence.
//   - JP2: the translation matches a whole name exactly if Matcher.matches of the pattern does. Nothing else about a match
//     is kept: no groups, no greed.
//   - JP3: flags that Java would carry on into the next pattern of a list, which it joins by "|", come out as Flags.
//
// What is refused: look-ahead and look-behind, back-references, possessive quantifiers and atomic groups, which RE2 cannot
// do; (?U), \X, \N{name}, blocks and a few properties; what Java itself refuses; and what Java accepts with a meaning
// that nobody wants, such as a{2}{3} (the second count repeats nothing) or [[:alpha:]] (the characters : a l p h). The
// parser follows Pattern as of Java 17 to 25. Where these differ among themselves the pattern is refused, with two
// exceptions that no topic name can show, because topic names are ASCII: \b and \B take word characters to be
// [a-zA-Z0-9_], as Java does since 19, and \p{..} of Unicode properties knows the Unicode version that Go knows.
//
// It does no I/O, keeps no state and knows nothing of lists, keys or Kafka; package mm2 builds filters with it.
package javapattern

import (
	"regexp"
	"strings"
)

// Flags are the modes of a pattern that (?ims) and the like set. The zero value is Java's default.
type Flags uint8

// The modes by their letters.
const (
	FoldCase    Flags = 1 << iota // i: a and A are the same, for ASCII letters
	Multiline                     // m: ^ and $ at line breaks
	DotAll                        // s: . matches line breaks
	UnixLines                     // d: only \n is a line break
	UnicodeCase                   // u: with i, for other letters too
	Comments                      // x: blanks and # comments are left out
)

func flag(r rune) Flags {
	if i := strings.IndexRune("imsdux", r); i >= 0 {
		return 1 << i
	}
	return 0
}

// Translate gives the RE2 expression for a Java pattern, to be matched as a whole: \A(?:re2)\z. flags are the modes that it
// starts with, after those that it leaves for what Java would join to it. The error is an *Error.
func Translate(pattern string, flags Flags) (re2 string, after Flags, err error) {
	p, err := newParser(pattern, flags)
	if err != nil {
		return "", 0, err
	}
	n, err := p.pattern()
	if err != nil {
		return "", 0, err
	}
	var e emitter
	e.write(n, place{head: true, tail: true})
	if e.err != nil {
		return "", 0, p.refusal(e.at, e.err)
	}
	return e.String(), p.flags, nil
}

// Compile is Translate and regexp.Compile in one: the result matches whole names only. The error is an *Error.
func Compile(pattern string, flags Flags) (*regexp.Regexp, Flags, error) {
	text, after, err := Translate(pattern, flags)
	if err != nil {
		return nil, 0, err
	}
	// \A and \z, not ^ and $: those have other meanings under (?m).
	re, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		// The syntax is ours, so this is one of RE2's limits on size.
		return nil, 0, &Error{
			Pattern: pattern, Construct: pattern, Char: 1,
			Reason: "the pattern is larger than RE2 allows", Nearest: "write it as several patterns, with smaller repetitions",
		}
	}
	return re, after, nil
}
