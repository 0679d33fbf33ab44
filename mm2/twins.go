package mm2

import "strings"

// MirrorMaker 2 has named its internal topics in two ways. Up to 3.0 always with
// dots; since 3.1 (KIP-690) with replication.policy.separator, unless
// replication.policy.internal.topic.separator.enabled is false (KIP-949). After an
// upgrade, or with another setting, it goes on in new and empty topics while the
// old ones keep what they hold (KAFKA-15102). A twin is a topic of the same use
// under another separator.

// CheckpointsTwin says whether a topic is the checkpoints topic of source under
// some separator, and which.
func CheckpointsTwin(source, topic string) (separator string, ok bool) {
	rest, ok := strings.CutPrefix(topic, source)
	if !ok {
		return "", false
	}
	return between(rest, "checkpoints", "internal")
}

// OffsetSyncsTwin says whether a topic is the offset-syncs topic with an alias
// under some separator, and which.
func OffsetSyncsTwin(alias, topic string) (separator string, ok bool) {
	rest, ok := strings.CutPrefix(topic, "mm2-offset-syncs")
	if !ok {
		return "", false
	}
	return between(rest, alias, "internal")
}

// between takes sep + first + sep + last apart. A separator is punctuation here:
// anything else would make every topic that ends so a twin of some kind.
func between(text, first, last string) (sep string, ok bool) {
	n := len(text) - len(strings.TrimLeft(text, "._-"))
	sep = text[:n]
	return sep, n > 0 && text == sep+first+sep+last
}
