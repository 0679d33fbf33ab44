package lintfile

import (
	"fmt"
	"slices"

	"tidemark/internal/config"
	"tidemark/internal/ledger"
)

// Wanted are the topics whose existence tells Look something, by the alias of their cluster, sorted.
func Wanted(c *config.Config) map[string][]string {
	out := map[string][]string{}
	l := looker{Examined: config.Examined{Config: c}}
	for _, f := range c.EnabledFlows() {
		out[f.Target] = append(out[f.Target], append(l.marks(f), ledger.TopicName(f.Source))...)
		for _, k := range l.keyed(f) {
			out[k.at] = append(out[k.at], k.topic)
		}
	}
	for alias := range out {
		slices.Sort(out[alias])
		out[alias] = slices.Compact(out[alias])
	}
	return out
}

// syncsTopic is where a flow's offset syncs go.
func (l looker) syncsTopic(f config.Flow) (alias, topic string) {
	if f.OffsetSyncsLocation == config.LocationTarget {
		return f.Target, l.policy(f).OffsetSyncsTopic(f.SourceAlias)
	}
	return f.Source, l.policy(f).OffsetSyncsTopic(f.TargetAlias)
}

// syncsOfAnother is about offset syncs of two mirrors in one topic. Its name says nothing about which of them wrote a sync:
// on the source it is that of the target, so a mirror under another alias of the source has the same. MirrorMaker 2 then
// translates by offsets of copies that are not its own.
func (l looker) syncsOfAnother(f config.Flow) []Finding {
	at, topic := l.syncsTopic(f)
	own := ledger.TopicName(f.Source)
	if ran, known := l.brokers[f.Target].Topics[own]; !f.EmitOffsetSyncs || ran || !known || !l.brokers[at].Topics[topic] {
		return nil
	}
	off := l.Config.FlowKey("EmitOffsetSyncs") + map[bool]string{true: " = false", false: ": false"}[l.Config.Properties()]
	return []Finding{l.about(f, Risk, "EmitOffsetSyncs",
		fmt.Sprintf("%s on %s is there already and %s on %s is not, so most likely another mirror writes there, such as a MirrorMaker 2: while that runs it takes what this flow writes for its own, and its checkpoints can lie beyond the end of its copies",
			topic, at, own, f.Target),
		fmt.Sprintf("set %s while both run, or stop the other one for good first (docs/from-mirrormaker.md)", off))}
}

// marks are topics on the target by which a MirrorMaker 2 is known that ran the flow: source offsets, which its dedicated mode
// keeps and no policy names, and checkpoints, which its connectors on a Connect cluster write as well.
func (l looker) marks(f config.Flow) []string {
	return []string{"mm2-offsets." + f.Source + ".internal", l.policy(f).CheckpointsTopic(f.SourceAlias)}
}

// filled is about a first run where a MirrorMaker 2 ran under the same alias: nobody kept which source offset each record of
// its remote topics came from, so nothing is appended to them.
func (l looker) filled(f config.Flow) []Finding {
	own, topics := ledger.TopicName(f.Source), l.brokers[f.Target].Topics
	if ran, known := topics[own]; ran || !known {
		return nil
	}
	for _, mark := range l.marks(f) {
		if topics[mark] {
			return []Finding{{
				Severity: Risk, Flow: f.Name().String(),
				Text: fmt.Sprintf("%s on %s is there and %s is not, so most likely a MirrorMaker 2 has run this flow: the next run copies nothing into remote topics that hold records already, and stops each of their partitions",
					mark, f.Target, own),
				Do: "docs/from-mirrormaker.md says how to run beside it under another alias, or in its place",
			}}
		}
	}
	return nil
}
