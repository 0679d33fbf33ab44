// Package mirror runs lanes: it executes what package lane decides.
//
// A Flow owns one Fetcher on the source and one Producer on the target and shares them between the lanes that this
// process holds. A Lane is one goroutine that owns every partition of the lane: offset maps, windows, heads. Everything
// that happens reaches it as an event in its inbox (fetched bytes, answers, results of jobs), so no state of a lane is
// shared and none needs a lock.
//
// The way of one batch:
//
//	Fetcher -> Flow.sink -> inbox -> intake (raw, skip, rebuild, halt) -> lane.Part queue
//	       -> Prepare (raw bytes or merged) -> stamp -> Producer -> inbox -> lane.Part.Answered -> offset map
//	       -> head in the ledger (about every second) -> bytes released
//
// Invariants:
//
//	MR1: a partition's head is acknowledged in the ledger before the first write in a new epoch. So the records beyond
//	     a head's anchor carry the head's epoch and count from its sequence.
//	MR2: nothing is handed to the Producer while the lease is not valid.
//	MR3: fetched bytes are released once, after the transport can no longer write them.
//
// What it does not do: decide who owns a lane (engine), create topics (topics), write group positions (groups).
package mirror
