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

// Check judges what all kinds of file have in common, once every field has its value. It fills in the two values that
// follow from others (PositionsInterval, and Policy where nothing is put in front of names) and otherwise changes nothing.
func (d *Draft) Check() {
	r, c := &d.Report, d.config
	for _, alias := range slices.Sorted(maps.Keys(c.Clusters)) {
		d.checkCluster(alias)
	}
	enabled := 0
	for i := range c.Flows {
		f := &c.Flows[i]
		d.keepNames(f)
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

// checkCluster judges a cluster's alias. That of a source is in the names of the flow's own topics; that of a cluster that is
// only written to need not be in any name, see checkNames.
func (d *Draft) checkCluster(alias string) {
	r, here := &d.Report, d.clusters[alias]
	reads := func(f Flow) bool { return f.Source == alias }
	writes := func(f Flow) bool { return f.Target == alias }
	flows := d.EnabledFlows()
	onlyTarget := slices.ContainsFunc(flows, writes) && !slices.ContainsFunc(flows, reads)
	switch {
	case strings.Contains(alias, "->"):
		r.Problem(here, fmt.Sprintf(`alias %q contains "->", which separates the two aliases of a flow`, alias), "rename the cluster")
	case onlyTarget && !strings.Contains(alias, ">"): // the name of a flow has one
	case !setting.InTopicName(alias):
		r.Problem(here, fmt.Sprintf("alias %q cannot stand in a topic name", alias), "use letters, digits, dots, underscores and hyphens")
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
	}
	checkNames(r, c, f, where)
	if f.Source == f.Target {
		r.Problem(where.of(""), fmt.Sprintf("flow %s: source and target are the same cluster", f.Name()), "name two clusters")
	}
	if f.Enabled && len(f.Topics) == 0 {
		r.NoteOn(where.of("Topics").Line, "Topics", "flow %s mirrors no topic: its list of topics is empty", f.Name())
	}
}

// keepNames makes the policy of a flow what it is in effect: with nothing to put in front of names they are kept. In
// MirrorMaker 2 that was the way to keep them before there was a policy for it.
func (d *Draft) keepNames(f *Flow) {
	if f.Policy != PolicyDefault || f.Separator != "" || f.SourceAlias != "" {
		return
	}
	f.Policy = PolicyIdentity
	line := d.flows[f.Name()].of("Separator").Line
	d.NoteOn(line, "Separator", "flow %s: separator and alias of the source are empty, so topics keep their names: that is the identity policy in effect, with its limits; say %s instead", f.Name(), identityKey(d.config))
}

// identityKey is how a kind of file asks for the identity policy.
func identityKey(c *Config) string {
	if c.Properties() {
		return "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
	}
	return "policy: identity"
}

// checkNames judges what a flow puts into names of topics.
func checkNames(r *report.Report, c *Config, f Flow, where Places) {
	if f.Separator == "" && f.Policy == PolicyDefault && f.Enabled {
		r.Problem(where.of("Separator"), fmt.Sprintf("flow %s: without a separator topic orders of %s would be called %q, and no such name can be taken apart again", f.Name(), f.Source, f.SourceAlias+"orders"),
			"to keep names write "+identityKey(c)+"; otherwise choose a separator")
	}
	for _, side := range []struct {
		field, alias, key string
		named             bool // the alias is in names of topics
	}{
		{"SourceAlias", f.SourceAlias, c.FlowKey("SourceAlias"), true},
		{"TargetAlias", f.TargetAlias, c.FlowKey("TargetAlias"), f.EmitOffsetSyncs && f.OffsetSyncsLocation == LocationSource},
	} {
		_, given := where[side.field]
		switch {
		case side.alias == "": // ".orders" is a name, too
		case f.Separator != "" && strings.Contains(side.alias, f.Separator):
			// topicSource("us.west.t") would be "us": cycles would go unseen and remote topics unrecognised.
			r.Problem(where.of("Separator"), fmt.Sprintf("flow %s: alias %q contains the separator %q, so names such as %q cannot be taken apart again",
				f.Name(), side.alias, f.Separator, side.alias+f.Separator+"topic"), "rename the cluster, choose another separator, or give it another name in topics with "+side.key)
		case !f.Enabled || !side.named || side.field == "SourceAlias" && !given: // the alias of a source that is its cluster's was judged with that
		case !setting.InTopicName(side.alias):
			r.Problem(where.of(side.field), fmt.Sprintf("flow %s: alias %q cannot stand in a topic name, as it does in the one of offset syncs, checkpoints or records", f.Name(), side.alias), "use letters, digits, dots, underscores and hyphens: "+side.key+" gives another name")
		case len(side.alias) > maxAlias:
			r.Problem(where.of(side.field), fmt.Sprintf("flow %s: the alias has %d characters", f.Name(), len(side.alias)), fmt.Sprintf("use at most %d: it becomes part of topic names", maxAlias))
		}
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
