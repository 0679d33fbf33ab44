package mirrormaker

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/mm2"
)

// A Flow is what a flow's file says about how a MirrorMaker 2 names and places what it leaves.
type Flow struct {
	Policy                   mm2.Policy
	SourceAlias, TargetAlias string // in names of topics
	// What the clusters are called in the file: a MirrorMaker 2 names its offsets topic by that.
	SourceCluster, TargetCluster string

	SyncsOnSource bool // where offset syncs are; otherwise on the target
	// Earliest: a position below the first record of a remote partition is its oldest one, instead of none.
	Earliest bool
}

// A Topic is one of MirrorMaker 2's topics, to be found. It names two of them by settings that changed their meaning
// between its versions, and an upgrade made it go on in new and empty ones (KAFKA-15102). So topics of the same use under
// another separator are looked for as well.
type Topic struct {
	Name     string // as the flow's policy has it
	OnSource bool
	// twin says whether a topic is of the same use under some separator, and which; nil where the name never changed.
	twin func(topic string) (separator string, ok bool)
}

// Checkpoints is the topic of the flow's checkpoints.
func (f Flow) Checkpoints() Topic {
	return Topic{Name: f.Policy.CheckpointsTopic(f.SourceAlias), twin: func(topic string) (string, bool) { return mm2.CheckpointsTwin(f.SourceAlias, topic) }}
}

// OffsetSyncs is the topic of the flow's offset syncs; on the source it carries the target's alias.
func (f Flow) OffsetSyncs() Topic {
	alias := f.SourceAlias
	if f.SyncsOnSource {
		alias = f.TargetAlias
	}
	return Topic{Name: f.Policy.OffsetSyncsTopic(alias), OnSource: f.SyncsOnSource, twin: func(topic string) (string, bool) {
		return mm2.OffsetSyncsTwin(alias, topic)
	}}
}

// Heartbeats is the topic of the heartbeats that flows to the target write there.
func (f Flow) Heartbeats() Topic { return Topic{Name: mm2.HeartbeatsTopic} }

// offsets is where a MirrorMaker 2 that is no connector of a Connect cluster keeps how far it is. Nobody else writes there.
func (f Flow) offsets() string { return "mm2-offsets." + f.SourceCluster + ".internal" }

// choose decides between a topic and its twins; full are those of them that hold records. The one that the file names
// wins where it holds any, for that is the one that a MirrorMaker 2 with this file goes on with.
func choose(named string, exists bool, full []string) (name, note string) {
	slices.Sort(full)
	others := slices.DeleteFunc(slices.Clone(full), func(t string) bool { return t == named })
	const why = "MirrorMaker 2 changes the name with replication.policy.separator and replication.policy.internal.topic.separator.enabled, and did with its version 3.1"
	switch {
	case len(others) == 0:
		return named, ""
	case slices.Contains(full, named):
		return named, fmt.Sprintf("%s, which the file names, is shown; %s holds records of the same kind too: %s", named, strings.Join(others, ", "), why)
	case exists:
		return others[0], fmt.Sprintf("%s is shown: %s, which the file names, is empty. %s", others[0], named, why)
	}
	return others[0], fmt.Sprintf("%s is shown: %s, which the file names, is not there. %s", others[0], named, why)
}

// RemoteTopic is the name on the target of a source topic for a MirrorMaker 2 whose offset syncs were found in the topic
// found. Where that has another separator than the file says, its remote topics have it too: one other than "." in an
// internal name is always that of remote topics.
func (f Flow) RemoteTopic(topic, found string) string {
	t := f.OffsetSyncs()
	p, prefixes := f.Policy.(mm2.DefaultPolicy)
	if sep, ok := t.twin(found); ok && prefixes && found != t.Name && sep != mm2.DefaultSeparator {
		p.Separator = sep
		return p.RemoteTopic(f.SourceAlias, topic)
	}
	return f.Policy.RemoteTopic(f.SourceAlias, topic)
}

// SourceTopic is the name on the source of a topic that checkpoints are about. A prefix that the file's separator does
// not explain was made with another one.
func (f Flow) SourceTopic(remote string) string {
	if alias, ok := f.Policy.TopicSource(remote); ok && alias == f.SourceAlias {
		if up, ok := f.Policy.UpstreamTopic(remote); ok {
			return up
		}
	}
	if rest, ok := strings.CutPrefix(remote, f.SourceAlias); ok && f.SourceAlias != "" {
		if name := strings.TrimLeft(rest, "._-"); name != "" && name != rest {
			return name
		}
	}
	return remote
}
