// Package translate turns a committed position of the source into a verdict: a
// position on the target and how exact it is, or the reason there is none. It owns
// the table of cases, the clamps to what the target's log holds, and the rule by
// which a whole group is written. It is pure: values in, values out; lanes, the
// group writer, the CLI, the API and the drill all ask it, so they cannot differ.
//
// [Judge] answers for one (group, topic, partition), [Plan] for one group.
//
// # Invariants
//
//	T1: a position is never later than the first mirrored record that the group has
//	    not read, unless the user chose earliest or a log start is above it.
//	T2: a position lies within the target's log, where its ends are known.
//	T3: Exact, AtEnd, ExactLost and FirstMirrored replay nothing; every other
//	    position names a bound of what is read again.
//	T4: a verdict without a position is final or temporary, never both and never
//	    silent: it has a kind and, where the kind does not say it all, a reason.
//	P1: a plan never moves a position back, unless the last commit on the target is
//	    ours and the position on the living source moved back.
//	P2: the first commit of a group holds each partition that does not have a final
//	    no: a consumer that finds half a group starts the other half at its reset rule.
//	P3: nothing is written to a group that is not seen to be absent or Empty.
//	P4: a plan without a change writes nothing.
//
// The package does not read offsets, does not know clients and error codes of
// Kafka, and does not decide when to look again.
package translate
