// Package batch reads, patches and rebuilds Kafka record batches as bytes.
//
// It owns the v2 batch format (KIP-98), the two older message formats as far
// as they must be read (v0, v1), the five codecs, and the decision whether a
// fetched batch may be forwarded as it is. It does no I/O, starts no
// goroutine and knows no clock, cluster or topic.
//
// A batch on the wire, all integers big endian; [crc] is CRC-32C of
// everything from attributes to the end:
//
//	 0 baseOffset      int64     35 maxTimestamp    int64
//	 8 length          int32     43 producerId      int64
//	12 leaderEpoch     int32     51 producerEpoch   int16
//	16 magic           int8      53 baseSequence    int32
//	17 crc             uint32    57 recordsCount    int32
//	21 attributes      int16     61 records, compressed as one block
//	23 lastOffsetDelta int32
//	27 baseTimestamp   int64
//
// Attributes: bits 0-2 codec, 3 log append time, 4 transactional, 5 control,
// 6 delete horizon. Bits 7-15 have no meaning yet: a batch that sets one is
// never forwarded and never guessed at.
//
// Invariants, by name:
//
//	B1  No output of this package is transactional, a control batch, or has a
//	    base offset other than 0; deltas run 0..n-1 without gaps.
//	B2  Patch keeps a wrong CRC wrong. Damage in our memory is refused by the
//	    target broker and not laundered into a valid batch.
//	B3  Before bytes are dropped or encoded again their CRC was checked.
//	B4  Decompressing one batch never yields more than the Builder's limit.
//
// The package does not fetch, retry or decide policy: a batch that cannot go
// on is an error or the action Halt, with the reason.
package batch
