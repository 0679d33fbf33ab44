// Package control has what people decide about a flow: to pause it, to pass records over that can never be copied, to copy a
// topic anew, to forget one, that a group has moved, how fast the flow may be. Decisions are records of a compacted topic on the
// target (tidemark-controls.A.internal, one partition, JSON: it can be read with whatever is at hand). This package is pure: it
// encodes decisions and folds a log of them.
//
// A decision stands under a key of its own, so compaction keeps all of them. Each names the one that it takes the place of:
//
//	CT1  Of two decisions of one kind and scope that take the place of the same one the first in the log counts. The other is
//	     void, and shown as such: two operators at once do not undo each other's work unseen.
//	CT2  What this build cannot read is not passed over. A worker that finds it writes nothing in that flow.
package control
