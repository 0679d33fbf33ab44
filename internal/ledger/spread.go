package ledger

import "strconv"

// TopicName is the ledger's topic on the target for a flow from the given source alias. It ends in ".internal", which
// MirrorMaker 2's default filters exclude, and starts with "tidemark-", which ours refuse whatever the filters say.
func TopicName(source string) string { return "tidemark-ledger." + source + ".internal" }

// VerdictsName is the verdicts topic of the same flow.
func VerdictsName(source string) string { return "tidemark-verdicts." + source + ".internal" }

// LaneOf says which lane owns a source partition.
func LaneOf(topic string, partition, lanes int32) int32 {
	return spread(topic+"-"+strconv.Itoa(int(partition)), lanes)
}

// GroupLane says which partition of the verdicts topic, and so which lane, owns a group.
func GroupLane(group string, lanes int32) int32 { return spread(group, lanes) }

func spread(key string, lanes int32) int32 {
	return int32((murmur2([]byte(key)) & 0x7fffffff) % uint32(lanes))
}

// murmur2 is Kafka's own variant (seed 0x9747b28c), the one its default partitioner applies to keys, so that a
// console tool that produces with the same key lands on the same partition.
func murmur2(b []byte) uint32 {
	const m = 0x5bd1e995
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
