package config

import (
	"cmp"
	"slices"

	"tidemark/internal/config/report"
)

// finish puts all that was found in the order of the file, and gives the config where there is no problem. c and p may
// be nil where the file could not be read at all.
func finish(r *report.Report, c *Config, p *positions) Examined {
	problems, remarks := r.Sorted()
	out := Examined{Problems: problems, Remarks: remarks}
	if len(problems) > 0 {
		return out
	}
	for _, n := range remarks {
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
