// Package mirror runs lanes: it executes what package lane decides. It has the sockets, bytes, journals and goroutines; of
// where a partition stands it knows nothing that its lane.Partition does not.
//
// A Flow owns one Fetcher on the source and one Producer on the target and shares them between the lanes that this
// process holds. A Lane is one goroutine, that of RunLane, which alone touches the lane's partitions: their cores, offset
// maps, pieces and outputs. Everything that happens reaches it as an event in its inbox (fetched bytes, answers, results of
// jobs). Jobs are goroutines of their own that wait for brokers (looks, fences, keepalives); while a look is under way the
// partition's map is the job's, and the lane reads nothing of it but its origin.
//
// The way of one batch:
//
//	Fetcher -> Flow.sink -> inbox -> intake (pieces: raw, skip, rebuild, bad) -> lane.Partition
//	       -> Prepare (raw bytes or merged) -> Send: stamp -> Producer -> inbox -> lane.Partition -> offset map
//	       -> head in the ledger (about every second) -> bytes released
//
// Words: a look reads what stands on both logs before a partition is written (lane.Probe), or what stands on the target
// after a fence (lane.Look). A fence is an empty aborted transaction after which nothing of a lower epoch is appended. To
// settle is to find out, by a look, which batches in doubt are on the target. A partition that is stopped neither reads nor
// writes, says why, and is tried again; one that is held back by its ledger (lane.Hold) is not stopped.
//
// Locks, in the order in which they are taken; none is held while a broker is asked:
//
//	Lane.inbox   what is posted; held by discard, once the lane has ended, while it lets go of everything
//	feed.mu      where a partition's reading is; the Fetcher is told under it
//	Flow.mu      which lanes, partitions, feeds and commits there are; Lane.configs
//	outage.mu    what is said of a source that is away
//	coordinator  turn: whose transaction of the lane's identity runs, for as long as that takes; mu: the identity itself
//
// Invariants:
//
//	MR1: a partition's head is acknowledged in the ledger before the first write in a new epoch. So the records beyond
//	     a head's anchor carry the head's epoch and count from its sequence.
//	MR2: nothing is handed to the Producer while the lease is not valid.
//	MR3: fetched bytes are released once, after the transport can no longer write them.
//	MR4: the bytes that looks hold are bounded for the flow, however many lanes are taken over at once.
//
// What it does not do: decide what a partition does next (lane), who owns a lane (engine), create topics (topics), write
// group positions (groups).
package mirror
