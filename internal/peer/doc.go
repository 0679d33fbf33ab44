// Package peer runs Apache Kafka's own integration tests of MirrorMaker 2 against Tidemark.
//
// The tests come as they were compiled, from Maven, with every assertion; the sources in java/ stand before three of Kafka's
// classes on the class path, so that where a test starts Connect's workers or MirrorMaker 2, `tidemark run` starts on the
// test's own properties instead. What each test is expected to come to, and why where that is not "passes", is one table
// (expect_test.go), and a test that comes to anything else fails, whichever way. `go test` runs a few of them, `make peer` all,
// which takes long, and writes what came of them into docs/from-mirrormaker.md.
//
// It is not a part of internal/e2e, because that package's brokers are processes of its own which all tests share, and
// these tests bring theirs, in the JVM that runs them. Like it, it has no code but tests.
package peer
