package acls

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// span is a set of names that one access rule can stand for: a single name, or all names that begin with a text.
type span struct {
	text  string
	open  bool // all that begin with text; "" is every name
	exact bool // the pattern accepts all of them; false with open only: the rule is wider than the pattern
	dot   bool // text has a "." where the pattern accepts any character
}

// mostSpans is how many names a pattern is spelled out into. One that stands for more is answered by what they have in
// common: a hundred rules in place of one are no help to the person who grants them.
const mostSpans = 32

// mostLetters is the same for a class of characters: [0-9] is spelled out, [a-z] is not.
const mostLetters = 10

// spansOf turns one pattern of topics or groups into the narrowest rules that cover it. fold says that an earlier pattern of
// the list set flags, which in MirrorMaker 2 hold for the later ones too: it is then read without regard to case, which
// accepts more, never less.
func spansOf(pattern string, fold bool) []span {
	pattern = strings.TrimSpace(pattern)
	if fold {
		pattern = "(?:(?is)" + pattern + ")"
	} else if ofJava(pattern) {
		return []span{{open: true}}
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return []span{{open: true}} // wide is never wrong
	}
	var out []span
	for _, s := range spell(re) {
		if s.text != "" || s.open { // no topic and no group that could be named has an empty name
			out = append(out, s)
		}
	}
	return out
}

// ofJava finds what java.util.regex can read in another way than Go: flags, classes in classes, braces that are no
// repetition, escapes that are not the same in both. Whether such a pattern is refused or translated is the configuration's
// business; here it is not taken apart, so that no rule gets too narrow (AC2).
func ofJava(pattern string) bool {
	class := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			if c := rest[1]; strings.IndexByte("dDwWsStnrfQE", c) < 0 && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
				return true
			}
			i++
		case class && (rest[0] == '[' || strings.HasPrefix(rest, "&&")),
			!class && rest[0] == '{' && (len(rest) < 2 || rest[1] < '0' || rest[1] > '9'),
			!class && strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return true
		case rest[0] == '[':
			class = true
		case rest[0] == ']':
			class = false
		}
	}
	return false
}

// spell gives what an expression accepts, as few spans; what it cannot spell out is open from there on.
func spell(re *syntax.Regexp) []span {
	anything := []span{{open: true}}
	empty := []span{{exact: true}}
	var out []span
	switch re.Op {
	case syntax.OpNoMatch:
		return nil
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return empty
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return anything
		}
		return []span{{text: string(re.Rune), exact: true}}
	case syntax.OpCharClass:
		return letters(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		// orders.eu is meant as a name far more often than as "orders, any character, eu".
		return []span{{text: ".", exact: true, dot: true}}
	case syntax.OpStar:
		return []span{{open: true, exact: isAny(re.Sub[0])}}
	case syntax.OpPlus, syntax.OpRepeat:
		if sub := re.Sub[0]; re.Op == syntax.OpRepeat && re.Min == 0 || isAny(sub) || sub.Op == syntax.OpCharClass {
			return anything // orders-[0-9]+ is one rule for orders-, not ten for its first digit
		}
		return join(spell(re.Sub[0]), anything)
	case syntax.OpQuest:
		if isAny(re.Sub[0]) {
			return anything
		}
		out = slices.Concat(empty, spell(re.Sub[0]))
	case syntax.OpCapture:
		out = spell(re.Sub[0])
	case syntax.OpConcat:
		out = empty
		for _, sub := range re.Sub {
			out = join(out, spell(sub))
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			out = append(out, spell(sub)...)
		}
	default:
		return anything
	}
	return few(out)
}

func isAny(re *syntax.Regexp) bool {
	return re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL
}

// letters spells a small class out; ranges are pairs of first and last rune.
func letters(ranges []rune) []span {
	var out []span
	for i := 0; i < len(ranges); i += 2 {
		if int(ranges[i+1]-ranges[i])+len(out) >= mostLetters {
			return []span{{open: true}}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			out = append(out, span{text: string(r), exact: true})
		}
	}
	return out
}

// join puts every span of b behind every one of a. Behind an open one nothing can be said any more.
func join(a, b []span) []span {
	var out []span
	for _, x := range a {
		if x.open {
			// ".*" and then nothing: "^orders.*$" ends in an expression without letters.
			nothing := len(b) == 1 && b[0] == span{exact: true}
			out = append(out, span{text: x.text, open: true, exact: x.exact && nothing, dot: x.dot})
			continue
		}
		for _, y := range b {
			out = append(out, span{text: x.text + y.text, open: y.open, exact: y.exact, dot: x.dot || y.dot})
		}
	}
	return few(out)
}

// few replaces too many spans by one that covers them.
func few(spans []span) []span {
	if len(spans) <= mostSpans {
		return spans
	}
	common, dot := spans[0].text, false
	for _, s := range spans {
		for !strings.HasPrefix(s.text, common) {
			common = common[:len(common)-1]
		}
		dot = dot || s.dot
	}
	return []span{{text: strings.ToValidUTF8(common, ""), open: true, dot: dot}}
}
