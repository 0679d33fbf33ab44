package topics

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
)

// Fate of an access rule on the source.
type Fate string

// The fates. Each is said once with the number of rules, so that nobody has to wonder where a rule is.
const (
	ACLCopied   Fate = "copied"
	ACLAsRead   Fate = "copied as READ: only the mirror writes to a remote topic"
	ACLWrite    Fate = "not copied: the right to write, only the mirror writes to a remote topic"
	ACLPrefixed Fate = "not copied: it is about a prefix of names, which on the target would cover topics that are not mirrored"
	ACLWildcard Fate = "not copied: it is about all topics, on the target that would be others"
	ACLOther    Fate = "not copied: its topic is not mirrored"
)

// CopyACL says what becomes of one access rule about topics of the source: the rule for the target, where there is one.
//
// MirrorMaker 2's rules count: rights on single mirrored topics are copied with principal, host and permission as they are;
// ALLOW WRITE is not, ALLOW ALL becomes ALLOW READ, every DENY stays. One thing differs: MirrorMaker 2 copies a rule for all
// topics ("*") as one for a topic of that name, which no topic can have with the default policy, and which with the identity
// policy opens topics that were never mirrored.
func CopyACL(a kafka.ACL, r Rules) (kafka.ACL, Fate) {
	switch {
	case a.Prefixed:
		return kafka.ACL{}, ACLPrefixed
	case a.Topic == "*":
		return kafka.ACL{}, ACLWildcard
	case !r.Selection.Select(a.Topic).Mirrored:
		return kafka.ACL{}, ACLOther
	case !a.Deny && a.Operation == kmsg.ACLOperationWrite:
		return kafka.ACL{}, ACLWrite
	}
	fate := ACLCopied
	if !a.Deny && a.Operation == kmsg.ACLOperationAll {
		a.Operation, fate = kmsg.ACLOperationRead, ACLAsRead
	}
	a.Topic = r.Selection.Policy.RemoteTopic(r.Selection.Source, a.Topic)
	return a, fate
}

// PlanACLs gives the access rules that are missing on the target, in a stable order, and the source's rules by their
// fate. Nothing is ever taken away from the target: a rule there may be somebody else's, who wants the same.
func PlanACLs(source, target []kafka.ACL, r Rules) (missing []kafka.ACL, fates map[Fate][]kafka.ACL) {
	have := make(map[kafka.ACL]bool, len(target))
	for _, a := range target {
		have[a] = true
	}
	fates = map[Fate][]kafka.ACL{}
	for _, a := range source {
		want, fate := CopyACL(a, r)
		fates[fate] = append(fates[fate], a)
		if fate != ACLCopied && fate != ACLAsRead || have[want] || r.Owns != nil && !r.Owns(a.Topic) {
			continue
		}
		have[want] = true
		missing = append(missing, want)
	}
	slices.SortFunc(missing, func(a, b kafka.ACL) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.String(), b.String()))
	})
	return missing, fates
}
