// Package testcluster starts the clusters that tests run against, fills them,
// and judges what a mirror made of them.
//
// It owns four things:
//
//   - real Apache Kafka brokers, run from jars that Maven fetches once into the
//     user's cache directory ([StartReal]), and the Java and C clients that act
//     as independent readers and writers of the same clusters ([RunJava],
//     [KcatConsume]);
//   - pairs of embedded kfake clusters for tests that must be fast ([NewPair]);
//   - generators of records that carry unique sequence numbers ([Produce],
//     [ProduceTransactions], [ProduceCompacted]);
//   - the one oracle ([Read], [Compare], [CheckPosition]) which every test asks
//     whether records were lost, copied twice, reordered or changed.
//
// Invariants: every process dies with the test binary that started it; nothing
// listens on anything but 127.0.0.1; a missing tool is an error that names the
// command to type, never a skipped test; the oracle looks only at what clusters
// hold and shares no code with the mirror's own record handling.
//
// It does not mirror, translate or validate batches: those are the subjects of
// the tests that use it. Only the kfake part may be used by the binary (for its
// demo); that part compiles on every platform, real brokers need a Unix.
package testcluster
