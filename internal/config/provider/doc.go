// Package provider owns Kafka's configuration providers: which ones a file declares, and what a reference such as
// ${file:/path:key} in one of its values stands for. Those that Kafka comes with for files, folders and the environment are
// built in; another one is a Java class that cannot be loaded.
//
// Invariants:
//   - Files and variables are reached through Outside only; the zero Outside reaches nothing.
//   - Nothing is read beyond what allowed.paths and allowlist.pattern of the file let through.
//   - No fault shows what was found, nor a reference that names no provider: it may be a password that was never meant as one.
//
// What it does not do: it does not decide which values of a file are looked up, and how often.
package provider
