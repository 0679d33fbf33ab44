// Package yamlfile owns Tidemark's own form of a configuration file: it reads the YAML, and writes any Config as such.
//
// Invariants:
//   - What Write writes means the same when it is read, but for secrets, which it never writes.
//   - Nothing is expanded, and no other file is read: a relative path starts at the file's folder.
//   - A problem says what kind of thing stands in the wrong place, and not its value: it may be a password.
//
// What it does not do: it judges no setting beyond whether its value can be read; config.Draft does.
package yamlfile
