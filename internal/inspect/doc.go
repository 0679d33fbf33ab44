// Package inspect turns what runs of a flow leave on the target into status snapshots, and where no run has been, what a
// MirrorMaker 2 left (internal/mirrormaker).
//
// A Reader is opened for one flow of a configuration. It needs the target only: the ledger has offset maps, states and
// the source's ends as last seen, the verdicts topic has every group's position. The source is asked for fresher
// numbers, for a short time, and a snapshot says whether it answered.
//
// Invariants:
//
//	IN1: nothing is written to any cluster, no group is joined, no topic is created.
//	IN2: every call ends within Options.Timeout, and waits for the source no longer than Options.SourceTimeout at a time.
//	IN3: what cannot be read is in the snapshot: Header.Trouble for Tidemark's own topics, Header.Notes for the rest.
//	     A call fails only where there is nothing to show.
//
// What it does not do: decide about exit codes or print; internal/status has the text, internal/cli the rest.
package inspect
