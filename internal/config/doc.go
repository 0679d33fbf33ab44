// Package config turns one file into one validated Config: the clusters and the flows between them.
//
// The file is either YAML or a MirrorMaker 2 properties file as connect-mirror-maker.sh takes it. Both end in the same
// values, with the same defaults, except where MirrorMaker 2's own defaults for a properties file must hold; every such
// difference is said in Config.Notes, and a key that nobody knows in Config.Warnings. docs/config.md lists every key.
//
// Invariants:
//   - Parse is pure: it reads no other file and no environment variable. Cluster.Kafka is where PEM files and passwords
//     are read, so that a Config can be printed and compared without touching a secret.
//   - A Config that Parse returns without an error is complete: every field has its final value, every enabled flow has
//     two different known clusters, every pattern compiles.
//   - All problems of a file are reported together, each with file, line, key, what is wrong and what to do.
//   - A dollar sign is a dollar sign. Nothing expands ${VAR}: passwords contain them, and a file must mean the same
//     in every environment.
//   - No error, note or printed Config contains a password or a private key.
//
// What it does not do: connect to anything, compare cluster ids, or check that topics exist.
package config
