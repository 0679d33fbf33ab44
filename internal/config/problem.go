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
	remarks  []Remark
	borrowed map[at]string // the references of values that come from outside the file, by the places of those values
}

// Remark is something worth knowing about a file that is no problem.
type Remark struct {
	Line int    // 0 where it is about no single line
	Text string // without the line
	Warn bool   // most likely a mistake, although the file means something without it
	Key  string // as written in the file, of a key without effect

	// Flow and Field say which setting it is about, where that is one of Config.Flows and of type Flow; otherwise empty.
	Flow  FlowName
	Field string
}

// String adds the line.
func (n Remark) String() string {
	if n.Line > 0 {
		return fmt.Sprintf("%s (line %d)", n.Text, n.Line)
	}
	return n.Text
}

func (r *report) problem(where at, what, do string) {
	if refs, ok := r.borrowed[where]; ok && !discreet(where.key) {
		what = "what " + refs + " stands for cannot be used here (it is not shown, since it may be a secret)"
	}
	r.add(Problem{File: r.file, Line: where.line, Key: where.key, What: what, Do: do})
}

// add reports a problem as it is. What all flows share (defaults, top-level keys) is read once for each flow, and
// reported once.
func (r *report) add(p Problem) {
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// told says whether there is a problem about a place already.
func (r *report) told(where at) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Line == where.line && p.Key == where.key })
}

// discreet says whether problems with the key never quote its value, which is a secret wherever it comes from.
func discreet(key string) bool {
	for _, k := range []string{
		"sasl.jaas.config", "ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.key.password",
	} {
		if key == k || strings.HasSuffix(key, "."+k) {
			return true
		}
	}
	return false
}

func (r *report) note(line int, format string, args ...any) {
	// A value that all flows or clusters share is read once for each of them.
	if n := (Remark{Line: line, Text: fmt.Sprintf(format, args...)}); !slices.Contains(r.remarks, n) {
		r.remarks = append(r.remarks, n)
	}
}

// noteOn notes something about one setting of a flow.
func (r *report) noteOn(line int, flow FlowName, field, format string, args ...any) {
	r.remarks = append(r.remarks, Remark{Line: line, Text: fmt.Sprintf(format, args...), Flow: flow, Field: field})
}

// idleKey notes a key that has no effect, for a reason that is no mistake.
func (r *report) idleKey(e entry, format string, args ...any) {
	n := Remark{Line: e.line, Text: e.key + " has no effect: " + fmt.Sprintf(format, args...), Key: e.key}
	if !slices.Contains(r.remarks, n) { // see note
		r.remarks = append(r.remarks, n)
	}
}

// warn notes a key that has no effect, which is most likely a mistake, although the file means something without it.
func (r *report) warn(e entry, format string, args ...any) {
	r.remarks = append(r.remarks, Remark{Line: e.line, Text: e.key + " has no effect: " + fmt.Sprintf(format, args...), Warn: true, Key: e.key})
}

// finish puts problems and remarks in the order of the file, and gives the config where there is no problem. c and p may
// be nil where the file could not be read at all.
func (r *report) finish(c *Config, p *positions) Examined {
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	// Remarks about the whole file come after those about a line: 0 - 1 is the largest uint.
	slices.SortStableFunc(r.remarks, func(a, b Remark) int {
		return cmp.Compare(uint(a.Line-1), uint(b.Line-1))
	})
	out := Examined{Problems: r.problems, Remarks: r.remarks}
	if len(r.problems) > 0 {
		return out
	}
	for _, n := range r.remarks {
		if n.Warn {
			c.Warnings = append(c.Warnings, n.String())
		} else {
			c.Notes = append(c.Notes, n.String())
		}
	}
	slices.SortFunc(c.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	out.Config, out.places = c, p
	return out
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
