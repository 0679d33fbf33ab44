// Package security owns what a connection to a cluster is secured with: which settings of TLS and SASL there are and go
// together, how Java's login (sasl.jaas.config) becomes such settings, and how stores, PEM files, password files and variables
// become what internal/kafka connects with.
//
// Invariants:
//   - Files and variables are read by Open and by what it hands out to renew, and by nothing else here.
//   - What can no longer be read while the mirror runs leaves what was there before in use.
//   - An error is a report.Problem at the place of the setting that names what cannot be used, and holds no secret.
//
// What it does not do: it reads no configuration file, and connects to nothing.
package security
