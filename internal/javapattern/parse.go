package javapattern

import (
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep groups and classes may be nested; RE2 has the same limit.
const maxDepth = 1000

// A tok is one character of the pattern.
type tok struct {
	r      rune
	quoted bool // between \Q and \E: it means itself
	offset int  // of the character, in bytes
}

// end is the character after the last.
const end rune = -1

type parser struct {
	source string
	toks   []tok
	at     int // the next token
	flags  Flags
	depth  int
	names  map[string]bool // of groups
	looks  []look
	moded  bool // a flag was ever set
}

// newParser cuts the pattern into characters and takes \Q and \E out, as Java does before everything else.
func newParser(pattern string, flags Flags) (*parser, error) {
	p := &parser{source: pattern, flags: flags, names: map[string]bool{}, moded: flags != 0}
	quoted, open := false, 0
	for i := 0; i < len(pattern); {
		r, n := utf8.DecodeRuneInString(pattern[i:])
		rest := pattern[i:]
		switch {
		case r == utf8.RuneError && n == 1:
			return nil, &Error{
				Pattern: pattern, Construct: rest[:1], Char: utf8.RuneCountInString(pattern[:i]) + 1,
				Reason: "it is no valid UTF-8", Nearest: "save the file as UTF-8",
			}
		case !quoted && strings.HasPrefix(rest, `\Q`):
			quoted, open = true, i
			i += 2
			continue
		case quoted && strings.HasPrefix(rest, `\E`):
			quoted = false
			i += 2
			continue
		}
		p.toks = append(p.toks, tok{r, quoted, i})
		i += n
		if !quoted && r == '\\' && i < len(pattern) { // the escaped character never begins \Q
			r, n = utf8.DecodeRuneInString(pattern[i:])
			p.toks = append(p.toks, tok{r, false, i})
			i += n
		}
	}
	if quoted {
		return nil, &Error{
			Pattern: pattern, Construct: `\Q`, Char: utf8.RuneCountInString(pattern[:open]) + 1,
			Reason: `\Q has no \E`, Nearest: `add \E`, // Java would quote the rest of the list with it
		}
	}
	return p, nil
}

// char is the character that is n tokens ahead if it can have a meaning, and end otherwise. Quoted ones have none.
func (p *parser) char(n int) rune {
	if p.at+n >= len(p.toks) || p.toks[p.at+n].quoted {
		return end
	}
	return p.toks[p.at+n].r
}

func (p *parser) done() bool { return p.at >= len(p.toks) }

// fail refuses what begins at a token and goes up to the next one to be read, or is one character long.
func (p *parser) fail(from int, what, nearest string) error {
	to := max(p.at, from+1)
	return p.refusal(span{from, min(to, len(p.toks))}, &fault{what: what, nearest: nearest})
}

// failInstead is fail with a pattern that may be written instead: this one with other words in that place.
func (p *parser) failInstead(from int, what, words string) error {
	at := span{from, p.at}
	return p.refusal(at, &fault{what: what, nearest: p.replaced(at, words), whole: true})
}

// pattern reads all of it.
func (p *parser) pattern() (*node, error) {
	n, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.done() {
		return nil, p.fail(p.at, "closes nothing", nearestParen)
	}
	if len(p.looks) > 0 {
		return nil, p.lookRefusal(n)
	}
	return n, nil
}

func (p *parser) alternatives() (*node, error) {
	from := p.at
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, p.fail(p.at, "is nested too deep", "write it with fewer groups")
	}
	var kids []*node
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
		if p.char(0) != '|' {
			break
		}
		p.at++
	}
	if len(kids) == 1 {
		return kids[0], nil
	}
	return &node{op: opAlt, at: span{from, p.at}, kids: kids}, nil
}

func (p *parser) sequence() (*node, error) {
	n := &node{op: opSeq, at: span{p.at, p.at}}
	for {
		if err := p.skipComments(); err != nil {
			return nil, err
		}
		if p.done() || p.char(0) == '|' || p.char(0) == ')' {
			n.at.to = p.at
			return n, nil
		}
		from := p.at
		kid, err := p.atom()
		if err != nil {
			return nil, err
		}
		if kid != nil {
			if kid, err = p.quantified(kid, from); err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
	}
}

// skipComments leaves out what (?x) leaves out.
func (p *parser) skipComments() error {
	if p.flags&Comments == 0 {
		return nil
	}
	for !p.done() {
		switch r := p.char(0); {
		case r == end:
			return p.fail(p.at, `is quoted by \Q under (?x)`, `write \ before the characters instead`)
		case isSpace(r):
			p.at++
		case r == '#':
			from := p.at
			for p.at++; !p.isLineBreak(); p.at++ {
				if p.done() {
					return p.fail(from, "begins a comment without an end, and a list would end in it", "leave the comment out")
				}
			}
		default:
			return nil
		}
	}
	return nil
}

// isSpace is ASCII's white space.
func isSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }

func (p *parser) isLineBreak() bool {
	switch p.char(0) {
	case '\n':
		return true
	case '\r', 0x85, 0x2028, 0x2029:
		return p.flags&UnixLines == 0
	}
	return false
}

// atom reads one thing that can be repeated; nil stands for flags, which cannot.
func (p *parser) atom() (*node, error) {
	from := p.at
	r := p.char(0)
	switch r {
	case end: // quoted
		p.at++
		return p.literal(p.toks[from].r, from), nil
	case '(':
		return p.group()
	case '[':
		p.at++
		s, err := p.class(from)
		if err != nil {
			return nil, err
		}
		return p.setNode(s, from), nil
	case '\\':
		return p.escape()
	case '*', '+', '?':
		return nil, p.nothingToRepeat()
	case '{':
		return nil, p.fail(p.at, "does not begin a repetition", nearestBrace)
	}
	p.at++
	switch r {
	case '^':
		if p.flags&Multiline != 0 {
			return &node{op: opCaret, at: span{from, p.at}}, nil
		}
		return p.zero(`\A`, from), nil
	case '$':
		return &node{op: opEnd, at: span{from, p.at}}, nil
	case '.':
		s := set(nil)
		switch {
		case p.flags&DotAll != 0:
		case p.flags&UnixLines != 0:
			s = single('\n')
		default:
			s = newSet(runes{'\n', '\n'}, runes{'\r', '\r'}, runes{0x85, 0x85}, runes{0x2028, 0x2029})
		}
		return p.setNode(s.negate(), from), nil
	}
	return p.literal(r, from), nil
}

func (p *parser) setNode(s set, from int) *node {
	return &node{op: opSet, at: span{from, p.at}, set: s}
}

// zero is a node that consumes nothing.
func (p *parser) zero(re2 string, from int) *node {
	return &node{op: opText, at: span{from, p.at}, text: re2}
}

func (p *parser) literal(r rune, from int) *node { return p.setNode(p.fold(r), from) }

// fold is the characters that a literal stands for.
func (p *parser) fold(r rune) set {
	switch {
	case p.flags&FoldCase == 0:
		return single(r)
	case p.flags&UnicodeCase != 0:
		return foldedUnicode(r)
	}
	return single(r).folded()
}

func (p *parser) nothingToRepeat() error {
	words := string(p.char(0))
	p.at++
	nearest := `write \` + words + " for the character"
	if p.at == 1 && words == "*" {
		return p.refusal(span{0, 1}, &fault{what: "has nothing to repeat", nearest: `write "` + glob(p.source) + `" if a glob was meant`})
	}
	return p.fail(p.at-1, "has nothing to repeat", nearest)
}

// glob turns the stars of a shell pattern into ".*".
func glob(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, ".*", "*"), "*", ".*")
}
