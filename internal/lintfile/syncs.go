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
		if !f.EmitOffsetSyncs {
			continue
		}
		at, topic := l.syncsTopic(f)
		out[at] = append(out[at], topic)
		out[f.Target] = append(out[f.Target], ledger.TopicName(f.Source))
	}
	for alias := range out {
		slices.Sort(out[alias])
	}
	return out
}

// syncsTopic is where a flow's offset syncs go.
func (l looker) syncsTopic(f config.Flow) (alias, topic string) {
	if f.OffsetSyncsLocation == config.LocationTarget {
		return f.Target, l.policy(f).OffsetSyncsTopic(f.Source)
	}
	return f.Source, l.policy(f).OffsetSyncsTopic(f.Target)
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
