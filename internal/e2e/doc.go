// Package e2e holds the tests that run a whole mirror between real Apache Kafka brokers.
//
// It has no code of its own: the brokers are started once, by TestMain, from jars that Maven fetches, and every test
// uses topics and flows of its own names on them. What kfake does not do (compaction with its leftovers, expiring
// producer state, real validation, three codecs of clients) is proven here and nowhere else.
package e2e
