// Package entry owns the syntax of java.util.Properties: a text becomes entries, each a key and a value with its line.
//
// Invariants:
//   - Entries come in the order of the lines, repeated keys included.
//   - What is said about a line that cannot be read holds nothing of the line, which may hold a password.
//
// What it does not do: it knows no key, and looks up nothing that a value refers to.
package entry
