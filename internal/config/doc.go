// Package config owns the validated Config: the clusters and the flows between them, their clients, defaults and limits, what
// a client works with in the end, and which topics a flow selects.
//
// It reads no form of a file. Whoever does fills a Draft, which has everything checked that the forms have in common; the
// packages below hold what they share, and internal/configfile picks the one to read a file with.
//
// Invariants:
//   - A Config that Draft.Examined gives is complete: every field has its final value, every enabled flow has two different
//     known clusters, every pattern compiles.
//   - Cluster.Kafka and Config.Missing are where PEM files and passwords are read, and nowhere else.
//   - No printed Config contains a password or a private key.
//
// What it does not do: connect to anything, compare cluster ids, or check that topics exist.
package config
