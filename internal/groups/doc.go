// Package groups carries consumer groups' positions: source commits in, target commits and MirrorMaker 2 checkpoints out.
//
// Reader polls the committed offsets of all groups on the source. Lanes judge each position of the partitions that they
// own and publish rows (internal/verdicts); Owner reads the rows of the verdicts partitions that this process owns, puts
// each group together again, and writes it as a whole.
//
// Invariants:
//
//	GR1: a row counts only if it speaks about an offset that our own view of the source holds or held in the last polls,
//	     under the topic id that the topic has now. So a late row of a former owner cannot move a group.
//	GR2: a group is written with one request, all partitions or none; and only while the target lists it as Empty or
//	     does not list it (translate.Plan has the rules).
//	GR3: nothing that happens to a commit on the source (expiry, deletion of group or topic) removes or moves anything
//	     on the target.
//
// The write itself is a plain OffsetCommit behind one function. Between the look at the target and the write another
// client's commit can come in and be overrun; docs/guarantees.md says so.
package groups
