package lintfile

import (
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
)

// covers says that a remark of the file is about something that risks says with more words.
func (l looker) covers(n report.Remark) bool {
	return l.Config != nil && slices.Contains([]string{"SyncGroupOffsets", "Topics", "Policy"}, n.Field)
}

// risks is what the enabled flows and their clusters do that their author may not want.
func (l looker) risks() []Finding {
	var out []Finding
	for _, f := range l.Config.EnabledFlows() {
		out = append(out, l.positions(f)...)
		out = append(out, l.gaps(f)...)
		out = append(out, l.syncsOfAnother(f)...)
		out = append(out, l.filled(f)...)
		out = append(out, l.deleted(f)...)
		if len(f.Topics) == 0 {
			out = append(out, l.about(f, Risk, "Topics", "no topic is mirrored: the list of topics is empty", ""))
		}
		if f.Isolation == config.ReadUncommitted {
			out = append(out, l.about(f, Risk, "Isolation", fmt.Sprintf("records of aborted transactions arrive on %s as records like any other, and no consumer can tell them apart there", f.Target),
				"read_committed copies none"))
		}
	}
	out = append(out, l.bothWays()...)
	out = append(out, l.shared()...)
	out = append(out, l.transport()...)
	return append(out, l.clusters()...)
}

// about is a finding about a flow's setting, with the key and line where the file sets it.
func (l looker) about(f config.Flow, severity, field, text, do string) Finding {
	key, line, ok := l.Given(f.Name(), field)
	if !ok {
		key = l.Config.FlowKey(field)
	}
	return Finding{Severity: severity, Line: line, Key: key, Flow: f.Name().String(), Text: text, Do: do}
}

// positions is about groups that find no position on the target.
func (l looker) positions(f config.Flow) []Finding {
	if f.SyncGroupOffsets {
		return nil
	}
	why := "as the file says"
	if _, _, given := l.Given(f.Name(), "SyncGroupOffsets"); !given {
		why = "which is MirrorMaker 2's default"
	}
	on := map[bool]string{true: " = true", false: ": true"}[l.Config.Properties()]
	return []Finding{l.about(f, Risk, "SyncGroupOffsets",
		fmt.Sprintf("group positions are not committed on %s, %s: a group that is started there finds none, and begins where its auto.offset.reset says", f.Target, why),
		fmt.Sprintf("set %s%s, or let consumers ask for their positions (tidemark translate, RemoteClusterUtils)", l.Config.FlowKey("SyncGroupOffsets"), on))}
}

// gaps are switches that leave something out which others look for.
func (l looker) gaps(f config.Flow) []Finding {
	var out []Finding
	if !f.EmitCheckpoints {
		out = append(out, l.about(f, Risk, "EmitCheckpoints",
			fmt.Sprintf("no checkpoints are written: RemoteClusterUtils and MirrorClient find no positions of %s on %s", f.Source, f.Target),
			"tidemark translate and group sync do without them"))
	}
	if !f.EmitOffsetSyncs {
		out = append(out, l.about(f, Note, "EmitOffsetSyncs", "no offset syncs are written: a MirrorMaker 2 that takes the flow over has nothing to translate with", ""))
	}
	if !f.RefreshTopics {
		out = append(out, l.about(f, Risk, "RefreshTopics",
			fmt.Sprintf("topics and partitions that are added on %s are not mirrored until the next start", f.Source), "leave it on"))
	}
	into := func(alias string) bool {
		return slices.ContainsFunc(l.Config.EnabledFlows(), func(o config.Flow) bool { return o.Target == alias && o.EmitHeartbeats })
	}
	switch copied := l.policy(f).RemoteTopic(f.SourceAlias, "heartbeats"); {
	case !f.EmitHeartbeats:
		out = append(out, l.about(f, Risk, "EmitHeartbeats",
			fmt.Sprintf("no heartbeats are written to %s: whoever watches them takes this flow for dead, and flows from %s on have none to carry", f.Target, f.Target), ""))
	case !f.ReplicateHeartbeats:
		out = append(out, l.about(f, Risk, "ReplicateHeartbeats",
			fmt.Sprintf("heartbeats of %s are mirrored only where a pattern names them: without %s MirrorClient does not count %s among the upstream clusters of %s", f.Source, copied, f.Source, f.Target), ""))
	case l.keepsHeartbeats(f): // none is mirrored, as the names say
	case !into(f.Source):
		text := fmt.Sprintf("no flow of this file writes heartbeats to %s, so %s gets no %s, by which MirrorClient finds upstream clusters and measures lag", f.Source, f.Target, copied)
		if l.Config.Properties() {
			text += fmt.Sprintf("; MirrorMaker 2 writes them for %s->%s even while that flow is not enabled", f.Target, f.Source)
		}
		out = append(out, Finding{Severity: Note, Flow: f.Name().String(), Text: text})
	}
	return out
}

