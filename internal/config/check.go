package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// maxAlias leaves room in a topic name (249 characters) for a topic and for names such as
// tidemark-verdicts.<alias>.internal.
const maxAlias = 100

// Check judges what all kinds of file have in common, once every field has its value. It fills in the one value that
// follows from others (PositionsInterval) and otherwise changes nothing.
func (d *Draft) Check() {
	r, c := &d.Report, d.config
	for _, alias := range slices.Sorted(maps.Keys(c.Clusters)) {
		checkAlias(r, alias, inTopicNames(c, alias), d.clusters[alias])
	}
	enabled := 0
	for i := range c.Flows {
		f := &c.Flows[i]
		if f.Enabled {
			enabled++
		}
		checkFlow(r, c, *f, d.flows[f.Name()])
		// The file's intervals are upper limits, also for what MirrorMaker 2 has no key for.
		f.PositionsInterval = min(f.PositionsInterval, f.EmitCheckpointsInterval, f.SyncGroupOffsetsInterval)
	}
	if enabled == 0 && len(r.Problems) == 0 {
		r.Problem(report.At{}, "no flow is enabled", "enable one: enabled: true in YAML, A->B.enabled = true in a properties file")
	}
	checkLoops(r, c, d.flows)
}

// inTopicNames says whether an alias becomes part of topic names, as all do but that of a cluster which is only written to and
// whose flows do not name their offset syncs by it.
func inTopicNames(c *Config, alias string) bool {
	target := false
	for _, f := range c.EnabledFlows() {
		if f.Source == alias || f.Target == alias && f.EmitOffsetSyncs && f.OffsetSyncsLocation != LocationTarget {
			return true
		}
		target = target || f.Target == alias
	}
	return !target
}

func checkAlias(r *report.Report, alias string, named bool, here report.At) {
	switch {
	case strings.Contains(alias, "->"):
		r.Problem(here, fmt.Sprintf(`alias %q contains "->", which separates the two aliases of a flow`, alias), "rename the cluster")
	case named && !setting.InTopicName(alias):
		r.Problem(here, fmt.Sprintf("alias %q cannot stand in a topic name", alias),
			"use letters, digits, dots, underscores and hyphens; that of a cluster which is only a target may be anything if offset syncs are kept there")
	case len(alias) > maxAlias:
		r.Problem(here, fmt.Sprintf("the alias has %d characters", len(alias)), fmt.Sprintf("use at most %d: it becomes part of topic names", maxAlias))
	}
}

func checkFlow(r *report.Report, c *Config, f Flow, where Places) {
	known := slices.Sorted(maps.Keys(c.Clusters))
	for _, side := range []struct{ field, alias string }{{"Source", f.Source}, {"Target", f.Target}} {
		here := where.of(side.field)
		if _, ok := c.Clusters[side.alias]; !ok {
			do := "the clusters are " + strings.Join(known, ", ")
			if near := report.Nearest(side.alias, known); near != "" {
				do = fmt.Sprintf("did you mean %s?", near)
			} else if len(known) == 0 {
				do = "add it to the clusters"
			}
			r.Problem(here, fmt.Sprintf("flow %s: there is no cluster %q", f.Name(), side.alias), do)
			continue
		}
		if f.Separator != "" && strings.Contains(side.alias, f.Separator) {
			// topicSource("us.west.t") would be "us": cycles would go unseen and remote topics unrecognised.
			r.Problem(where.of("Separator"), fmt.Sprintf("flow %s: alias %q contains the separator %q, so names such as %q cannot be taken apart again",
				f.Name(), side.alias, f.Separator, side.alias+f.Separator+"topic"), "rename the cluster, or choose another separator")
		}
	}
	if f.Source == f.Target {
		r.Problem(where.of(""), fmt.Sprintf("flow %s: source and target are the same cluster", f.Name()), "name two clusters")
	}
	if f.Enabled && len(f.Topics) == 0 {
		r.NoteOn(where.of("Topics").Line, "Topics", "flow %s mirrors no topic: its list of topics is empty", f.Name())
	}
}

// checkLoops refuses pairs of flows in which a record would travel for ever, as far as their lists tell, and notes those in
// which it could. With lists that do not overlap identity in both directions is a sound set-up; what only the names of
// real topics tell is left to the run, where neither flow takes a topic that both would take.
func checkLoops(r *report.Report, c *Config, flows map[FlowName]Places) {
	identity := map[FlowName]bool{}
	for _, f := range c.EnabledFlows() {
		identity[f.Name()] = f.Policy == PolicyIdentity
	}
	for _, f := range c.EnabledFlows() {
		back := FlowName{Source: f.Target, Target: f.Source}
		if f.Source >= f.Target || !identity[f.Name()] || !identity[back] {
			continue
		}
		if s, err := c.Selection(f); err == nil { // a pattern that is wrong was reported before
			if topic, found := s.RoundTrip(); found {
				r.Problem(flows[f.Name()].of("Policy"), fmt.Sprintf("flows %s and %s both keep topic names and both mirror %q, which would be copied round and round", f.Name(), back, topic),
					"let one of them exclude what the other mirrors, or give one of them policy default, which adds the source's alias to names")
				continue
			}
		}
		r.NoteOn(0, "Policy", "flows %s and %s both keep topic names: a topic that both select is mirrored by neither, as it would be copied round and round, so keep their topic lists apart", f.Name(), back)
	}
}
