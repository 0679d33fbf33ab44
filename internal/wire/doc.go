// Package wire moves record batches between us and brokers: Fetch and Produce
// over connections of our own, with record bytes that are never copied on a
// plaintext connection.
//
// It owns connections (dial, ApiVersions, SASL with re-authentication by
// KIP-368, pipelining), the versions of the requests it sends (versions.go),
// response buffers and the byte budget over them, and the way from a partition
// to the broker that leads it. It exists because franz-go's raw requests are
// neither routed nor ordered, and copy every byte at least once.
//
// Invariants:
//   - W1: requests of one connection are answered in the order of sending, or
//     the connection is closed; nothing is ever sent again by itself.
//   - W2: a response buffer goes back to the pool, and its bytes to the Budget,
//     when every Fetched that points into it has been released, never before.
//   - W3: bytes given to Producer.Send are not touched after Done, and Done is
//     called exactly once for each Send, in the order of Send for a partition.
//   - W4: a partition is in at most one Fetch request at a time and at most
//     once in a Produce request (brokers keep only one of two batches for the
//     same partition in a request, silently).
//   - W5: the position of a partition moves only by Want. An answer to a
//     request that was sent before the newest Want of its partition is dropped.
//
// Lock order: Fetcher.mu or Producer.mu, then router.mu, then conn.wmu, then
// conn.qmu. Sinks and Done functions are called without any lock.
//
// It does not decode records, choose offsets, retry batches or know groups and
// transactions. One other request is sent, ListOffsets by Scan, because a real
// broker does not say the log start when it answers OFFSET_OUT_OF_RANGE.
package wire
