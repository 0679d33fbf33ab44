package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	File string
	Line int    // 1 is the first line; 0 where it is about no single line
	Key  string // as written in the file, or a path such as flows[0].topics; may be empty
	What string // what is wrong
	Do   string // what to do about it
}

// Error writes "file:line: key: what; do".
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.What)
	if p.Do != "" {
		b.WriteString("; " + p.Do)
	}
	return b.String()
}

// Problems is everything that is wrong with a file, in the order of its lines.
type Problems []Problem

// Error writes one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the problems to errors.Is and errors.As.
func (ps Problems) Unwrap() []error {
	out := make([]error, len(ps))
	for i, p := range ps {
		out[i] = p
	}
	return out
}

// at says where in the file a value stands.
type at struct {
	line int
	key  string
}

// report collects what is wrong, and what is worth saying, while a file is read.
type report struct {
	file     string
	problems Problems
	notes    []note
}

type note struct {
	line int
	text string
	warn bool
}

func (r *report) problem(where at, what, do string) {
	p := Problem{File: r.file, Line: where.line, Key: where.key, What: what, Do: do}
	// What all flows share (defaults, top-level keys) is read once for each flow, and reported once.
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

func (r *report) note(line int, format string, args ...any) {
	r.notes = append(r.notes, remark(line, fmt.Sprintf(format, args...)))
}

// warn notes what is most likely a mistake, although the file means something without it.
func (r *report) warn(line int, format string, args ...any) {
	n := remark(line, fmt.Sprintf(format, args...))
	n.warn = true
	r.notes = append(r.notes, n)
}

func remark(line int, text string) note {
	if line > 0 {
		text = fmt.Sprintf("%s (line %d)", text, line)
	}
	return note{line: line, text: text}
}

// finish returns the config with its notes, or all problems in the order of the file.
func (r *report) finish(c *Config) (*Config, error) {
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.problems
	}
	// Notes about the whole file come after those about a line: 0 - 1 is the largest uint.
	slices.SortStableFunc(r.notes, func(a, b note) int {
		return cmp.Compare(uint(a.line-1), uint(b.line-1))
	})
	for _, n := range r.notes {
		if n.warn {
			c.Warnings = append(c.Warnings, n.text)
		} else {
			c.Notes = append(c.Notes, n.text)
		}
	}
	slices.SortFunc(c.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	return c, nil
}

// nearest is the candidate that a misspelt key most likely meant, or "" where none is near: at most a third of its
// letters differ, or the one is the beginning of the other.
func nearest(key string, candidates []string) string {
	best, bestDistance := "", len(key)/3+1
	for _, c := range candidates {
		if d := distance(key, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	for _, c := range candidates {
		if len(key) > 3 && (strings.HasPrefix(c, key) || strings.HasPrefix(key, c)) {
			return c
		}
	}
	return ""
}

// distance counts the letters to insert, delete or replace that make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
