//go:build unix

package peer

import (
	"fmt"
	"slices"
	"strings"
)

// table is Markdown about every test: a row for each name, as most are run by six classes, and what was changed for them.
func table(tests map[string][]string) string {
	var b strings.Builder
	var names []string
	count, pass := 0, 0
	for _, c := range classes() {
		for _, test := range tests[c.name] {
			count++
			if expected(c.short, test).want == passes {
				pass++
			}
			if !slices.Contains(names, test) {
				names = append(names, test)
			}
		}
	}
	fmt.Fprintf(&b, "%d of %d tests pass. In all classes %s: %s.\n\n| class | | changed for it |\n| --- | --- | --- |\n", pass, count, everywhere().what, everywhere().why)
	for _, c := range classes() {
		changed := []string{}
		for _, a := range c.changed {
			changed = append(changed, a.what+": "+a.why)
		}
		fmt.Fprintf(&b, "| %s: `%s` | %s | %s |\n", c.short, c.name, c.about, strings.Join(changed, "; "))
	}
	b.WriteString("\n| test | passes in | differs |\n| --- | --- | --- |\n")
	slices.Sort(names)
	for _, test := range names {
		var ok []string
		where, reasons := map[string][]string{}, []string{}
		for _, c := range classes() {
			if !slices.Contains(tests[c.name], test) {
				continue
			}
			e := expected(c.short, test)
			if e.want == passes {
				ok = append(ok, c.short)
				continue
			}
			if where[e.why] == nil {
				reasons = append(reasons, e.why)
			}
			where[e.why] = append(where[e.why], c.short)
		}
		var differences []string
		for _, why := range reasons {
			differences = append(differences, short(where[why])+": "+why)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", test, short(ok), strings.Join(differences, "; "))
	}
	return b.String()
}

// short names classes, all six that share their tests in one word.
func short(names []string) string {
	if len(names) == len(classes())-1 {
		return "all six"
	}
	return strings.Join(names, ", ")
}
