package mm2

import (
	"slices"
	"strings"
)

// HeartbeatsTopic is the name of the topic that heartbeats are written to; the
// separator does not change it.
const HeartbeatsTopic = "heartbeats"

// DefaultSeparator is replication.policy.separator where nobody sets it.
const DefaultSeparator = "."

// A Policy names remote topics and takes such names apart again. Both policies of
// this package are values without state and safe for concurrent use.
type Policy interface {
	// RemoteTopic is the name on the target of a topic of the cluster source.
	RemoteTopic(source, topic string) string
	// TopicSource is the alias of the cluster the topic was mirrored from; ok is
	// false for a topic that was not mirrored. With the default policy the alias
	// can be empty with ok true, as in Java (".hidden").
	TopicSource(topic string) (alias string, ok bool)
	// UpstreamTopic is the topic's name on the cluster that TopicSource names.
	UpstreamTopic(topic string) (name string, ok bool)
	// OriginalTopic is the name on the cluster where the records were first
	// written: every hop is taken off.
	OriginalTopic(topic string) string
	// IsCycle says whether mirroring the topic to target would bring records back
	// to a cluster that they came through.
	IsCycle(topic, target string) bool
	// IsHeartbeatsTopic says whether the topic is the heartbeats topic of this
	// cluster or a copy of another's: the exact name, behind known aliases only.
	IsHeartbeatsTopic(topic string) bool

	// OffsetSyncsTopic is the topic with offset syncs; alias names the cluster
	// that the topic is *not* on.
	OffsetSyncsTopic(alias string) string
	// CheckpointsTopic is the topic on the target with checkpoints from source.
	CheckpointsTopic(source string) string
	// IsCheckpointsTopic says whether the name is that of a checkpoints topic.
	IsCheckpointsTopic(topic string) bool
	// IsMM2Internal and IsInternal follow Kafka 4.0 (KIP-1074).
	IsMM2Internal(topic string) bool
	IsInternal(topic string) bool
}

// DefaultPolicy puts the source's alias and the separator before the name:
// orders of A becomes A.orders (Java's DefaultReplicationPolicy).
type DefaultPolicy struct {
	// Separator is replication.policy.separator; "" means DefaultSeparator.
	Separator string
	// NoSeparator says that the separator is the empty text, whatever Separator
	// says: alias and name stand side by side and no name can be taken apart. Java
	// splits such a name into its characters, so orders comes "from o" there: it
	// finds cycles of clusters with one letter, and none that is one.
	NoSeparator bool
	// DotInternal keeps "." in the names of offset-syncs and checkpoints topics
	// whatever Separator is: replication.policy.internal.topic.separator.enabled=false.
	DotInternal bool
	// Aliases are the clusters that may stand before "heartbeats". A name with any
	// other prefix is an ordinary topic, so that app.heartbeats of a user is not
	// taken for a copy of a cluster called app.
	Aliases []string
}

func (p DefaultPolicy) separator() string {
	if p.NoSeparator {
		return ""
	}
	if p.Separator == "" {
		return DefaultSeparator
	}
	return p.Separator
}

func (p DefaultPolicy) internalSeparator() string {
	if p.DotInternal {
		return "."
	}
	return p.separator()
}

// RemoteTopic is source + separator + topic.
func (p DefaultPolicy) RemoteTopic(source, topic string) string {
	return source + p.separator() + topic
}

// TopicSource is what stands before the first separator. As with Java's split,
// which drops empty parts at the end, "orders." and ".." have no source while
// ".hidden" has the source "".
func (p DefaultPolicy) TopicSource(topic string) (string, bool) {
	sep := p.separator()
	if sep == "" {
		return "", false
	}
	alias, rest, found := strings.Cut(topic, sep)
	for strings.HasPrefix(rest, sep) {
		rest = rest[len(sep):]
	}
	if !found || rest == "" {
		return "", false
	}
	return alias, true
}

// UpstreamTopic is what stands after the first separator, if TopicSource is ok.
func (p DefaultPolicy) UpstreamTopic(topic string) (string, bool) {
	alias, ok := p.TopicSource(topic)
	if !ok {
		return "", false
	}
	return topic[len(alias)+len(p.separator()):], true
}

// OriginalTopic takes off every hop.
func (p DefaultPolicy) OriginalTopic(topic string) string { return originalTopic(p, topic) }

// IsCycle looks for target among the hops of the name.
func (p DefaultPolicy) IsCycle(topic, target string) bool { return isCycle(p, topic, target) }

// IsHeartbeatsTopic accepts "heartbeats" and chains of Aliases before it.
func (p DefaultPolicy) IsHeartbeatsTopic(topic string) bool {
	for topic != HeartbeatsTopic {
		alias, ok := p.TopicSource(topic)
		if !ok || !slices.Contains(p.Aliases, alias) {
			return false
		}
		topic = topic[len(alias)+len(p.separator()):]
	}
	return true
}

// OffsetSyncsTopic is mm2-offset-syncs.<alias>.internal.
func (p DefaultPolicy) OffsetSyncsTopic(alias string) string {
	sep := p.internalSeparator()
	return "mm2-offset-syncs" + sep + alias + sep + "internal"
}

