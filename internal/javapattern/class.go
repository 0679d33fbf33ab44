package javapattern

// class reads a class after its opening bracket, and the closing one.
func (p *parser) class(from int) (set, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, p.fail(from, "is nested too deep", nearestClass)
	}
	negative := p.char(0) == '^'
	if negative {
		p.at++
	}
	s, err := p.classItems(from)
	if err != nil {
		return nil, err
	}
	p.at++ // the bracket
	if negative {
		return s.negate(), nil // of all of it, as Java does since 9
	}
	return s, nil
}

// classItems reads up to the closing bracket: characters, ranges and classes, which add up, and what && takes from them.
func (p *parser) classItems(open int) (set, error) {
	var all []set
	for {
		from := p.at
		switch r := p.char(0); {
		case p.done():
			p.at = open + 1
			return nil, p.fail(open, "is never closed", nearestOpen)
		case r == ']' && len(all) > 0:
			return set(nil).union(all...), nil
		case r == '[' && p.char(1) == ':':
			p.at += 2
			return nil, p.fail(from, "begins a class that Java reads character by character", `write \p{Alpha} for [[:alpha:]]`)
		case r == '[':
			p.at++
			s, err := p.class(from)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		case r == '&' && p.char(1) == '&':
			if len(all) == 0 {
				return nil, p.failWide(from, 2, "has nothing before it", `write \& for the character`)
			}
			right, err := p.intersection(open)
			if err != nil {
				return nil, err
			}
			all = []set{set(nil).union(all...).intersect(right)}
		case p.flags&Comments != 0 && (isSpace(r) || r == '#'):
			return nil, p.fail(from, "is a blank or a comment in a class under (?x)", `leave it out, or write \ before it`)
		default:
			s, err := p.classRange(from)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
}

// failWide is fail for what is some characters long.
func (p *parser) failWide(from, chars int, what, nearest string) error {
	p.at = from + chars
	return p.fail(from, what, nearest)
}

// intersection reads what stands behind &&: classes, or anything else up to the closing bracket. What Java does with a
// mixture of both depends on the order, so that is refused.
func (p *parser) intersection(open int) (set, error) {
	from := p.at
	const form = "write classes in brackets on both sides: [[...]&&[...]]"
	p.at += 2
	switch r := p.char(0); {
	case r == ']' || r == '&' || r == '^':
		return nil, p.failWide(from, 3, "has nothing that can stand behind &&", form)
	case r != '[':
		return p.classItems(open)
	}
	var all []set
	for p.char(0) == '[' {
		at := p.at
		if p.char(1) == ':' {
			return nil, p.failWide(at, 2, "begins a class that Java reads character by character", `write \p{Alpha} for [[:alpha:]]`)
		}
		p.at++
		s, err := p.class(at)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if next := p.char(0); !p.done() && next != ']' && (next != '&' || p.char(1) != '&') {
		return nil, p.failWide(from, 2, "is followed by a class and more", form)
	}
	return set(nil).union(all...), nil
}

// classRange reads a character, an escape for several, or a range.
func (p *parser) classRange(from int) (set, error) {
	low, s, err := p.classChar(func() bool { return p.char(2) == '-' })
	if err != nil {
		return nil, err
	}
	if s != nil {
		return *s, nil
	}
	if p.char(0) != '-' || p.char(1) == '[' || p.char(1) == ']' || p.at+1 >= len(p.toks) {
		return p.fold(low), nil
	}
	p.at++
	if p.char(0) == '&' && p.char(1) == '&' {
		return nil, p.fail(from, "ends in what is an intersection elsewhere", `write \& for the character`)
	}
	high, s, err := p.classChar(func() bool { return true })
	if err != nil {
		return nil, err
	}
	switch {
	case s != nil || high < low:
		return nil, p.fail(from, "is a range that ends before it begins", `write \- for the character`)
	case p.flags&FoldCase == 0:
		return newSet(runes{low, high}), nil
	case p.flags&UnicodeCase != 0:
		return nil, p.fail(from, "is a range under (?iu), which releases of Java read differently", "write (?i), which is for ASCII letters")
	}
	return newSet(runes{low, high}).folded(), nil
}

// classChar reads one character or an escape for several. inRange says whether \v is a character, as it is in ranges.
func (p *parser) classChar(inRange func() bool) (rune, *set, error) {
	if p.char(0) == '\\' {
		return p.escapedSet(inRange())
	}
	r := p.toks[p.at].r
	if p.flags&Comments != 0 && (isSpace(r) || r == '#') {
		return 0, nil, p.fail(p.at, "is a blank or a comment in a class under (?x)", `leave it out, or write \ before it`)
	}
	p.at++
	return r, nil, nil
}
