package javapattern

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// escape reads a backslash and what belongs to it, outside of a class.
func (p *parser) escape() (*node, error) {
	from := p.at
	r := p.char(1)
	p.at += 2
	switch {
	case r >= '1' && r <= '9':
		return nil, p.fail(from, "is a back-reference, which RE2 cannot do", "list the names")
	case r == 'k':
		return nil, p.fail(from, "begins a back-reference, which RE2 cannot do", "list the names")
	case r == 'X':
		return nil, p.fail(from, "is a grapheme, which RE2 does not know", "write . for one character")
	case r == 'A', r == 'G': // \G is where the last match ended, and there was none
		return p.zero(`\A`, from), nil
	case r == 'z':
		return p.zero(`\z`, from), nil
	case r == 'Z':
		return &node{op: opEnd, at: span{from, p.at}}, nil
	case r == 'R':
		return &node{op: opBreak, at: span{from, p.at}}, nil
	case r == 'b' && p.char(0) == '{' && p.char(1) == 'g':
		return nil, p.fail(from, "begins a boundary of graphemes, which RE2 does not know", `write \b`)
	case r == 'b', r == 'B':
		return p.zero(`\`+string(r), from), nil
	}
	p.at = from
	c, s, err := p.escapedSet(false)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p.literal(c, from), nil
	}
	return p.setNode(*s, from), nil
}

// escapedSet reads a backslash and what belongs to it, where that is one character, or several if the set is not nil.
func (p *parser) escapedSet(inRange bool) (rune, *set, error) {
	from := p.at
	if p.at+1 >= len(p.toks) {
		return 0, nil, p.fail(from, "escapes nothing", `write \\ for the character`)
	}
	r := p.toks[p.at+1].r
	p.at += 2
	if s, ok := escapedClass(r); ok && (r != 'v' || !inRange) {
		return 0, &s, nil
	}
	switch r {
	case 'p', 'P':
		s, err := p.property(from, r == 'P')
		return 0, &s, err
	case '0':
		c, err := p.octal(from)
		return c, nil, err
	case 'x', 'u':
		c, err := p.hex(from, r)
		return c, nil, err
	case 'c':
		c := p.char(0)
		if c == end || c >= 0x80 || p.flags&Comments != 0 && (isSpace(c) || c == '#') {
			return 0, nil, p.fail(from, "is no control character", `write \x{..}`)
		}
		p.at++
		return c ^ 64, nil, nil
	case 'N':
		return 0, nil, p.fail(from, "begins the name of a character, which RE2 does not know", `write \x{..}`)
	case 'v':
		return '\v', nil, nil
	}
	if i := strings.IndexRune("aefnrt", r); i >= 0 {
		return rune("\a\x1b\f\n\r\t"[i]), nil, nil
	}
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return 0, nil, p.fail(from, "is no escape that Java knows here", syntaxPage)
	}
	return r, nil, nil
}

// escapedClass is the set of \d and the like; they are ASCII's, apart from the white space of \h and \v.
func escapedClass(r rune) (set, bool) {
	var s set
	switch unicode.ToLower(r) {
	case 'd':
		s = newSet(runes{'0', '9'})
	case 'w':
		s = newSet(runes{'0', '9'}, runes{'A', 'Z'}, runes{'_', '_'}, runes{'a', 'z'})
	case 's':
		s = newSet(runes{'\t', '\r'}, runes{' ', ' '})
	case 'v':
		s = newSet(runes{'\n', '\r'}, runes{0x85, 0x85}, runes{0x2028, 0x2029})
	case 'h':
		s = newSet(runes{'\t', '\t'}, runes{' ', ' '}, runes{0xa0, 0xa0}, runes{0x1680, 0x1680}, runes{0x180e, 0x180e},
			runes{0x2000, 0x200a}, runes{0x202f, 0x202f}, runes{0x205f, 0x205f}, runes{0x3000, 0x3000})
	default:
		return nil, false
	}
	if unicode.IsUpper(r) {
		s = s.negate()
	}
	return s, true
}

// octal reads the digits of \0n, \0nn or \0mnn, where m is 0 to 3.
func (p *parser) octal(from int) (rune, error) {
	c, digits := rune(0), 0
	for digits < 3 {
		r := p.char(0)
		if r < '0' || r > '7' || digits == 2 && c > 0o37 {
			break
		}
		c = c<<3 + r - '0'
		digits++
		p.at++
	}
	// Under (?x) Java also takes a digit behind a blank.
	if digits == 0 || p.flags&Comments != 0 && (isSpace(p.char(0)) || p.char(0) == '#') {
		return 0, p.fail(from, "is no octal number that ends here", `write \x{..}`)
	}
	return c, nil
}

// hex reads the digits of \xhh, \x{h..h} or \uhhhh; two of the latter can be one character.
func (p *parser) hex(from int, letter rune) (rune, error) {
	least, most := 2, 2
	braces := false
	switch {
	case letter == 'u':
		least, most = 4, 4
	case p.char(0) == '{':
		braces = true
		least, most = 1, 8
		p.at++
	}
	c, digits := p.hexDigits(most)
	fine := digits >= least && c <= maxRune
	if braces {
		fine = fine && p.char(0) == '}'
		p.at = min(p.at+1, len(p.toks))
	}
	if letter == 'u' && utf16.IsSurrogate(c) && p.char(0) == '\\' && p.char(1) == 'u' {
		p.at += 2
		low, n := p.hexDigits(most)
		fine = fine && n == least
		c = utf16.DecodeRune(c, low)
		fine = fine && c != unicode.ReplacementChar
	}
	if !fine || utf16.IsSurrogate(c) {
		return 0, p.fail(from, "is no hexadecimal number of a character", `write \xhh, \uhhhh or \x{h..h}`)
	}
	return c, nil
}

func (p *parser) hexDigits(most int) (c rune, digits int) {
	for ; digits < most; digits++ {
		i := strings.IndexRune("0123456789abcdef", unicode.ToLower(p.char(0)))
		if i < 0 || p.char(0) >= 0x80 {
			return c, digits
		}
		c = min(c<<4+rune(i), maxRune+1)
		p.at++
	}
	return c, digits
}
