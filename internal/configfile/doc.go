// Package configfile turns one file into a config.Config: it picks the form that the file is in, and the form's package reads
// it. Commands and tests start here.
//
// The file is either YAML or a MirrorMaker 2 properties file as connect-mirror-maker.sh takes it. Both end in the same
// values, with the same defaults, except where MirrorMaker 2's own defaults for a properties file must hold; every such
// difference is said in Config.Notes, and a key that nobody knows in Config.Warnings. docs/config.md lists every key.
//
// Invariants:
//   - Parse is pure: it reads no other file and no environment variable. What configuration providers stand for is looked
//     up in the Outside that Examine is given (Load: this process), and in values that have an effect only.
//   - All problems of a file are reported together, each with file, line, key, what is wrong and what to do.
//   - A dollar sign is a dollar sign. Nothing expands ${VAR}: passwords contain them. Only ${provider:key} in a properties
//     file is looked up, as MirrorMaker 2 does, and never left as it is where it cannot be.
//   - No error, note, printed Config or YAML contains a password or a private key, nor a value that an error is about and
//     that a provider gave.
//
// What it does not do: it knows no key. A new form is a package of its own and a case in Examine.
package configfile
