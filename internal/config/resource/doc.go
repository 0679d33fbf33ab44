// Package resource owns the two other forms in which people deploy MirrorMaker 2: Strimzi's Kubernetes resource
// KafkaMirrorMaker2, and the configurations of its connectors on a Connect cluster (JSON for Connect's REST interface, or Strimzi's
// resource KafkaConnector). They are turned into what a properties file of MirrorMaker 2 would say, so that one reader judges
// all three.
//
// Invariants:
//   - Each entry has the line on which it is written, or of what it follows from.
//   - No secret is read: what stands in a Secret of Kubernetes becomes a reference to an environment variable, and a note says which.
//   - A key of the resource that is not understood is a problem. Going on without it could mirror something else.
//
// What it does not do: it knows none of MirrorMaker 2's keys but those that it writes itself.
package resource
