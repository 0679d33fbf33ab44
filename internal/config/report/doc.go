// Package report owns what is said about a configuration file: the problems that keep it from being used, the remarks
// about what is worth knowing, and the places in the file that both are about. It also finds the word that a misspelt one
// was most likely meant for.
//
// Invariants:
//   - A problem says where it is, what is wrong and what to do.
//   - The same problem, and the same note about a line, is there once: what flows share is read for each of them.
//   - A value that comes from outside the file (Borrow) is in no problem.
//
// What it does not do: it knows no form of a file, no key and no setting. Whoever reads a file says what is wrong with it.
package report
