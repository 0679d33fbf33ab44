// Package demo shows a failover from one cluster to another, in one process, and counts what it cost.
//
// It starts two embedded clusters, A and B, fills A with every shape of topic that makes offsets of a copy differ
// (transactions with aborts, compaction, a trimmed head) or that is easily forgotten (one tiny, one empty), lets consumer
// groups read to places that are hard to translate, mirrors A to B with the real engine, stops A, and lets the same
// groups go on on B. Each record carries a number that no other has; what a group lost or read twice is counted by these
// numbers, from what its consumers were given and nothing else.
//
// Invariants:
//
//	DM1: what a group has to read is taken from A by a reader of its own, before A stops; no offset map, verdict or
//	     position of Tidemark's takes part in it.
//	DM2: the demo waits until Tidemark says that each position is exact and holds it on B. It never waits for the right
//	     offset: a wrong one shows as lost or as read twice.
//	DM3: nothing waits without a deadline, and any result but "lost 0, read twice 0" is an error.
//
// What MirrorMaker 2 would have read again is computed, not run: mm2rule.go holds its rule for writing offset syncs and
// for translating by them. Real brokers and a real MirrorMaker 2 are the business of other tests.
package demo
