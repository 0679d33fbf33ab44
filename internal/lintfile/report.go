// Package lintfile says in sentences what a configuration file will do, flow by flow, and what about it is wrong, risky
// or worth knowing. It is what `tidemark lint` prints.
//
// Invariants:
//   - It is pure: what is known about brokers is handed in, and nothing is asked here.
//   - It decides nothing that a run decides: names come from the replication policy, everything else from the Config.
//   - A problem, remark or risk is said once, with the line where one can be named.
//   - No password and no key is ever part of a report, nor anything that a configuration provider gives; user names stand
//     in what clients work with (Clients) only.
//
// What it does not do: compare the file with what exists on the clusters, apart from the number of brokers and the topics
// that Wanted names.
package lintfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/prose"
)

// Severities of a Finding.
const (
	Error = "error" // the file cannot be used, or not here and now
	Risk  = "risk"  // it can, and will do something that its author may not want
	Note  = "note"  // worth knowing
)

// Report is what there is to say about one file.
type Report struct {
	File     string    `json:"file"`
	Kind     string    `json:"kind,omitempty"`   // "yaml" or "properties"; empty where the file cannot be used
	Called   string    `json:"called,omitempty"` // what kind it is, for people
	Clusters []string  `json:"clusters,omitempty"`
	Flows    []Flow    `json:"flows"`    // empty where the file cannot be used
	Findings []Finding `json:"findings"` // errors, then risks, then notes; each in the order of the file
}

// Flow is one flow in sentences.
type Flow struct {
	Name      string     `json:"flow"` // "A->B"
	Enabled   bool       `json:"enabled"`
	Sentences []Sentence `json:"does,omitempty"` // empty where the flow is not enabled
}

// Sentence says one thing that a flow does.
type Sentence struct {
	About string `json:"about"` // one of a fixed list of words, such as "topics"
	Text  string `json:"text"`
}

// Finding is one thing that is wrong, risky or worth knowing.
type Finding struct {
	Severity string `json:"severity"` // Error, Risk or Note
	Line     int    `json:"line,omitempty"`
	Key      string `json:"key,omitempty"`  // as the file writes it
	Flow     string `json:"flow,omitempty"` // where it is about one flow
	Text     string `json:"text"`
	Do       string `json:"do,omitempty"`
}

// Brokers is what is known about one cluster.
type Brokers struct {
	Count    int             // brokers that answer
	Topics   map[string]bool // whether a topic exists, of those in Wanted; without an entry that is not known
	Deleting map[string]bool // those of them whose old records are deleted, as far as that is known
	Trouble  string          // why nothing is known; then the others are zero

	NoTransactions string // why it can do none, which a target must; empty where nothing shows that
}

// Look makes the report of a file. Brokers is by alias, and nil where no cluster was asked.
func Look(file string, e config.Examined, brokers map[string]Brokers) Report {
	r := Report{File: file, Flows: []Flow{}, Findings: []Finding{}}
	for _, p := range e.Problems {
		r.Findings = append(r.Findings, Finding{Severity: Error, Line: p.Line, Key: p.Key, Text: p.What, Do: p.Do})
	}
	l := looker{Examined: e, brokers: brokers}
	for _, n := range e.Remarks {
		switch {
		case n.Warn:
			r.Findings = append(r.Findings, Finding{Severity: Risk, Line: n.Line, Text: n.Text})
		case !l.covers(n):
			r.Findings = append(r.Findings, Finding{Severity: Note, Line: n.Line, Text: n.Text})
		}
	}
	if e.Config != nil {
		r.Kind, r.Called = "yaml", e.Config.Called()
		if e.Config.Properties() {
			r.Kind = "properties"
		}
		r.Clusters = slices.Sorted(maps.Keys(e.Config.Clusters))
		for _, f := range e.Config.Flows {
			r.Flows = append(r.Flows, l.flow(f))
		}
		r.Findings = append(r.Findings, l.risks()...)
	}
	r.sort()
	return r
}

// With adds what Config.Missing found: a start is refused for what enabled flows use.
func (r Report) With(used, idle report.Problems) Report {
	r.Findings = slices.Clone(r.Findings)
	for _, p := range used {
		r.Findings = append(r.Findings, Finding{Severity: Error, Line: p.Line, Key: p.Key, Text: p.What, Do: p.Do})
	}
	for _, p := range idle {
		r.Findings = append(r.Findings, Finding{Severity: Note, Line: p.Line, Key: p.Key, Text: p.What + ", and no enabled flow needs it", Do: p.Do})
	}
	r.sort()
	return r
}

func (r Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		// What is about no single line comes after what is: 0 - 1 is the largest uint.
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(uint(a.Line-1), uint(b.Line-1)))
	})
}

func rank(severity string) int { return slices.Index([]string{Error, Risk, Note}, severity) }

// Count is how many findings of a severity there are.
func (r Report) Count(severity string) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// width is where lines of the text break.
const width = 112

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	if r.Kind != "" {
		fmt.Fprintf(&b, "%s: %s; clusters %s\n", r.File, r.Called, strings.Join(r.Clusters, ", "))
	}
	for _, f := range r.Flows {
		if !f.Enabled {
			fmt.Fprintf(&b, "\nFlow %s is not enabled.\n", f.Name)
			continue
		}
		fmt.Fprintf(&b, "\nFlow %s\n", f.Name)
		for _, s := range f.Sentences {
			b.WriteString(prose.Hanging(fmt.Sprintf("  %-13s ", s.About), s.Text, width))
		}
	}
	for _, part := range []struct{ severity, title string }{{Error, "Errors"}, {Risk, "Risks"}, {Note, "Notes"}} {
		if r.Count(part.severity) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(part.title + "\n")
		for _, f := range r.Findings {
			if f.Severity == part.severity {
				b.WriteString(prose.Hanging("  - ", f.line(r.File), width))
			}
		}
	}
	return b.String()
}

// line is a finding in one line: "file:line: key: text; do".
func (f Finding) line(file string) string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "%s:%d: ", file, f.Line)
	}
	// What a file says about a key without effect begins with the key.
	if f.Key != "" && !strings.HasPrefix(f.Text, f.Key) {
		b.WriteString(f.Key + ": ")
	}
	if f.Flow != "" {
		b.WriteString("flow " + f.Flow + ": ")
	}
	b.WriteString(f.Text)
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}
