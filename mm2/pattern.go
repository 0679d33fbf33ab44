package mm2

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// A PatternError says that a filter pattern cannot be used.
type PatternError struct {
	Key     string // the list, for example topics.exclude
	Pattern string // as it was given, without blanks around it
	Reason  string // what is wrong with it
	Nearest string // what to write instead
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("%s: pattern %q: %s; %s", e.Key, e.Pattern, e.Reason, e.Nearest)
}

const (
	nearestLook  = "list such names in the exclude list instead"
	nearestBrace = `write \{ for the character, or the repetition in full (aa|aaa for a{2,3}: a comma ends a pattern of a list)`
	nearestClass = `write \[ and \& for the characters, or one plain class such as [a-z]`
	nearestSpell = "Go's RE2 syntax is at https://pkg.go.dev/regexp/syntax"
)

// A scanned pattern: the flags that it leaves for the patterns after it, or why
// Go would silently read it differently from Java.
type scanned struct {
	flags   string
	reason  string
	nearest string
}

// scan looks for what Go compiles with another meaning than Java: a brace that is
// no repetition (literal in Go, an error in Java: the rest of a{2,3} after a comma
// split), and classes inside classes (a union or intersection in Java). Everything
// else that differs is an error of regexp.Compile.
func scan(text string) scanned {
	var s scanned
	depth := 0 // of parentheses: flags set inside do not leave them
	for i := 0; i < len(text); {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, `\Q`):
			end := strings.Index(rest, `\E`)
			if end < 0 {
				s.reason, s.nearest = `\Q has no \E`, `add \E`
				return s
			}
			i += end + 2
		case rest[0] == '\\':
			i += escape(rest)
		case rest[0] == '[':
			n, ok := class(rest)
			if !ok {
				s.reason, s.nearest = "a class inside a class is no RE2 syntax", nearestClass
				return s
			}
			i += n
		case rest[0] == '{':
			n := repetition(rest)
			if n == 0 {
				s.reason, s.nearest = "'{' does not begin a repetition", nearestBrace
				return s
			}
			i += n
		case rest[0] == '(':
			if flags := flagGroup(rest); flags != "" && depth == 0 {
				s.flags += flags
			}
			depth++
			i++
		case rest[0] == ')':
			depth--
			i++
		default:
			i++
		}
	}
	return s
}

// escape is the length of the escape that rest begins with, braces of \x{10FFFF}
// and \p{Greek} included.
func escape(rest string) int {
	if len(rest) > 2 && strings.IndexByte("xpP", rest[1]) >= 0 && rest[2] == '{' {
		if end := strings.IndexByte(rest, '}'); end > 0 {
			return end + 1
		}
	}
	return min(2, len(rest))
}

// class is the length of the class that rest begins with; ok is false if it holds
// another one or an intersection.
func class(rest string) (n int, ok bool) {
	i := 1
	if i < len(rest) && rest[i] == '^' {
		i++
	}
	if i < len(rest) && rest[i] == ']' { // a literal in both dialects
		i++
	}
	for i < len(rest) {
		switch {
		case rest[i] == ']':
			return i + 1, true
		case rest[i] == '[', strings.HasPrefix(rest[i:], "&&"):
			return 0, false
		case rest[i] == '\\':
			i += escape(rest[i:])
		default:
			i++
		}
	}
	return len(rest), true // no end: regexp.Compile says so
}

// repetition is the length of a {n}, {n,} or {n,m} at the start of rest, or 0.
func repetition(rest string) int {
	end := strings.IndexByte(rest, '}')
	if end < 2 || rest[1] == ',' || strings.Count(rest[:end], ",") > 1 || strings.Trim(rest[1:end], "0123456789,") != "" {
		return 0
	}
	return end + 1
}

// flagGroup gives "(?i)" if rest begins with such a group, which sets flags for
// what follows, and "" otherwise.
func flagGroup(rest string) string {
	end := strings.IndexByte(rest, ')')
	if end < 3 || !strings.HasPrefix(rest, "(?") || strings.Trim(rest[2:end], "imsU-") != "" {
		return ""
	}
	return rest[:end+1]
}

// syntaxError explains what regexp.Compile refused.
func syntaxError(key, text string, err error) *PatternError {
	e := &PatternError{Key: key, Pattern: text, Reason: err.Error(), Nearest: nearestSpell}
	var se *syntax.Error
	if !errors.As(err, &se) {
		return e
	}
	e.Reason = se.Code.String()
	switch {
	case strings.Contains(text, "(?!"), strings.Contains(text, "(?="),
		strings.Contains(text, "(?<!"), strings.Contains(text, "(?<="):
		e.Reason, e.Nearest = "look-ahead and look-behind are no RE2 syntax", nearestLook
	case strings.Contains(text, "(?>"):
		e.Reason, e.Nearest = "atomic groups are no RE2 syntax", fmt.Sprintf("write %q", strings.ReplaceAll(text, "(?>", "(?:"))
	case se.Code == syntax.ErrInvalidRepeatOp && unpossess(text) != text:
		e.Reason, e.Nearest = "possessive quantifiers are no RE2 syntax", fmt.Sprintf("write %q", unpossess(text))
	case se.Code == syntax.ErrMissingRepeatArgument:
		e.Reason = "nothing to repeat before " + se.Expr
		e.Nearest = fmt.Sprintf("write \\%s for the character", se.Expr)
		if se.Expr == "*" {
			e.Nearest = fmt.Sprintf("write %q if a glob was meant", glob(text))
		}
	case se.Code == syntax.ErrInvalidEscape && isDigit(se.Expr):
		e.Reason, e.Nearest = "back-references are no RE2 syntax", "list the names"
	case se.Code == syntax.ErrInvalidEscape:
		e.Reason = "unknown escape " + se.Expr
	case se.Code == syntax.ErrMissingParen, se.Code == syntax.ErrUnexpectedParen:
		e.Nearest = `write \( or \) for the character (a comma ends a pattern of a list)`
	case se.Code == syntax.ErrMissingBracket:
		e.Nearest = `write \[ for the character (a comma ends a pattern of a list)`
	}
	return e
}

func isDigit(expr string) bool {
	return len(expr) == 2 && expr[1] >= '1' && expr[1] <= '9'
}

// unpossess makes possessive quantifiers greedy: a*+ to a*.
func unpossess(text string) string {
	return strings.NewReplacer("*+", "*", "++", "+", "?+", "?", "}+", "}").Replace(text)
}

// glob turns the stars of a shell pattern into ".*".
func glob(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, ".*", "*"), "*", ".*")
}
