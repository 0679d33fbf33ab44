// Package status is what can be said about a flow at one moment: the snapshots that commands, the API and the dashboard
// show, and how they look as text.
//
// A snapshot is built once by whoever reads the clusters (internal/inspect) and never changed afterwards. Its JSON form
// is a contract, described in docs/cli.md: fields are added, not renamed or removed. Its text form is for people.
//
// Invariants:
//
//	ST1: what is not known is Unknown, "" or the zero time, never a number that looks known.
//	ST2: a source column says where it comes from: the source itself, or the ledger with the time it was written.
//	ST3: what could not be read is in the snapshot (Header.Trouble, Header.Notes); nothing is left out in silence.
//	ST4: text from a cluster (names, metadata, reasons) is quoted where it holds what a terminal would obey.
//
// The package is pure: it reads no cluster, no clock and no file, and knows neither commands nor exit codes.
package status
