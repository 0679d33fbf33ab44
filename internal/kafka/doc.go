// Package kafka is the one place that builds Kafka clients: security, dialing,
// protocol version caps, metadata, positions, topics, offsets and the
// transactional calls a lane needs to take a partition over.
//
// It owns:
//   - Cluster, the description of one cluster, and its mapping to franz-go
//     options (Open) and to raw connections (Cluster.DialTLS);
//   - protocol versions: baseVersions and LaneVersions say which request
//     versions are used and why a newer one is refused;
//   - Classify, the meaning of every broker error code for a mirror;
//   - Metadata, a leader cache with KIP-951 hints.
//
// Invariants:
//   - Every error names the cluster by alias and what was asked of it. Missing
//     rights are *ErrDenied with the ACL to add, wrong credentials are
//     *ErrAuthentication, no connection is *ErrUnreachable; errors.As finds
//     them through any wrapping.
//   - One bad topic, partition or group never fails its neighbours: calls over
//     many items return one result or one error an item.
//   - An answer that is not known to be complete is never returned as complete:
//     a broker that did not answer is an error beside the partial result.
//   - No call bumps a producer epoch locally, and lane calls refuse a client
//     that could send EndTxn v5, which bumps it on the broker (KIP-890).
//   - No goroutine outlives the call that needed it, except those of the
//     franz-go client, which Client.Close ends.
//
// It does not fetch or produce records, decide what a position means, or retry
// beyond what each function documents.
package kafka
