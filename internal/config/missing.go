package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/config/report"
)

// Missing is what a start would be refused for although the file itself is right: files and variables that clients name and
// that are not there, are blank, or are no store. It reads them. Problems of what enabled flows use stand apart from those
// that only other clusters have; each comes once, in the order of the file, and holds no secret.
func (c *Config) Missing() (used, idle report.Problems) {
	taking := map[string]bool{}
	for _, f := range c.EnabledFlows() {
		for _, r := range Roles() {
			client := c.Client(f.Name(), r)
			taking[client.Alias] = true
			used = c.unusable(used, client)
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(c.Clusters)) {
		if !taking[alias] {
			idle = c.unusable(idle, c.Clusters[alias])
		}
	}
	for _, ps := range []report.Problems{used, idle} {
		slices.SortStableFunc(ps, func(a, b report.Problem) int { return cmp.Compare(a.Line, b.Line) })
	}
	return used, idle
}

// unusable adds what keeps a client from being made.
func (c *Config) unusable(ps report.Problems, client Cluster) report.Problems {
	if _, err := client.Kafka(); err != nil {
		for _, p := range leaves(c.File, err) {
			if !slices.Contains(ps, p) {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// leaves are the problems that an error is put together from.
func leaves(file string, err error) report.Problems {
	if p, ok := err.(report.Problem); ok { //nolint:errorlint // each level is looked at, so that none of several is lost
		return report.Problems{p}
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		var out report.Problems
		for _, one := range e.Unwrap() {
			out = append(out, leaves(file, one)...)
		}
		return out
	case interface{ Unwrap() error }:
		if inner := errors.Unwrap(err); inner != nil {
			return leaves(file, inner)
		}
	}
	return report.Problems{{File: file, What: fmt.Sprint(err)}}
}
