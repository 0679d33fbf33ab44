package javapattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// An Error says why a pattern cannot be used.
type Error struct {
	Pattern   string
	Construct string // the part of it that is at fault
	Char      int    // where Construct begins, counted in characters from 1
	Reason    string // a clause that names Construct and Char
	Nearest   string // what to write instead

	// Include and Exclude are set where the pattern is a plain one less what its negative look-arounds take away, which
	// two lists can say: names that match Include and none of Exclude.
	Include string
	Exclude []string
}

func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q: %s; %s", e.Pattern, e.Reason, e.Nearest)
}

// span is a part of the pattern: tokens from the first up to the second.
type span struct{ from, to int }

// A fault is an Error without its place. What is a clause that goes on after the construct and where it is.
type fault struct {
	what    string
	nearest string
	whole   bool // nearest is a pattern that may be written instead
}

func (f *fault) Error() string { return f.what }

const (
	// The words about a comma are for lists in properties files; internal/config/yamlfile leaves them out where there is none.
	nearestBrace = `write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`
	nearestParen = `write \( or \) for the character (a comma ends a pattern of a list)`
	nearestOpen  = `write \[ for the character (a comma ends a pattern of a list)`
	nearestLook  = "say it with two lists: what to include and what to exclude"
	nearestClass = "write the characters of the class one by one"
	syntaxPage   = "what Java knows is at https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/regex/Pattern.html"
)

// refusal is the Error for a fault at a part of the pattern.
func (p *parser) refusal(at span, f *fault) *Error {
	construct := p.text(at)
	e := &Error{Pattern: p.source, Construct: construct, Char: p.char1(at.from), Nearest: f.nearest}
	if strings.TrimSpace(construct) == "" {
		construct = fmt.Sprintf("%q", construct)
	}
	e.Reason = fmt.Sprintf("%s at character %d %s", construct, e.Char, f.what)
	if f.whole {
		e.Nearest = fmt.Sprintf("write %q", f.nearest)
	}
	return e
}

// char1 is where a token is, counted in characters from 1: \Q and \E are no tokens, but are characters.
func (p *parser) char1(token int) int {
	return utf8.RuneCountInString(p.text(span{0, token})) + 1
}

// replaced is the pattern with other words in one place.
func (p *parser) replaced(at span, words string) string {
	return p.text(span{0, at.from}) + words + p.text(span{at.to, len(p.toks)})
}

// text is a part of the pattern as it was written.
func (p *parser) text(at span) string {
	from, to := len(p.source), len(p.source)
	if at.from < len(p.toks) {
		from = p.toks[at.from].offset
	}
	if at.to < len(p.toks) {
		to = p.toks[at.to].offset
	}
	return p.source[from:to]
}

// A look is a look-around that was read. RE2 has none, so it only serves to say what to write instead.
type look struct {
	at       span
	body     span
	node     *node
	negative bool
	behind   bool
	outside  bool // not inside of a group, and no flag is set
}

// lookRefusal refuses the first look-around. (?!x).* is by far the commonest, and two lists say the same.
func (p *parser) lookRefusal(n *node) *Error {
	first := p.looks[0]
	name := "a look-ahead"
	if first.behind {
		name = "a look-behind"
	}
	e := p.refusal(first.at, &fault{what: "is " + name + ", which RE2 cannot do", nearest: nearestLook})
	include, exclude, ok := p.asLists(n)
	if !ok {
		return e
	}
	e.Include, e.Exclude = include, exclude
	var quoted []string
	for _, x := range exclude {
		quoted = append(quoted, fmt.Sprintf("%q", x))
	}
	e.Nearest = fmt.Sprintf("write %q here and %s in the exclude list", include, strings.Join(quoted, " and "))
	return e
}

// asLists says the pattern as an include pattern and exclude patterns, if that is all it says: negative look-aheads at its
// start and look-behinds at its end.
func (p *parser) asLists(n *node) (include string, exclude []string, ok bool) {
	if n.op != opSeq {
		return "", nil, false // alternatives: a look-around belongs to one of them only
	}
	rest := p.source
	for _, l := range slices.Backward(p.looks) {
		if !l.negative || !l.outside || l.at.to > len(p.toks) {
			return "", nil, false
		}
		before, after := false, false // is there anything that consumes, on either side
		for _, kid := range n.kids {
			before = before || kid.at.from < l.at.from && kid.longest() > 0
			after = after || kid.at.from > l.at.from && kid.longest() > 0
		}
		var text string
		switch {
		case !l.behind && !before:
			text = lookBody(p.text(l.body), l.node, "", ".*")
		case l.behind && !after:
			text = lookBody(p.text(l.body), l.node, ".*", "")
		default:
			return "", nil, false
		}
		if _, _, err := Translate(text, 0); err != nil || strings.Contains(text, ",") {
			return "", nil, false
		}
		exclude = append([]string{text}, exclude...)
		whole := p.text(l.at)
		at := p.toks[l.at.from].offset
		rest = rest[:at] + rest[at+len(whole):]
	}
	if _, _, err := Translate(rest, 0); err != nil {
		return "", nil, false
	}
	return rest, exclude, true
}

// lookBody makes a pattern for whole names of what a look-around looks for.
func lookBody(body string, n *node, before, after string) string {
	if n.op == opAlt {
		body = "(?:" + body + ")"
	}
	if after != "" {
		if cut, ends := strings.CutSuffix(body, "$"); ends && n.op != opAlt && !strings.HasSuffix(cut, `\`) {
			return cut
		}
		if strings.HasSuffix(body, after) {
			return body
		}
	}
	if strings.HasPrefix(body, before) {
		before = ""
	}
	return before + body + after
}
