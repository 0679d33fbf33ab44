// Package mirrormaker is about what a MirrorMaker 2 has left on a cluster: its checkpoints, offset syncs and heartbeats,
// where they are, what they say, and what that is worth as an answer.
//
// MirrorMaker 2 knows samples. A checkpoint is a position that it worked out from them, so none is called exact: it is
// Bounded by what the offset syncs, or the target's log end, say about what is read again. Where nothing can be told
// (the remote topic was made anew, its log is not known) the answer is the reason, and no place.
//
// What records say is pure and stands in flow.go (names), records.go (topics to lists), answer.go and lookup.go
// (verdicts). Only reader.go and traces.go ask clusters.
//
// Invariants:
//
//	ML1: nothing is written to any cluster, no group is joined, no topic is created.
//	ML2: a place is never later than the right one, as far as samples and log ends can tell.
//	ML3: a record that cannot be read is damage of that record; a later one of its key heals it.
package mirrormaker
