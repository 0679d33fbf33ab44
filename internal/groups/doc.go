// Package groups carries consumer groups' positions: source commits in, target commits and MirrorMaker 2 checkpoints out.
//
// Reader polls the committed offsets of all groups on the source. Lanes judge each position of the partitions that they
// own and publish rows (internal/verdicts); Owner reads the rows of the verdicts partitions that this process owns, puts
// each group together again, and writes it as a whole. Emitter writes checkpoints and offset syncs.
//
// Invariants:
//
//	GR1: a row counts only if it speaks about the offset that our own view of the source holds, or one that it passed
//	     over on its way forward in the last polls, under the topic ids and the remote name that the topic has now. A row
//	     about anything but the newest commit never moves a group back. So a late row of a former owner cannot do harm.
//	GR2: a group is written with one request, all partitions or none; and only while the target, asked in the same
//	     round, lists it as Empty or does not list it (translate.Plan has the rules). What could not be read is not
//	     written.
//	GR3: nothing that happens to a commit on the source (expiry, deletion of group or topic) removes or moves anything
//	     on the target. The last row of a position is kept, and what we committed there is renewed (gone.go).
//	GR4: a position is absent only if the source said so. A broker that does not answer, or an error for one partition,
//	     leaves the last known position, or holds the group where there is none.
//	GR5: the verdicts topic is the memory of rows: what we publish counts once it is read back, and is published again
//	     until then.
//
// The write itself is a plain OffsetCommit behind one function. Between the look at the target and the write another
// client's commit can come in and be overrun; docs/guarantees.md says so. A first commit that the target refuses for
// single partitions leaves the others committed: the request is one, but its result is per partition.
//
// Which of the target's commits are ours is remembered in memory, per process. After a restart, or when a group comes to
// another process, a commit counts as ours if it is the very position that we would write now, without a leader epoch
// (consumers that have read something commit one). Otherwise it is not, and a reset on the source is then shown as
// "target ahead" and not followed.
package groups
