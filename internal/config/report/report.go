package report

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

// At says where in the file a value stands.
type At struct {
	Line int
	Key  string
}

// Fault is what is wrong with a value and what to do; a nil *Fault means that nothing is.
type Fault struct{ What, Do string }

// Wrong is a fault.
func Wrong(what, do string) *Fault { return &Fault{what, do} }

// Report collects what is wrong, and what is worth saying, while a file is read.
type Report struct {
	File     string
	Problems Problems // in the order in which they were found

	remarks  []Remark
	borrowed map[At]loan
}

// loan is a value that comes from outside the file.
type loan struct {
	refs   string // the references that stand for it in the file
	quoted bool   // problems with it may quote it
}

// Borrow notes that the value at a place is not written in the file, but stands for what refs refer to. Problems that may
// quote such a value (quoted) are worded without it; the others are left as they are.
func (r *Report) Borrow(where At, refs string, quoted bool) {
	if r.borrowed == nil {
		r.borrowed = map[At]loan{}
	}
	r.borrowed[where] = loan{refs, quoted}
}

// Lent are the references that the value at a place stands for; ok is false where the file holds the value itself.
func (r *Report) Lent(where At) (refs string, ok bool) {
	l, ok := r.borrowed[where]
	return l.refs, ok
}

// Remark is something worth knowing about a file that is no problem.
type Remark struct {
	Line int    // 0 where it is about no single line
	Text string // without the line
	Warn bool   // most likely a mistake, although the file means something without it
	Key  string // as written in the file, of a key without effect

	// Field is the setting of a flow that it is about, by the name of the struct's field; empty where it is about none.
	Field string
}

// String adds the line.
func (n Remark) String() string {
	if n.Line > 0 {
		return fmt.Sprintf("%s (line %d)", n.Text, n.Line)
	}
	return n.Text
}

// Problem reports what is wrong at a place, without the value where that is borrowed.
func (r *Report) Problem(where At, what, do string) {
	if l, ok := r.borrowed[where]; ok && l.quoted {
		what = "what " + l.refs + " stands for cannot be used here (it is not shown, since it may be a secret)"
	}
	r.Add(Problem{File: r.File, Line: where.Line, Key: where.Key, What: what, Do: do})
}

// Faults reports what is wrong with one value.
func (r *Report) Faults(here At, faults []Fault) {
	for _, f := range faults {
		r.Problem(here, f.What, f.Do)
	}
}

// Add reports a problem as it is. What all flows share (defaults, top-level keys) is read once for each flow, and
// reported once.
func (r *Report) Add(p Problem) {
	if !slices.Contains(r.Problems, p) {
		r.Problems = append(r.Problems, p)
	}
}

// Told says whether there is a problem about a place already.
func (r *Report) Told(where At) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Line == where.Line && p.Key == where.Key })
}

// Note notes what is worth saying about a line; 0 is the whole file.
func (r *Report) Note(line int, format string, args ...any) {
	// A value that all flows or clusters share is read once for each of them.
	if n := (Remark{Line: line, Text: fmt.Sprintf(format, args...)}); !slices.Contains(r.remarks, n) {
		r.remarks = append(r.remarks, n)
	}
}

// NoteOn notes something about one setting of a flow.
func (r *Report) NoteOn(line int, field, format string, args ...any) {
	r.remarks = append(r.remarks, Remark{Line: line, Text: fmt.Sprintf(format, args...), Field: field})
}

// Idle notes a key that has no effect, for a reason that is no mistake.
func (r *Report) Idle(where At, format string, args ...any) {
	n := Remark{Line: where.Line, Text: where.Key + " has no effect: " + fmt.Sprintf(format, args...), Key: where.Key}
	if !slices.Contains(r.remarks, n) { // see Note
		r.remarks = append(r.remarks, n)
	}
}

// Warn notes a key that has no effect, which is most likely a mistake, although the file means something without it.
func (r *Report) Warn(where At, format string, args ...any) {
	r.remarks = append(r.remarks, Remark{Line: where.Line, Text: where.Key + " has no effect: " + fmt.Sprintf(format, args...), Warn: true, Key: where.Key})
}

// Suspect warns about a value that is taken as it is and was most likely meant otherwise.
func (r *Report) Suspect(where At, format string, args ...any) {
	n := Remark{Line: where.Line, Text: where.Key + " " + fmt.Sprintf(format, args...), Warn: true, Key: where.Key}
	if !slices.Contains(r.remarks, n) { // see Note
		r.remarks = append(r.remarks, n)
	}
}

// Sorted gives the problems and the remarks in the order of the file.
func (r *Report) Sorted() (Problems, []Remark) {
	slices.SortStableFunc(r.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	// Remarks about the whole file come after those about a line: 0 - 1 is the largest uint.
	slices.SortStableFunc(r.remarks, func(a, b Remark) int {
		return cmp.Compare(uint(a.Line-1), uint(b.Line-1))
	})
	return r.Problems, r.remarks
}
