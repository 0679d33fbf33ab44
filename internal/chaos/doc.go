// Package chaos attacks a mirror and judges what is left. It consists of tests.
//
// A world is a source and a target of real brokers, a proxy in front of each of
// them, up to three processes of the real binary behind the proxies (built with
// failpoints), producers whose records carry sequence numbers, and groups that
// commit all the time. A seed makes a schedule of faults, which is printed while
// it runs, with times; the same seed, faults and length make it again. After the
// schedule everything is healed and the oracle looks: lost 0, twice 0, disorder 0
// on what the target holds, every group exact and never ahead of what it had
// read, the map in the ledger equal to one computed from both logs, memory and
// goroutines as in a process that has just started.
//
//	go test ./internal/chaos -run TestChaos -v -chaos.seed=7 -chaos.for=3m -chaos.faults=kill,zombie
//	go test ./internal/chaos -run TestPoints -v -chaos.each=20
//	go test ./internal/chaos -run TestChaos -v -chaos.faults=upgrade,mixed -chaos.former=REV -chaos.for=1m
//	go test ./internal/chaos -run '^$' -bench HandOver -benchtime 1x -v
//
// The third begins with the binary of a git revision and replaces it under load; the fourth measures how long a partition
// pauses when its lane changes hands.
//
// It does not test single rules: a failure found here becomes a test of its own
// where the rule is.
package chaos
