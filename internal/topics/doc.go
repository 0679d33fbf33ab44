// Package topics keeps the remote topics: which source topics a flow mirrors, and that their copies exist with the right
// partitions and settings before any data goes there.
//
// Plan is pure: it compares what both clusters hold and says what to do. Syncer reads both clusters, does it, and
// reports every source topic with the reason why it is mirrored or not. Ensure is the same for topics of our own.
//
// Invariants:
//
//	TP1: nothing is ever auto-created. A remote topic is created with the source's partition count and filtered settings
//	     before it is named to a lane; broker defaults would apply the wrong retention to it at once.
//	TP2: results are per topic. One topic that cannot be created stops itself, is tried again each round, and says why.
//	TP3: no topic on the target is removed or shrunk.
//	TP4: a setting on the target is changed only where the source topic itself sets it otherwise, and taken away only
//	     where it is there because the source had it. Broker defaults of the source never become settings.
//
// ACLSyncer copies access rules of topics by the rules of CopyACL; it never takes one away.
package topics
