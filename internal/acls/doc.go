// Package acls computes the access rights that the flows of a configuration need: a Config in, the fewest access rules
// out, by cluster, each right with the reasons for it. It is what `tidemark acls` prints.
//
// Invariants:
//
//	AC1: it is pure. What exists on the clusters is not known here, so that the answer depends on the file alone.
//	AC2: what is needed is in the answer: a rule is never narrower than the pattern that it stands for, but for a lone "."
//	     in a name, which is taken for a dot, and said.
//	AC3: no right is there twice: not in a rule that another rule covers, and not beside an operation that includes it
//	     (READ, WRITE and ALTER include DESCRIBE, ALTER_CONFIGS includes DESCRIBE_CONFIGS; StandardAuthorizer). Its
//	     reasons move to the right that covers it.
//	AC4: a rule that opens more than its pattern says so in a note.
//
// What it does not do: rights of the commands that only read (docs/acls.md lists them), rules that deny, rules that are
// on a cluster already, quotas, and authorizers whose rules are no Kafka ACLs.
package acls
