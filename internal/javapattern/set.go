package javapattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maxRune is the highest code point.
const maxRune = unicode.MaxRune

// runes is a range of code points, both ends included.
type runes struct{ lo, hi rune }

// A set is a set of code points: ranges that ascend and do not touch. The zero value is empty. Operations make new sets.
type set []runes

func single(r rune) set { return set{{r, r}} }

func newSet(ranges ...runes) set {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b runes) int { return int(a.lo - b.lo) })
	var s set
	for _, r := range sorted {
		if last := len(s) - 1; last >= 0 && r.lo <= s[last].hi+1 {
			s[last].hi = max(s[last].hi, r.hi)
			continue
		}
		s = append(s, r)
	}
	return s
}

func ofTables(tables ...*unicode.RangeTable) set {
	var ranges []runes
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			ranges = append(ranges, runes{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			ranges = append(ranges, runes{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return newSet(ranges...)
}

func (s set) union(other ...set) set { return newSet(slices.Concat(append([]set{s}, other...)...)...) }

func (s set) negate() set {
	var out set
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, runes{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= maxRune {
		out = append(out, runes{next, maxRune})
	}
	return out
}

func (s set) intersect(other set) set { return s.negate().union(other.negate()).negate() }

func (s set) without(other set) set { return s.intersect(other.negate()) }

func (s set) has(r rune) bool {
	return slices.ContainsFunc(s, func(x runes) bool { return x.lo <= r && r <= x.hi })
}

// folded is a range under (?i): Java adds the other case of ASCII letters only, where RE2 would fold s with U+017F too.
func (s set) folded() set {
	out := s
	for r := 'a'; r <= 'z'; r++ {
		if upper := r - 'a' + 'A'; s.has(r) != s.has(upper) {
			out = out.union(single(r), single(upper))
		}
	}
	return out
}

// foldedUnicode is one character under (?iu): everything that has the same lower case of its upper case.
func foldedUnicode(r rune) set {
	lower := unicode.ToLower(unicode.ToUpper(r))
	out := single(r).union(single(lower))
	for _, c := range unicode.CaseRanges {
		for x := rune(c.Lo); x <= rune(c.Hi); x++ {
			if unicode.ToLower(unicode.ToUpper(x)) == lower {
				out = out.union(single(x))
			}
		}
	}
	return out
}

// String is the set as an RE2 class.
func (s set) String() string {
	if len(s) == 0 {
		return `[^\x00-\x{10FFFF}]`
	}
	if len(s) == 1 && s[0] == (runes{0, maxRune}) {
		return `(?s:.)`
	}
	if len(s) == 1 && s[0].lo == s[0].hi {
		return escaped(s[0].lo)
	}
	var b strings.Builder
	b.WriteString("[")
	for _, r := range s {
		b.WriteString(escaped(r.lo))
		if r.hi > r.lo {
			b.WriteString("-" + escaped(r.hi))
		}
	}
	b.WriteString("]")
	return b.String()
}

// escaped is a character as RE2 reads it inside and outside of classes.
func escaped(r rune) string {
	switch {
	case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)), r == '_':
		return string(r)
	case r > ' ' && r < 0x7f:
		return `\` + string(r)
	}
	return fmt.Sprintf(`\x{%X}`, r)
}
