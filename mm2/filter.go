package mm2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/javapattern"
)

// DefaultTopics is the default of topics.
func DefaultTopics() []string { return []string{".*"} }

// DefaultTopicsExclude is the default of topics.exclude.
func DefaultTopicsExclude() []string { return []string{`.*[\-\.]internal`, `.*\.replica`, `__.*`} }

// DefaultGroups is the default of groups.
func DefaultGroups() []string { return []string{".*"} }

// DefaultGroupsExclude is the default of groups.exclude.
func DefaultGroupsExclude() []string { return []string{"console-consumer-.*", "connect-.*", "__.*"} }

// DefaultConfigPropertiesExclude is the default of config.properties.exclude. The
// limits of time stamps are left to the target, the two newer ones too: with the
// source's limits it could refuse old records. MirrorMaker 2 4.3 means to leave
// them out (KAFKA-20163), but names them log.message.timestamp..., as brokers do,
// which no topic has.
func DefaultConfigPropertiesExclude() []string {
	return []string{
		`follower\.replication\.throttled\.replicas`, `leader\.replication\.throttled\.replicas`,
		`message\.timestamp\.difference\.max\.ms`, `message\.timestamp\.before\.max\.ms`, `message\.timestamp\.after\.max\.ms`,
		`message\.timestamp\.type`,
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
// and rules. Blanks around a pattern are dropped. Patterns are Java's, as in
// MirrorMaker 2 (package internal/javapattern says which of them can be used). As
// in Java, where the patterns of a list are joined by "|", a flag such as (?i)
// outside of parentheses also holds for the patterns after it.
//
// The error is a PatternError: the pattern is no regular expression of Java's, or
// one whose meaning RE2 cannot give.
func NewKeyedFilter(key string, include, exclude []string) (*Filter, error) {
	in, err := newList(key, include)
	if err != nil {
		return nil, patternError(key, err, false)
	}
	ex, err := newList(key+".exclude", exclude)
	if err != nil {
		return nil, patternError(key, err, true)
	}
	return &Filter{in, ex}, nil
}

// newList compiles the patterns of a list. The error is a javapattern.Error.
func newList(key string, patterns []string) (list, error) {
	l := list{key: key}
	var flags javapattern.Flags
	for _, text := range patterns {
		text = strings.TrimSpace(text)
		re, after, err := javapattern.Compile(text, flags)
		if err != nil {
			return list{}, err
		}
		l.patterns = append(l.patterns, pattern{
			text:    text,
			literal: flags == 0 && regexp.QuoteMeta(text) == text,
			re:      re,
		})
		flags = after
	}
	return l, nil
}

func (p pattern) matches(name string) bool {
	return p.literal && p.text == name || !p.literal && p.re.MatchString(name)
}

// match gives the first pattern that matches the name.
func (l list) match(name string) (string, bool) {
	for _, p := range l.patterns {
		if p.matches(name) {
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

// asked says whether the filter takes a name that begins with "__" or "." on
// purpose: nothing is excluded at all, or an include pattern that begins so matches
// it. ".*" alone is no purpose: MirrorMaker 2 never mirrors such names, and files
// written for it count on that.
func (f *Filter) asked(name string) bool {
	if len(f.exclude.patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(f.include.patterns, func(p pattern) bool {
		text := strings.TrimPrefix(strings.TrimPrefix(p.text, "^"), `\Q`)
		internal := strings.HasPrefix(text, "__") || strings.HasPrefix(text, `\.`) || strings.HasPrefix(text, "[.]")
		return internal && p.matches(name)
	})
}

// names says whether the include list spells the name out.
func (f *Filter) names(name string) bool {
	return slices.ContainsFunc(f.include.patterns, func(p pattern) bool { return p.text == name || p.text == regexp.QuoteMeta(name) })
}

// Unused gives the include patterns that match none of the names, as they were
// written: a misspelt one, or one for what does not exist yet.
func (f *Filter) Unused(names []string) []string {
	var out []string
	for _, p := range f.include.patterns {
		if !slices.ContainsFunc(names, p.matches) {
			out = append(out, p.text)
		}
	}
	return out
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
