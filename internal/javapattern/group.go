package javapattern

import (
	"strconv"
	"strings"
	"unicode"
)

// group reads what begins with a parenthesis; nil stands for a group that only sets flags.
func (p *parser) group() (*node, error) {
	from, before := p.at, p.flags
	p.at++
	if err := p.skipComments(); err != nil {
		return nil, err
	}
	if p.char(0) != '?' {
		return p.body(from, before)
	}
	switch p.at++; p.char(0) {
	case ':':
		p.at++
		return p.body(from, before)
	case '=', '!':
		return p.look(from, before)
	case '>':
		p.at++
		return nil, p.failInstead(from, "begins an atomic group, which RE2 cannot do", "(?:")
	case '<':
		if r := p.char(1); r == '=' || r == '!' {
			return p.look(from, before)
		}
		p.at++
		if err := p.groupName(from); err != nil {
			return nil, err
		}
		return p.body(from, before)
	case 'P':
		p.at++
		return nil, p.fail(from, "is no group of Java's", "write (?<name>...) for a group with a name")
	}
	return p.flagGroup(from, before)
}

// body reads the inside of a group, its end, and sets the flags back.
func (p *parser) body(from int, before Flags) (*node, error) {
	n, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if p.char(0) != ')' {
		p.at = from + 1
		return nil, p.fail(from, "is never closed", nearestParen)
	}
	p.at++
	p.flags = before
	// A node of its own: the span is the group's.
	return &node{op: opSeq, at: span{from, p.at}, kids: []*node{n}}, nil
}

// look reads a look-around. It is kept, to say later what to write instead.
func (p *parser) look(from int, before Flags) (*node, error) {
	l := look{outside: p.depth == 1 && !p.moded}
	if p.char(0) == '<' {
		l.behind = true
		p.at++
	}
	l.negative = p.char(0) == '!'
	p.at++
	l.body.from = p.at
	index := len(p.looks)
	p.looks = append(p.looks, l) // before those inside it
	n, err := p.body(from, before)
	if err != nil {
		return nil, err
	}
	l.node, l.at, l.body.to = n.kids[0], span{from, p.at}, p.at-1
	p.looks[index] = l
	return p.zero("", from), nil
}

func (p *parser) groupName(from int) error {
	start := p.at
	for isWord(p.char(0)) && p.char(0) != '_' {
		p.at++
	}
	name := p.text(span{start, p.at})
	if name == "" || unicode.IsDigit(rune(name[0])) || p.char(0) != '>' {
		return p.fail(from, "does not begin a group with a name", "write (?<name>...), the name of letters and digits only")
	}
	p.at++
	if p.names[name] {
		return p.fail(from, "names a second group so", "give it another name")
	}
	p.names[name] = true
	return nil
}

func isWord(r rune) bool {
	return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_'
}

// flagGroup reads (?flags) or (?flags:...) after its question mark.
func (p *parser) flagGroup(from int, before Flags) (*node, error) {
	for on := true; ; {
		r := p.char(0)
		p.at = min(p.at+1, len(p.toks))
		switch {
		case r == '-' && on:
			on = false
		case r == 'U', r == 'c':
			return nil, p.fail(from, "sets a flag that RE2 does not know", `leave it out, and write \p{L} for letters, \p{Nd} for digits`)
		case r != end && flag(r) != 0 && on:
			p.flags |= flag(r)
		case r != end && flag(r) != 0:
			p.flags &^= flag(r)
		case r == ')':
			p.moded = p.moded || p.flags != 0
			return nil, p.notRepeated()
		case r == ':':
			p.moded = p.moded || p.flags != 0
			return p.body(from, before)
		default:
			return nil, p.fail(from, "is no group that Java knows", "groups begin with (, (?:, (?<name> or flags such as (?i)")
		}
	}
}

// notRepeated refuses a quantifier behind flags. Java takes {2} there for a repetition of nothing.
func (p *parser) notRepeated() error {
	if err := p.skipComments(); err != nil {
		return err
	}
	if r := p.char(0); r != end && strings.ContainsRune("*+?{", r) {
		return p.fail(p.at, "has nothing to repeat", `write \`+string(r)+" for the character")
	}
	return nil
}

// quantified reads the quantifier behind an atom, if there is one.
func (p *parser) quantified(n *node, from int) (*node, error) {
	if err := p.skipComments(); err != nil {
		return nil, err
	}
	start := p.at
	low, high := 0, 0
	switch p.char(0) {
	case '?':
		low, high = 0, 1
		p.at++
	case '*':
		low, high = 0, unbounded
		p.at++
	case '+':
		low, high = 1, unbounded
		p.at++
	case '{':
		var err error
		if low, high, err = p.counts(); err != nil {
			return nil, err
		}
	default:
		return n, nil
	}
	words := p.text(span{start, p.at})
	if err := p.skipComments(); err != nil {
		return nil, err
	}
	switch p.char(0) {
	case '?': // which match comes first does not matter for whole names
		p.at++
	case '+':
		p.at++
		return nil, p.failInstead(start, "is a possessive quantifier, which RE2 cannot do", words)
	}
	if err := p.skipComments(); err != nil {
		return nil, err
	}
	if p.char(0) == '{' {
		return nil, p.fail(p.at, "follows a quantifier, where Java repeats nothing", "put a group around what is to be repeated")
	}
	return &node{op: opRepeat, at: span{from, p.at}, kids: []*node{n}, min: low, max: high}, nil
}

// counts reads {n}, {n,} or {n,m}.
func (p *parser) counts() (low, high int, err error) {
	start := p.at
	rest := p.text(span{start, len(p.toks)})
	closing := strings.IndexByte(rest, '}')
	inside := ""
	if closing > 0 {
		inside = rest[1:closing]
	}
	first, second, isRange := strings.Cut(inside, ",")
	low, err = number(first)
	high = low
	if isRange && second == "" {
		high = unbounded
	} else if isRange {
		var err2 error
		if high, err2 = number(second); err2 != nil {
			err = err2
		}
	}
	switch {
	case first == "" && isRange && second != "" && high > 0:
		p.at += 1 + len(inside) + 1
		return 0, 0, p.failInstead(start, "has no least number, which Java requires", "{0,"+second+"}")
	case err != nil:
		return 0, 0, p.fail(start, "does not begin a repetition", nearestBrace)
	case high < low:
		return 0, 0, p.fail(start, "begins a repetition whose greatest number is below its least", "swap them")
	}
	p.at += 1 + len(inside) + 1 // all of them are ASCII
	return low, high, nil
}

// number is one of digits only; Atoi alone would take a sign.
func number(text string) (int, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(text, 10, 32) // Java's int
	return int(n), err
}