// CheckpointsTopic is <source>.checkpoints.internal.
func (p DefaultPolicy) CheckpointsTopic(source string) string {
	return source + p.checkpointsSuffix()
}

func (p DefaultPolicy) checkpointsSuffix() string {
	sep := p.internalSeparator()
	return sep + "checkpoints" + sep + "internal"
}

// IsCheckpointsTopic looks at the end of the name only, as Java does.
func (p DefaultPolicy) IsCheckpointsTopic(topic string) bool {
	return strings.HasSuffix(topic, p.checkpointsSuffix())
}

// IsMM2Internal is true for names that begin with "mm2" and end with the internal
// suffix, and for checkpoints topics. Until Kafka 3.9 the suffix was enough, so
// users could not mirror orders.internal at all.
func (p DefaultPolicy) IsMM2Internal(topic string) bool {
	return strings.HasPrefix(topic, "mm2") && strings.HasSuffix(topic, p.internalSeparator()+"internal") ||
		p.IsCheckpointsTopic(topic)
}

// IsInternal is true for IsMM2Internal and for names that begin with "__" or ".".
func (p DefaultPolicy) IsInternal(topic string) bool {
	return p.IsMM2Internal(topic) || strings.HasPrefix(topic, "__") || strings.HasPrefix(topic, ".")
}

// IdentityPolicy keeps names (Java's IdentityReplicationPolicy). Only heartbeats
// topics are renamed as by DefaultPolicy, for otherwise the heartbeats of two
// clusters would meet in one topic. Java renames every name that ends in
// "heartbeats"; device-heartbeats keeps its name here.
type IdentityPolicy struct {
	// Source is source.cluster.alias: where every topic is taken to come from. ""
	// means unknown.
	Source string
	// Separator, NoSeparator, DotInternal and Aliases are as in DefaultPolicy. Source
	// counts as one of Aliases.
	Separator   string
	NoSeparator bool
	DotInternal bool
	Aliases     []string
}

// prefixed is the policy for heartbeats topics and internal names.
func (p IdentityPolicy) prefixed() DefaultPolicy {
	aliases := p.Aliases
	if p.Source != "" && !slices.Contains(aliases, p.Source) {
		aliases = append(slices.Clip(aliases), p.Source)
	}
	return DefaultPolicy{Separator: p.Separator, NoSeparator: p.NoSeparator, DotInternal: p.DotInternal, Aliases: aliases}
}

// RemoteTopic is the topic itself; heartbeats topics get a prefix.
func (p IdentityPolicy) RemoteTopic(source, topic string) string {
	if p.IsHeartbeatsTopic(topic) {
		return p.prefixed().RemoteTopic(source, topic)
	}
	return topic
}

// TopicSource is Source for every topic, if Source is set; heartbeats topics carry
// theirs in the name.
func (p IdentityPolicy) TopicSource(topic string) (string, bool) {
	if p.IsHeartbeatsTopic(topic) {
		return p.prefixed().TopicSource(topic)
	}
	return p.Source, p.Source != ""
}

// UpstreamTopic is the topic itself, also where Source is unknown; heartbeats
// topics lose a prefix.
func (p IdentityPolicy) UpstreamTopic(topic string) (string, bool) {
	if p.IsHeartbeatsTopic(topic) {
		return p.prefixed().UpstreamTopic(topic)
	}
	return topic, true
}

// OriginalTopic takes off every hop.
func (p IdentityPolicy) OriginalTopic(topic string) string { return originalTopic(p, topic) }

// IsCycle looks for target among the hops of a heartbeats topic; for data topics it can only
// see that Source is target.
func (p IdentityPolicy) IsCycle(topic, target string) bool { return isCycle(p, topic, target) }

// IsHeartbeatsTopic accepts "heartbeats" and chains of known aliases before it.
func (p IdentityPolicy) IsHeartbeatsTopic(topic string) bool {
	return p.prefixed().IsHeartbeatsTopic(topic)
}

// OffsetSyncsTopic is the same as DefaultPolicy's.
func (p IdentityPolicy) OffsetSyncsTopic(alias string) string {
	return p.prefixed().OffsetSyncsTopic(alias)
}

// CheckpointsTopic is the same as DefaultPolicy's.
func (p IdentityPolicy) CheckpointsTopic(source string) string {
	return p.prefixed().CheckpointsTopic(source)
}

// IsCheckpointsTopic is the same as DefaultPolicy's.
func (p IdentityPolicy) IsCheckpointsTopic(topic string) bool {
	return p.prefixed().IsCheckpointsTopic(topic)
}

// IsMM2Internal is the same as DefaultPolicy's.
func (p IdentityPolicy) IsMM2Internal(topic string) bool {
	return p.prefixed().IsMM2Internal(topic)
}

// IsInternal is the same as DefaultPolicy's.
func (p IdentityPolicy) IsInternal(topic string) bool {
	return p.prefixed().IsInternal(topic)
}
