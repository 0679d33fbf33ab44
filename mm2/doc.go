// Package mm2 speaks MirrorMaker 2: the bytes of its three record kinds, the
// names of its topics, its replication policies, its filters, and its rules for
// what is replicated. It is pure: no I/O, no clock, no state between calls.
//
// # Records
//
// All three kinds are plain sequences of Kafka's old (not compact) primitive
// types, big endian, without framing and without tagged fields. STRING is an
// INT16 byte length and that many bytes of UTF-8.
//
//	            key                              value
//	OffsetSync  topic STRING, partition INT32    upstream INT64, downstream INT64
//	Checkpoint  group STRING, topic STRING,      version INT16 = 0, upstream INT64,
//	            partition INT32                  downstream INT64, metadata STRING
//	Heartbeat   source STRING, target STRING     version INT16 = 0, timestamp INT64 (ms)
//
// The topic of an offset sync is the source's name, that of a checkpoint the
// target's. Every record is written to partition 0 of its topic.
//
// NB: these layouts are read by MirrorMaker 2, RemoteClusterUtils and the console
// formatters. They have never changed and must not change here.
//
// # Invariants
//
//	MM1: what Append* accepts, Parse* gives back unchanged.
//	MM2: Parse* never panics and never allocates more than its input is long.
//	MM3: a value whose version is not 0 is refused (Java reads it as version 0).
//	MM4: a null value is a deletion, told apart from malformed bytes.
//	MM5: UpstreamTopic shortens a name or returns it unchanged, so chains end.
//	MM6: no filter can select __consumer_offsets, __transaction_state or a topic of ours.
//
// # Where it differs from Java on purpose
//
// A heartbeats topic is the exact name "heartbeats", alone or behind a chain of
// known cluster aliases; Java takes any name that ends so, which renames ordinary
// topics under the identity policy and mirrors them past the filters (KAFKA-17534
// is a way out, not a cure). Internal topics follow Kafka 4.0 (KIP-1074).
// Patterns that Go's RE2 would read differently from Java are refused, not
// guessed at.
//
// The package does not read or write topics, does not know configuration files,
// and does not translate offsets.
package mm2
