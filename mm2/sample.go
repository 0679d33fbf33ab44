package mm2

import (
	"regexp/syntax"
	"strings"
)

// topicCharacters may stand in the name of a topic; letters first, as examples are
// for people.
const topicCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// samples gives for each include pattern one of the shortest names that it matches.
// Patterns with alternatives have one for the first of them.
func (f *Filter) samples() []string {
	var out []string
	for _, p := range f.include.patterns {
		re, err := syntax.Parse(p.re.String(), syntax.Perl)
		if err != nil {
			continue // it was compiled, so this does not happen; a sample less is no harm
		}
		var b strings.Builder
		sample(&b, re)
		if p.matches(b.String()) {
			out = append(out, b.String())
		}
	}
	return out
}

func sample(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(topicCharacters[0])
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		sample(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			sample(b, sub)
		}
	case syntax.OpRepeat:
		for range re.Min {
			sample(b, re.Sub[0])
		}
	default: // what matches nothing at all, or a place
	}
}

// member is a character of a class, which is pairs of first and last.
func member(class []rune) rune {
	for _, c := range topicCharacters {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= c && c <= class[i+1] {
				return c
			}
		}
	}
	if len(class) > 0 {
		return class[0]
	}
	return 0
}