// bothWays is about pairs of flows in opposite directions.
func (l looker) bothWays() []Finding {
	var out []Finding
	enabled := l.Config.EnabledFlows()
	for _, f := range enabled {
		i := slices.IndexFunc(enabled, func(o config.Flow) bool { return o.Source == f.Target && o.Target == f.Source })
		if i < 0 || f.Source > f.Target {
			continue
		}
		back := enabled[i]
		identity := f.Policy == config.PolicyIdentity && back.Policy == config.PolicyIdentity
		if identity && len(f.Topics) > 0 && len(back.Topics) > 0 {
			out = append(out, l.about(f, Risk, "Policy",
				fmt.Sprintf("%s and %s both keep topic names: a topic that both select is mirrored by neither, as it would be copied round and round", f.Name(), back.Name()),
				"keep their topic lists apart"))
		}
		if f.SyncGroupOffsets && back.SyncGroupOffsets && len(f.Groups) > 0 && len(back.Groups) > 0 {
			text := fmt.Sprintf("%s and %s both commit group positions: a group that runs on both clusters is active on each target, so neither writes it, and what a group has read of a copy on %s moves nothing on %s",
				f.Name(), back.Name(), f.Target, f.Source)
			if identity {
				text = fmt.Sprintf("%s and %s both commit positions, and on the same topic names: what one commits for a group is the group's own position to the other", f.Name(), back.Name())
			}
			out = append(out, l.about(f, Risk, "SyncGroupOffsets", text, "keep their lists of groups apart, or let one direction commit only"))
		}
	}
	return out
}

// shared is about flows whose copies are called alike: from several clusters under one alias, or into one under their names.
func (l looker) shared() []Finding {
	var out []Finding
	enabled := l.Config.EnabledFlows()
	for i, f := range enabled {
		for _, o := range enabled[i+1:] {
			if f.Source != o.Source && f.SourceAlias == o.SourceAlias {
				out = append(out, l.about(o, Risk, "SourceAlias",
					fmt.Sprintf("%s and %s both call their source %q in names of topics, so nobody can tell their copies apart, and topics with that name in front are copied on by neither", f.Name(), o.Name(), f.SourceAlias),
					"give each flow an alias of its own"))
			}
			if f.Target != o.Target || f.Policy != config.PolicyIdentity || o.Policy != config.PolicyIdentity {
				continue
			}
			out = append(out, l.about(f, Risk, "Policy",
				fmt.Sprintf("%s and %s both keep topic names: a topic that both select has one copy on %s, and the flow that comes second stops there", f.Name(), o.Name(), f.Target),
				"keep their topic lists apart, or use the default policy"))
		}
	}
	return out
}

// transport is about how clusters are reached, and clusters that nothing reaches.
func (l looker) transport() []Finding {
	var out []Finding
	used := map[string]bool{}
	for _, f := range l.Config.EnabledFlows() {
		used[f.Source], used[f.Target] = true, true
	}
	for _, alias := range slices.Sorted(maps.Keys(l.Config.Clusters)) {
		c := l.Config.Clusters[alias]
		tls := c.SecurityProtocol == security.ProtocolSSL || c.SecurityProtocol == security.ProtocolSASLSSL
		switch {
		case !used[alias]:
			out = append(out, Finding{Severity: Note, Text: fmt.Sprintf("cluster %s takes part in no enabled flow", alias)})
		case c.SecurityProtocol == security.ProtocolSASLPlaintext && c.SASL.Mechanism == security.MechanismPlain:
			out = append(out, Finding{Severity: Risk, Text: fmt.Sprintf("the password for cluster %s crosses the network in the clear", alias), Do: "use SASL_SSL, or a SCRAM mechanism"})
		case l.clear(alias) != "":
			out = append(out, Finding{Severity: Risk, Text: fmt.Sprintf("the password for the %s of cluster %s crosses the network in the clear", l.clear(alias), alias), Do: "use SASL_SSL, or a SCRAM mechanism"})
		case tls && !c.TLS.VerifyHostname:
			out = append(out, Finding{Severity: Risk, Text: fmt.Sprintf("the host names of cluster %s are not checked, so whoever holds any certificate of that authority can pose as it", alias)})
		}
	}
	return out
}

// clear is a client of the cluster, with a login of its own, whose password crosses the network in the clear.
func (l looker) clear(alias string) config.Role {
	for _, f := range l.Config.EnabledFlows() {
		for _, r := range config.Roles() {
			if c := l.Config.Client(f.Name(), r); c.Alias == alias && c.SecurityProtocol == security.ProtocolSASLPlaintext && c.SASL.Mechanism == security.MechanismPlain {
				return r
			}
		}
	}
	return ""
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
