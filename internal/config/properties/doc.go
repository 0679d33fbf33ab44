// Package properties owns the form of MirrorMaker 2's dedicated mode: what each of its keys means in each place of a file, which
// of several places wins, and what is said about a key that means nothing.
//
// Invariants:
//   - Whose value wins follows MirrorMaker 2, and so do defaults, unless a remark says that they do not.
//   - What would mirror other records than the file asks for, and cannot be done here, is refused. A key that merely has no
//     effect is named, with the reason, or with the key that it was most likely meant for.
//   - A value is looked up in a configuration provider only where it has an effect, and is in no problem and no remark then.
//   - docs/mm2-keys.md is what the code does.
//
// What it does not do: the syntax of the file is internal/config/entry's, what a reference stands for internal/config/provider's.
package properties
