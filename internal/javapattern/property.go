package javapattern

import (
	"strings"
	"unicode"
)

// property reads what stands behind \p or \P: a letter or a name in braces.
func (p *parser) property(from int, negative bool) (set, error) {
	name := ""
	if r := p.char(0); r == '{' {
		start := p.at + 1
		for p.at++; p.char(0) != '}'; p.at++ {
			if p.done() {
				return nil, p.fail(from, "is never closed", "add }")
			}
		}
		name = p.text(span{start, p.at})
		p.at++
	} else {
		name = p.text(span{p.at, p.at + 1})
		p.at = min(p.at+1, len(p.toks))
	}
	if p.flags&FoldCase != 0 && ofOneCase(name) {
		return nil, p.fail(from, "is of one case, which releases of Java read differently under (?i)", `write \p{L} or \p{Alpha}`)
	}
	s, ok := propertySet(name)
	if !ok {
		return nil, p.fail(from, "is no property of characters that can be translated", nearestProperty(name))
	}
	if negative {
		return s.negate(), nil
	}
	return s, nil
}

func nearestProperty(name string) string {
	if strings.HasPrefix(name, "In") || strings.HasPrefix(name, "blk=") || strings.HasPrefix(name, "block=") {
		return `write the block as a range: [\x{370}-\x{3FF}] for \p{InGreek}`
	}
	for _, known := range []string{"Alpha", "Digit", "Alnum", "Upper", "Lower", "Punct", "Space", "Blank", "Cntrl", "Graph", "Print", "XDigit", "ASCII"} {
		if strings.EqualFold(known, name) {
			return `write \p{` + known + `}`
		}
	}
	return `write \p{L} for letters, \p{Lu} for upper case, \p{Nd} for digits, \p{IsLatin} for a script, \p{Alpha} for ASCII letters`
}

// ofOneCase says whether the property tells upper and lower case letters apart.
func ofOneCase(name string) bool {
	_, value, named := strings.Cut(name, "=")
	if !named {
		value = strings.TrimPrefix(name, "Is")
	}
	switch value {
	case "Lu", "Ll", "Lt", "javaLowerCase", "javaUpperCase", "javaTitleCase":
		return true
	}
	switch strings.ToLower(value) {
	case "lower", "upper", "lowercase", "uppercase", "titlecase":
		return true
	}
	return false
}

// propertySet is the set of a property by its name in braces.
func propertySet(name string) (set, bool) {
	if key, value, ok := strings.Cut(name, "="); ok {
		switch strings.ToLower(key) {
		case "gc", "general_category":
			return categorySet(value)
		case "sc", "script":
			return scriptSet(value)
		}
		return nil, false
	}
	if short, ok := strings.CutPrefix(name, "Is"); ok {
		if s, ok := binarySet(short); ok {
			return s, true
		}
		if s, ok := categorySet(short); ok {
			return s, true
		}
		return scriptSet(short)
	}
	return categorySet(name)
}

// binarySet is a property of Unicode, whose name has no case.
func binarySet(name string) (set, bool) {
	switch strings.ToUpper(name) {
	case "ALPHABETIC", "ALPHA":
		return ofTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "LOWERCASE", "LOWER":
		return ofTables(unicode.Ll, unicode.Other_Lowercase), true
	case "UPPERCASE", "UPPER":
		return ofTables(unicode.Lu, unicode.Other_Uppercase), true
	case "TITLECASE":
		return ofTables(unicode.Lt), true
	case "LETTER":
		return ofTables(unicode.L), true
	case "DIGIT":
		return ofTables(unicode.Nd), true
	case "IDEOGRAPHIC":
		return ofTables(unicode.Ideographic), true
	case "PUNCTUATION", "PUNCT":
		return ofTables(unicode.P), true
	case "CONTROL", "CNTRL":
		return ofTables(unicode.Cc), true
	case "WHITE_SPACE", "WHITESPACE", "SPACE":
		return ofTables(unicode.White_Space), true
	}
	return nil, false
}

// categorySet is a general category, one of POSIX's classes, which are ASCII's, or a test of java.lang.Character.
func categorySet(name string) (set, bool) {
	if s, ok := asciiSet(name); ok {
		return s, true
	}
	switch name {
	case "C", "Cn", "Cs": // what is not assigned yet changes with every version; surrogates are no characters
		return nil, false
	case "LC":
		return ofTables(unicode.Lu, unicode.Ll, unicode.Lt), true
	case "LD", "javaLetterOrDigit":
		return ofTables(unicode.L, unicode.Nd), true
	case "L1":
		return newSet(runes{0, 0xff}), true
	case "all":
		return newSet(runes{0, maxRune}), true
	case "javaLowerCase":
		return ofTables(unicode.Ll, unicode.Other_Lowercase), true
	case "javaUpperCase":
		return ofTables(unicode.Lu, unicode.Other_Uppercase), true
	case "javaTitleCase":
		return ofTables(unicode.Lt), true
	case "javaAlphabetic":
		return ofTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "javaLetter":
		return ofTables(unicode.L), true
	case "javaDigit":
		return ofTables(unicode.Nd), true
	case "javaIdeographic":
		return ofTables(unicode.Ideographic), true
	case "javaSpaceChar":
		return ofTables(unicode.Z), true
	case "javaWhitespace":
		s := ofTables(unicode.Z).without(newSet(runes{0xa0, 0xa0}, runes{0x2007, 0x2007}, runes{0x202f, 0x202f}))
		return s.union(newSet(runes{'\t', '\r'}, runes{0x1c, 0x1f})), true
	case "javaISOControl":
		return newSet(runes{0, 0x1f}, runes{0x7f, 0x9f}), true
	}
	if len(name) > 2 { // Go knows longer names too, which Java does not
		return nil, false
	}
	table, ok := unicode.Categories[name]
	if !ok {
		return nil, false
	}
	return ofTables(table), true
}

func asciiSet(name string) (set, bool) {
	digits, upper, lower := runes{'0', '9'}, runes{'A', 'Z'}, runes{'a', 'z'}
	switch name {
	case "ASCII":
		return newSet(runes{0, 0x7f}), true
	case "Alpha":
		return newSet(upper, lower), true
	case "Digit":
		return newSet(digits), true
	case "Alnum":
		return newSet(digits, upper, lower), true
	case "Upper":
		return newSet(upper), true
	case "Lower":
		return newSet(lower), true
	case "Punct":
		return newSet(runes{'!', '/'}, runes{':', '@'}, runes{'[', '`'}, runes{'{', '~'}), true
	case "Graph":
		return newSet(runes{'!', '~'}), true
	case "Print":
		return newSet(runes{' ', '~'}), true
	case "Blank":
		return newSet(runes{'\t', '\t'}, runes{' ', ' '}), true
	case "Cntrl":
		return newSet(runes{0, 0x1f}, runes{0x7f, 0x7f}), true
	case "Space":
		return newSet(runes{'\t', '\r'}, runes{' ', ' '}), true
	case "XDigit":
		return newSet(digits, runes{'A', 'F'}, runes{'a', 'f'}), true
	}
	return nil, false
}

// scriptSet is a script by its full name, whose case does not matter.
func scriptSet(name string) (set, bool) {
	for known, table := range unicode.Scripts {
		if strings.EqualFold(known, name) {
			return ofTables(table), true
		}
	}
	return nil, false
}
