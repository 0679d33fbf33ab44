// Package cli is the command line: what an operator types, sees, and gets as exit code.
//
// Each command is a constructor with its options and a run function that writes to given streams, in a file of its own.
// Data goes to standard output, as a table or with --json as one JSON document; everything else, errors too, goes to
// standard error. Errors say what, where, and what to do next. docs/cli.md lists commands, flags and exit codes, and a
// test compares it with the command tree.
//
// What it does not do: talk to Kafka. internal/engine runs flows, internal/inspect reads what they leave on the target.
package cli
