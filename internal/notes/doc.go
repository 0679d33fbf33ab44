// Package notes is what a worker says where it cannot write the ledger: why a lane that it was given does not run, and what
// it waits for itself.
//
// A lane's own words are in the ledger, and a worker that cannot take the lane over may write nothing there. It is a member
// of the flow's lane group all the same, so it commits a position for the lane's ledger partition in that group, whose
// metadata is the note. Nobody reads from that position. A topic of its own was rejected: it would need rights, fencing and a
// clean-up that the group has already.
//
//	what is committed                     offset 0, metadata a Note in JSON, at most MaxBytes
//	no note                               no commit, or empty metadata
//	whose word it is                      Note.Member; the word of a member that does not have the lane now is past
//
// Invariants:
//
//	NT1: nothing is written while all is well, beside the end of a note.
//	NT2: a note is due once a lane has not run for Board.After, and again when its cause is another one.
//	NT3: a lane that runs for less than Board.Settles between two failures has not run.
//
// The package is pure: it neither reads nor writes Kafka. internal/engine writes notes, internal/inspect reads them.
package notes
