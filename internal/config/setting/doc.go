// Package setting owns the settings that a key of a file can set: the fields of structs, found by the tag that holds a form's
// keys, and how a text becomes the value of such a field and the other way round.
//
// The field's type says how a value is read; three tags narrow it. kind names the form of a text or list (addresses, patterns,
// pairs, path, separator) or says that a number has bounds of its own (bytes, bounded); choice lists the words that are
// allowed; fold is "upper" where the case does not matter.
//
// Invariants:
//   - A field keeps its value where the text is wrong; a list takes what it is given.
//   - No fault shows the value of a secret, nor that of a pair.
//
// What it does not do: it knows no file, no place and no form. Where keys stand, and whose value wins, is up to the form.
package setting
