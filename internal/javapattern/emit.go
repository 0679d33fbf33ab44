package javapattern

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// op is a kind of node.
type op uint8

const (
	opSet    op = iota // one character of node.set
	opSeq              // node.kids one after the other
	opAlt              // one of node.kids
	opRepeat           // node.kids[0], node.min to node.max times
	opText             // node.text, which is RE2 and consumes nothing
	opCaret            // ^ under (?m)
	opEnd              // $ or \Z, which Java also finds before a last line break
	opBreak            // \R
)

// unbounded is the max of a repetition that has none.
const unbounded = math.MaxInt

// A node is a part of a pattern.
type node struct {
	op       op
	at       span
	set      set
	kids     []*node
	min, max int
	text     string
}

// longest is 0 if the node consumes nothing, whatever the name, and more otherwise.
func (n *node) longest() int {
	switch n.op {
	case opSet, opBreak:
		return 1
	case opRepeat:
		if n.max == 0 {
			return 0
		}
	case opSeq, opAlt, opText, opCaret, opEnd:
	}
	most := 0
	for _, kid := range n.kids {
		most = max(most, kid.longest())
	}
	return most
}

// shortest is 0 if the node can match without consuming, and more otherwise.
func (n *node) shortest() int {
	switch n.op {
	case opSet, opBreak:
		return 1
	case opSeq:
		for _, kid := range n.kids {
			if kid.shortest() > 0 {
				return 1
			}
		}
	case opAlt:
		for _, kid := range n.kids {
			if kid.shortest() == 0 {
				return 0
			}
		}
		return 1
	case opRepeat:
		return min(n.min, n.kids[0].shortest())
	case opText, opCaret, opEnd:
	}
	return 0
}

// breaks says whether \R is in the node.
func (n *node) breaks() bool { return n.op == opBreak || slices.ContainsFunc(n.kids, (*node).breaks) }

// asserts says whether something is in the node that asks where it is: ^, $, \b and the like.
func (n *node) asserts() bool {
	return n.op == opText || n.op == opCaret || n.op == opEnd || slices.ContainsFunc(n.kids, (*node).asserts)
}

// A place says what surrounds a node in the whole pattern.
type place struct {
	head bool // nothing before it consumes: it begins where the name does
	tail bool // nothing after it consumes: it ends where the name does
	more bool // something after it consumes
}

// The limit of RE2 for one repetition.
const maxRepeat = 1000

// An emitter writes a tree as RE2. It remembers the first thing that RE2 cannot say.
type emitter struct {
	strings.Builder
	at  span
	err *fault
}

func (e *emitter) refuse(n *node, f fault) {
	if e.err == nil {
		e.at, e.err = n.at, &f
	}
}

func (e *emitter) write(n *node, w place) {
	switch n.op {
	case opSet:
		e.WriteString(n.set.String())
	case opText:
		e.WriteString(n.text)
	case opBreak:
		e.WriteString(`(?:\r\n|[\n-\r\x{85}\x{2028}\x{2029}])`)
	case opCaret:
		e.caret(n, w)
	case opEnd:
		// A name ends where the pattern does, so that a line break before which $ stands is never left over.
		if !w.tail {
			e.refuse(n, fault{what: "is not at the end of the pattern, and Java finds it before a last line break too", nearest: `write \z, or leave it out`})
		}
		e.WriteString(`\z`)
	case opSeq:
		e.sequence(n, w)
	case opAlt:
		e.WriteString("(?:")
		for i, kid := range n.kids {
			if i > 0 {
				e.WriteString("|")
			}
			e.write(kid, w)
		}
		e.WriteString(")")
	case opRepeat:
		e.repeat(n, w)
	}
}

// caret writes ^ under (?m), which Java finds after every line break, but not at the end of a name: never in an empty one.
func (e *emitter) caret(n *node, w place) {
	switch {
	case !w.head:
		e.refuse(n, fault{what: "is not at the start of the pattern, where (?m) gives it another meaning than RE2 does", nearest: "leave out (?m): names are matched whole"})
	case !w.more:
		e.refuse(n, fault{what: "never matches an empty name under (?m)", nearest: "leave out (?m): names are matched whole"})
	}
	e.WriteString(`\A`)
}

func (e *emitter) sequence(n *node, w place) {
	places := make([]place, len(n.kids))
	in := w
	for i := len(n.kids) - 1; i >= 0; i-- {
		places[i] = in
		in.tail = in.tail && n.kids[i].longest() == 0
		in.more = in.more || n.kids[i].shortest() > 0
	}
	head := w.head
	for i, kid := range n.kids {
		places[i].head = head
		e.write(kid, places[i])
		head = head && kid.longest() == 0
	}
}

func (e *emitter) repeat(n *node, w place) {
	body := n.kids[0]
	if n.max > 1 && body.longest() > 0 { // another round can stand before it and after it
		w.head, w.tail = false, false
	}
	if body.breaks() {
		e.refuse(n, fault{what: `repeats \R, where Java never takes \r\n for two line breaks`, nearest: `write [\r\n]`})
	}
	if n.min > 1 && body.shortest() == 0 && body.asserts() {
		// Java leaves the loop at a round that consumed nothing, so that (?:^|a){2} does not match "a".
		e.refuse(n, fault{what: "repeats a place in the name, where Java stops counting", nearest: "leave ^, $ and \\b out of what is repeated"})
	}
	e.WriteString("(?:")
	e.write(body, w)
	e.WriteString(")")
	if n.min > maxRepeat || n.max > maxRepeat && n.max != unbounded {
		e.refuse(n, fault{what: fmt.Sprintf("repeats more than %d times, which is RE2's limit", maxRepeat), nearest: "write it as several repetitions"})
		return
	}
	switch {
	case n.min == 0 && n.max == 1:
		e.WriteString("?")
	case n.max == unbounded && n.min == 0:
		e.WriteString("*")
	case n.max == unbounded && n.min == 1:
		e.WriteString("+")
	case n.max == unbounded:
		fmt.Fprintf(e, "{%d,}", n.min)
	default:
		fmt.Fprintf(e, "{%d,%d}", n.min, n.max)
	}
}
