// Package lane decides what a lane does; it does nothing itself.
//
// A lane is one ledger partition plus every source partition that hashes to it: the unit of ownership, of work and of
// fencing. This package holds its decisions as pure state: events go in, actions come out; time is an argument and all
// I/O is the caller's (internal/mirror). So every crash point and every broker answer can be tried in a test.
//
//	Partition  one source partition, from the first look at both logs to the release: its state, why it is stopped, when it
//	           is tried again; what to read and send now, what an answer means, when to fence, look, stop, write a head
//	Probe      the look at both logs before a partition is written: what their ends say, and how the target's tail is settled
//	Align      where a partition goes on after an unclean stop
//	Group      which queued source batches go to the target as one
//	Takeover   the steps in which a lane is taken over; Judge: first owner, clean hand-over, after a crash, after an expired identity
//	Upkeep     what is due from time to time: keepalives, fences of verdicts partitions, questions
//	Journal    what is written to the ledger and verdicts topics, in which batch
//	Release    the order in which a lane is given up
//
// Read testdata/*.txt first: each is one way of life of a Partition, as the events that it saw and the actions that it
// answered with.
//
// Invariants of Partition:
//
//	LN1: units are acknowledged in the order in which they were stamped; the offset map only ever sees that order.
//	LN2: a unit that may be on the target is only ever sent again as identical bytes with the same sequence, and only
//	     while the target is sure to remember the producer's state; otherwise the partition is fenced and looked at.
//	LN3: more than one unit is in flight only while that state is sure to live (fresh timestamps, same epoch, at least
//	     one acknowledgement): without state a broker accepts any first sequence, also the second unit's.
//	LN4: through never passes a source offset whose record is not acknowledged, skipped by rule, or recorded as lost.
//	LN5: nothing is read or sent before a head of the epoch that is written in is in the ledger.
package lane
