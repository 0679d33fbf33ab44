// Package offsetmap translates positions of one partition between a source
// and a target cluster. It owns the ordered runs of the partition, where a run
// is a stretch in which source and target offsets both advance by one per
// record, the causes of the holes between them, and their encoding. It does no
// I/O, reads no clock and starts no goroutine; one goroutine owns a [Map].
//
// # Translation
//
// For a committed source offset c, [Map.Next] answers one past the last
// mirrored record whose source offset is below c, then over our own markers.
// In every hole that delivers the same record as "the first mirrored record at
// or above c" would. It is also right at the end of the log, and next to
// foreign records, which are read and not skipped. Nothing is extrapolated:
// a position beyond what is mirrored is held where the mirror ends. What the
// map does not know (a missing block) makes an answer earlier, never later.
//
// # Holes
//
// A source offset below Through that is in no run holds no data (marker,
// compacted, aborted, filtered) or is lost (see [Map.Lose]). A target offset
// below TargetEnd that is in no run is our own marker, in doubt or foreign.
// NoData and foreign are what remains, only lost stretches, markers and doubts
// are listed: the list of foreign stretches was rejected since a gap that
// nobody explained must then have been taken for a marker, and skipping it
// could skip records.
//
// A doubt (see [Map.Doubt]) holds records of ours at unknown source offsets, of
// which up to n are copies. It is read like foreign records. What the map says
// of it is only how much a reader who begins in front of it reads twice at
// most: the n copies, and of the other records those that he has read on the
// source. They lie between the runs around the doubt, so they are no more than
// the source offsets between the run below and the reader's position. In front
// of the first run a doubt makes the map begin where mirroring began. Count
// leaves doubts out, and Source stays in front of them.
//
// # Memory and codec
//
//	sealed blocks (encoded, immutable) | tail (encoded) | open run
//
// Each run is stored as the differences to the end of the run before it:
//
//	0sss cccc                  source gap s (0..7), target gap 0, count c+1 (1..16)
//	1gss sccc [s-7] [g-1] [c-8]  g: target gap above 0; s, c: 7 means a varint follows
//
// so a transaction of up to 16 records costs one byte. In memory the runs of a
// block or of the tail are cut into chunks of one cache line each:
//
//	state (source, target, records) | length, form | up to 48 bytes of runs
//
// where the state is what decoding needs to begin there. A lookup guesses the
// block, and in it the chunk, from how far the offset is between the ends, and
// corrects the guess by steps that double. Where offsets grow evenly it so reads
// one line of the runs. Then it decodes the chunk: run by run, or if all runs
// are short ones (one byte) eight at a time, or if they are all equal, as
// transactions of one size are, by a division. States are 32-bit differences to
// the segment's start, unless one does not fit. Chunks are no part of what is
// stored, a block is only
//
//	version, incarnation, number, end of the run before it (source, target),
//	lost stretches, markers, doubts, number of runs, runs
//
// and the hole before a run belongs to the block of that run. How many copies
// the doubts of all blocks hold is in the tail too, so that the answers around a
// missing block still bound what is read twice. All numbers are
// unsigned varints; an unknown version is refused. Checksums are the business
// of whoever stores the bytes.
//
// # Named invariants
//
// They are verified by [Map.Check].
//
//	OM1 runs have a count of at least 1 and strictly increase on both sides
//	OM2 neighbouring runs never touch on both sides (they were merged), unless
//	    a block ends between them that was missing when the map was loaded without
//	    an open run
//	OM3 lost stretches are sorted, disjoint and lie in source holes; markers are
//	    sorted, do not touch each other and lie in target holes; doubts are
//	    sorted, disjoint, also from markers, lie in target holes and hold 0 up
//	    to their length copies; only missing blocks can hide copies
//	OM4 the last run is open, so that it can grow: it is in no sealed block,
//	    unless the map was loaded without an open run, which Seal never leaves
//	OM5 segments (blocks, missing stretches, tail) tile the map: each starts
//	    where the last run of the one before it ended
//	OM6 block numbers strictly increase along the map and are below the next number
//	OM7 Through and TargetEnd are at or above the end of the last run
//	OM8 the kept decoding states equal what decoding from the block's start
//	    gives, and the forms and lengths of chunks are those of their runs
//	OM9 leader epochs strictly increase, with their start offsets
//	OM10 for c < d both answers of Next are ordered alike, except that an
//	    answer of kind Trimmed names the first kept run, past foreign records
//	    in front of it
//
// # Storing a map
//
// The ledger keeps a head (which holds [Map.AppendTail]) and the blocks by
// number. The order of writes keeps every crash safe:
//
//  1. Write the block that [Map.Seal] returned and wait for its acknowledgement.
//  2. Then write the head. Before, the old head does not name the block and
//     still holds its runs: the block is ignored and its number skipped.
//  3. Delete blocks (returned by TrimTarget) only after a head written since
//     then is acknowledged. A block that went too early makes answers bounded,
//     not wrong.
//
// Block numbers are never reused, so a head never meets a block with other
// content under a number that it names. [Load] must be given all blocks found,
// also those the head does not name, since it chooses the next number above
// them. As second line of defence a block carries its number and incarnation,
// and its two ends have to fit to its neighbours; one that does not fit counts
// as missing.
package offsetmap
