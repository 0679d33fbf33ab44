package config

import (
	"maps"
	"slices"

	"tidemark/mm2"
)

// Selection is what decides about topics of a flow: policy, lists, and the flow in the other direction where one is
// enabled, since a topic that both would take under one name is taken by neither. The error is an *mm2.PatternError,
// which a Config that was parsed does not have.
func (c *Config) Selection(f Flow) (mm2.Selection, error) {
	out, err := c.oneWay(f)
	if err != nil {
		return out, err
	}
	back := FlowName{Source: f.Target, Target: f.Source}
	for _, b := range c.EnabledFlows() {
		if b.Name() != back {
			continue
		}
		s, err := c.oneWay(b)
		if err != nil {
			return out, err
		}
		out.Back = &s
	}
	return out, nil
}

func (c *Config) oneWay(f Flow) (mm2.Selection, error) {
	topics, err := mm2.NewKeyedFilter("topics", f.Topics, f.TopicsExclude)
	return mm2.Selection{Policy: c.Policy(f), Source: f.SourceAlias, Target: f.TargetAlias, Topics: topics, Heartbeats: f.ReplicateHeartbeats}, err
}

// GroupNames is what decides about the names of groups whose positions are carried. The error is an *mm2.PatternError,
// which a Config that was parsed does not have.
func (f Flow) GroupNames() (*mm2.Filter, error) {
	return mm2.NewKeyedFilter("groups", f.Groups, f.GroupsExclude)
}

// Policy is the replication policy of a flow, which gives topics their names on its target.
func (c *Config) Policy(f Flow) mm2.Policy {
	aliases := slices.Collect(maps.Keys(c.Clusters))
	for _, f := range c.Flows {
		aliases = append(aliases, f.SourceAlias, f.TargetAlias)
	}
	slices.Sort(aliases)
	d := mm2.DefaultPolicy{Separator: f.Separator, NoSeparator: f.Separator == "", DotInternal: !f.InternalSeparator, Aliases: slices.Compact(aliases)}
	if f.Policy == PolicyIdentity {
		return mm2.IdentityPolicy{Source: f.SourceAlias, Separator: d.Separator, NoSeparator: d.NoSeparator, DotInternal: d.DotInternal, Aliases: d.Aliases}
	}
	return d
}
