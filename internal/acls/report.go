package acls

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"tidemark/internal/prose"
)

// Resource is what a rule is about.
type Resource string

// The resources, as the JSON document names them.
const (
	Topic           Resource = "topic"
	Group           Resource = "group"
	ClusterResource Resource = "cluster"
	TransactionalID Resource = "transactional-id"
)

// Patterns of a Rule.
const (
	Literal  = "literal"  // the one resource of this name; the name "*" is all of them
	Prefixed = "prefixed" // all whose names begin so
)

// ClusterName is the name of the one resource of kind ClusterResource.
const ClusterName = "kafka-cluster"

// Report is what some flows of a file need.
type Report struct {
	File     string    `json:"file"`
	Flows    []string  `json:"flows"`    // "A->B", in the order of the file's flows
	Clusters []Cluster `json:"clusters"` // ordered by alias
}

// Cluster is what is needed on one cluster, whether as a source, as a target, or both.
type Cluster struct {
	Alias     string   `json:"cluster"`
	Bootstrap []string `json:"bootstrap"`
	Principal string   `json:"principal,omitempty"` // User:name; empty where the file does not tell who logs in
	Rules     []Rule   `json:"rules"`               // ordered by resource, then name
	Notes     []string `json:"notes,omitempty"`
}

// Rule is one resource pattern and the rights on it.
type Rule struct {
	Resource Resource `json:"resource"`
	Pattern  string   `json:"pattern"` // Literal or Prefixed
	Name     string   `json:"name"`
	Rights   []Right  `json:"rights"`
	Notes    []string `json:"notes,omitempty"` // in what the rule opens more, or less, than the file asks for
}

// Right is one operation. Without it something does not work; nothing else in the report includes it.
type Right struct {
	Operation Operation `json:"operation"`
	Reasons   []Reason  `json:"reasons"`
}

// Reason is why a right is needed.
type Reason struct {
	Need     string    `json:"need"`               // continues "needed to"
	Included Operation `json:"includes,omitempty"` // the operation that this need is about, where the right's own includes it
	Flows    []string  `json:"flows"`              // "A->B"
	Unless   string    `json:"unless,omitempty"`   // the setting, or settings, without which the need is gone
}

// Operation is a right as brokers name it.
type Operation string

// The operations that a flow can need.
const (
	Read            Operation = "READ"
	Write           Operation = "WRITE"
	Create          Operation = "CREATE"
	Alter           Operation = "ALTER"
	Describe        Operation = "DESCRIBE"
	DescribeConfigs Operation = "DESCRIBE_CONFIGS"
	AlterConfigs    Operation = "ALTER_CONFIGS"
)

// operations are all of them, in the order in which they are shown.
func operations() []Operation {
	return []Operation{Create, Describe, Read, Write, Alter, DescribeConfigs, AlterConfigs}
}

// includes says whether who has op may do other too, by StandardAuthorizer's rules.
func (op Operation) includes(other Operation) bool {
	switch other {
	case op:
		return true
	case Describe:
		return op == Read || op == Write || op == Alter
	case DescribeConfigs:
		return op == AlterConfigs
	default:
		return false
	}
}

// command is the operation as kafka-acls.sh spells it: DescribeConfigs.
func (op Operation) command() string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(op), "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	for i, c := range r.Clusters {
		if i > 0 {
			b.WriteString("\n")
		}
		who := "a principal that the file does not name (--principal says it)"
		if c.Principal != "" {
			who = c.Principal
		}
		fmt.Fprintf(&b, "Cluster %s at %s, for %s\n\n", c.Alias, strings.Join(c.Bootstrap, ","), who)
		b.WriteString(r.table(c))
		for _, n := range c.notes() {
			b.WriteString(prose.Hanging("  - ", n, width))
		}
	}
	return b.String()
}

// table is a cluster's rules in columns. Resources with the same rights stand one below the other, beside them. A column
// that would say the same everywhere is left out.
func (r Report) table(c Cluster) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	several := len(r.Flows) > 1
	line := func(cells ...string) {
		if !several {
			cells = cells[:4]
		}
		_, _ = fmt.Fprintln(w, "  "+strings.Join(cells, "\t")) // a Builder takes everything
	}
	line("RESOURCE", "RIGHT", "NEEDED TO", "UNLESS", "FLOWS")
	for i, same := range alike(c.Rules) {
		if i > 0 {
			line("", "", "", "", "") // an empty line would end the columns
		}
		var cells [][3]string
		var flows []string
		for _, right := range same[0].Rights {
			operation := string(right.Operation)
			for _, why := range right.shown() {
				cells, flows = append(cells, [3]string{operation, why.text(), orDash(why.Unless)}), append(flows, strings.Join(why.Flows, " "))
				operation = ""
			}
		}
		for n := range max(len(cells), len(same)) {
			name := ""
			if n < len(same) {
				name = same[n].title()
			}
			if n < len(cells) {
				line(name, cells[n][0], cells[n][1], cells[n][2], flows[n])
			} else {
				line(name, "", "", "", "")
			}
		}
	}
	_ = w.Flush() // see line
	var out strings.Builder
	for l := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	return out.String()
}

// alike gathers rules with the same rights for the same reasons, in the order of their first.
func alike(rules []Rule) (out [][]Rule) {
	for _, r := range rules {
		i := slices.IndexFunc(out, func(same []Rule) bool {
			return same[0].Resource == r.Resource && reflect.DeepEqual(same[0].Rights, r.Rights)
		})
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], r)
	}
	return out
}

// shown are the reasons for people: to see what one reads or writes goes without saying.
func (r Right) shown() []Reason {
	out := slices.DeleteFunc(slices.Clone(r.Reasons), func(why Reason) bool { return why.Included == Describe })
	if len(out) == 0 {
		return r.Reasons
	}
	return out
}

// title names a rule's resource: "topic orders", "topics orders-* (prefix)", "every group".
func (r Rule) title() string {
	kind := strings.ReplaceAll(string(r.Resource), "-", " ")
	switch {
	case r.Resource == ClusterResource:
		return kind
	case r.Name == "*" && r.Pattern == Literal:
		return "every " + kind + " (*)"
	case r.Pattern == Prefixed:
		return kind + "s " + r.Name + "* (prefixed)"
	}
	return kind + " " + r.Name
}

func (r Reason) text() string {
	if r.Included != "" {
		return fmt.Sprintf("%s (%s)", r.Need, r.Included)
	}
	return r.Need
}

// notes are the sentences below a cluster's table.
func (c Cluster) notes() []string {
	var out []string
	for _, r := range c.Rules {
		for _, n := range r.Notes {
			out = append(out, r.title()+": "+n)
		}
	}
	return append(out, c.Notes...)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// width is that of the sentences; the tables are as wide as their names.
const width = 110
