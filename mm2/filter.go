package mm2

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// DefaultTopics is the default of topics.
func DefaultTopics() []string { return []string{".*"} }

// DefaultTopicsExclude is the default of topics.exclude.
func DefaultTopicsExclude() []string { return []string{`.*[\-\.]internal`, `.*\.replica`, `__.*`} }

// DefaultGroups is the default of groups.
func DefaultGroups() []string { return []string{".*"} }

// DefaultGroupsExclude is the default of groups.exclude.
func DefaultGroupsExclude() []string { return []string{"console-consumer-.*", "connect-.*", "__.*"} }

// DefaultConfigPropertiesExclude is the default of config.properties.exclude.
func DefaultConfigPropertiesExclude() []string {
	return []string{
		`follower\.replication\.throttled\.replicas`, `leader\.replication\.throttled\.replicas`,
		`message\.timestamp\.difference\.max\.ms`, `message\.timestamp\.type`,
		`unclean\.leader\.election\.enable`, `min\.insync\.replicas`,
	}
}

// A Filter is an include and an exclude list of patterns, as in topics and
// topics.exclude. A pattern matches whole names, and exclude wins. An empty
// include list matches nothing, an empty exclude list excludes nothing. A Filter
// does not change after it was made and is safe for concurrent use.
type Filter struct {
	include, exclude list
}

type list struct {
	key      string
	patterns []pattern
}

type pattern struct {
	text    string
	literal bool // text has no special character: compare, do not match
	re      *regexp.Regexp
}

// NewFilter is NewKeyedFilter with the keys of the topic lists.
func NewFilter(include, exclude []string) (*Filter, error) {
	return NewKeyedFilter("topics", include, exclude)
}

// NewKeyedFilter makes a filter; key and key + ".exclude" name the lists in errors
// and rules. Blanks around a pattern are dropped. As in Java, where the patterns
// of a list are joined by "|", a flag such as (?i) outside of parentheses also
// holds for the patterns after it.
//
// The error is a PatternError: the pattern is no regular expression, or one that
// RE2 cannot do or would read differently from Java.
func NewKeyedFilter(key string, include, exclude []string) (*Filter, error) {
	in, err := newList(key, include)
	if err != nil {
		return nil, err
	}
	ex, err := newList(key+".exclude", exclude)
	if err != nil {
		return nil, err
	}
	return &Filter{in, ex}, nil
}

func newList(key string, patterns []string) (list, error) {
	l := list{key: key}
	flags := ""
	for _, text := range patterns {
		text = strings.TrimSpace(text)
		s := scan(text)
		if s.reason != "" {
			return list{}, &PatternError{Key: key, Pattern: text, Reason: s.reason, Nearest: s.nearest}
		}
		// Parsed alone first: "a)(b" is balanced only inside the group below.
		if _, err := syntax.Parse(text, syntax.Perl); err != nil {
			return list{}, syntaxError(key, text, err)
		}
		// \A and \z, not ^ and $: those change their meaning under (?m).
		re, err := regexp.Compile(`\A(?:` + flags + text + `)\z`)
		if err != nil {
			return list{}, syntaxError(key, text, err)
		}
		l.patterns = append(l.patterns, pattern{
			text:    text,
			literal: flags == "" && regexp.QuoteMeta(text) == text,
			re:      re,
		})
		flags += s.flags
	}
	return l, nil
}

// match gives the first pattern that matches the name.
func (l list) match(name string) (string, bool) {
	for _, p := range l.patterns {
		if p.literal && p.text == name || !p.literal && p.re.MatchString(name) {
			return p.text, true
		}
	}
	return "", false
}

// Match says whether the filter accepts the name, and which rule decided:
// `included by topics pattern ".*"`, `excluded by topics.exclude pattern "__.*"`
// or `not included by topics ("orders", "payments")`.
func (f *Filter) Match(name string) (ok bool, rule string) {
	if rule, excluded := f.Excluded(name); excluded {
		return false, rule
	}
	if p, ok := f.include.match(name); ok {
		return true, fmt.Sprintf("included by %s pattern %q", f.include.key, p)
	}
	return false, f.include.notIncluded()
}

// Excluded says whether the exclude list alone refuses the name, and by which
// pattern.
func (f *Filter) Excluded(name string) (rule string, excluded bool) {
	p, ok := f.exclude.match(name)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("excluded by %s pattern %q", f.exclude.key, p), true
}

// namedPatterns is how many patterns a rule lists before it only counts them.
const namedPatterns = 3

func (l list) notIncluded() string {
	if len(l.patterns) == 0 {
		return fmt.Sprintf("not included: %s is empty", l.key)
	}
	var names []string
	for _, p := range l.patterns[:min(namedPatterns, len(l.patterns))] {
		names = append(names, fmt.Sprintf("%q", p.text))
	}
	text := strings.Join(names, ", ")
	if more := len(l.patterns) - namedPatterns; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("not included by %s (%s)", l.key, text)
}
