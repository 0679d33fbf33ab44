// Package lane decides what a lane does; it does nothing itself.
//
// A lane is one ledger partition plus every source partition that hashes to it: the unit of ownership, of work and of
// fencing. This package holds its decisions as pure state: events go in, actions come out; time is an argument and all
// I/O is the caller's (internal/mirror). So every crash point and every broker answer can be tried in a test.
//
//	Judge      how a lane is taken over: first owner, clean hand-over, after a crash, after an expired identity
//	Part       one partition: what to send now, what an answer means, when to fence, look, stop
//	Align      where a partition goes on after an unclean stop
//	Group      which queued source batches go to the target as one
//
// Invariants of Part:
//
//	LN1: units are acknowledged in the order in which they were stamped; the offset map only ever sees that order.
//	LN2: a unit that may be on the target is only ever sent again as identical bytes with the same sequence, and only
//	     while the target is sure to remember the producer's state; otherwise the partition is fenced and looked at.
//	LN3: more than one unit is in flight only while that state is sure to live (fresh timestamps, same epoch, at least
//	     one acknowledgement): without state a broker accepts any first sequence, also the second unit's.
//	LN4: through never passes a source offset whose record is not acknowledged, skipped by rule, or recorded as lost.
package lane
