// Package ledger is the format of the ledger topic: what a lane must know to go on where another owner stopped.
//
// The ledger is one compacted topic on the target, tidemark-ledger.<source>.internal, with one partition per lane. Its
// records are
//
//	key                                   value
//	meta                                  Meta: lanes, hash, clusters; refuses a changed layout
//	claim                                 Claim: "from here on producer P in epoch E writes this lane's partitions"
//	isolation                             Isolation: what of the source the lane's owners read
//	head/<partition>/<topic>              Head: where a partition stands (anchor, state, open runs of the offset map)
//	begin/<partition>/<topic>             Begin: mirroring does not begin with the partition's oldest record
//	configs/<topic>                       Configs: the settings of the remote topic that are ours
//	start, start/<topic>                  Start, StartTopic: what the source had when the flow first started; lane 0 only
//	block/<partition>/<inc>/<n>/<topic>   a sealed block of runs, written once
//
// Keys are text because topic names cannot hold a slash and an operator who looks at the topic with any console tool
// sees what is there. Values are one version byte, the payload, and a CRC-32C (big endian) of both; a null value
// deletes its key. docs/ledger.md has each record byte by byte, who writes it and when.
//
// Invariants:
//
//	LG1: a block stands in the log before the first head that names it. One writer appends both in that order to one
//	     partition, idempotently, so a reader that finds the head has read the block.
//	LG2: an unknown version is an error of the whole partition: guessing at a newer writer's records could move a
//	     group forward. A damaged head or block is an error of its partition only, listed in Contents.Damaged.
//	LG3: reading never needs more than the partition's own records, so a lane needs no other lane and no local disk.
//	     The one exception is a flow that begins at the end: each lane reads lane 0's start before its own first claim.
//
// The package is pure: it neither reads nor writes Kafka. internal/mirror does.
package ledger
