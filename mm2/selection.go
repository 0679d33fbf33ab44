package mm2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Rule is what decided about a topic. The names are stable: they appear in JSON
// and in metrics.
type Rule string

// The rules in the order in which Selection.Select asks them.
const (
	RuleBrokerInternal Rule = "broker-internal" // __consumer_offsets, __transaction_state
	RuleOwn            Rule = "tidemark-topic"  // one of our own topics
	RuleMM2Internal    Rule = "mm2-internal"    // offset syncs, checkpoints, ...
	RuleInternalName   Rule = "internal-name"   // begins with "__" or ".", and nobody asked for it
	RuleCycle          Rule = "cycle"           // came from the target
	RuleSourceAlias    Rule = "source-alias"    // came through the source already
	RuleExcluded       Rule = "excluded"        // by the exclude list
	RuleIncluded       Rule = "included"        // mirrored: by the include list
	RuleHeartbeats     Rule = "heartbeats"      // mirrored: a heartbeats topic
	RuleNotIncluded    Rule = "not-included"    // by no pattern
	RuleBothWays       Rule = "both-ways"       // would be included, and so it would on its way back
)

// A Choice is the verdict about one topic.
type Choice struct {
	Mirrored bool   `json:"mirrored"`
	Rule     Rule   `json:"rule"`
	Detail   string `json:"detail"` // one clause: which pattern, which alias
}

// String is one line for people.
func (c Choice) String() string {
	if c.Mirrored {
		return "mirrored: " + c.Detail
	}
	return "not mirrored: " + c.Detail
}

// A Selection decides which topics of Source are mirrored to Target.
type Selection struct {
	Policy         Policy
	Source, Target string // aliases
	Topics         *Filter

	// Heartbeats is heartbeats.replication.enabled (KIP-1089): heartbeats topics
	// are mirrored although no include pattern names them. The exclude list wins.
	Heartbeats bool
	// SourceAlias lets the filter decide about names that carry the source's own
	// alias, as MirrorMaker 2 does (us.orders on us becomes us.us.orders). Off, two
	// processes that each call the other's cluster by one alias do not send a
	// topic round and round under ever longer names.
	SourceAlias bool

	// Back is the flow from Target to Source, nil where there is none. A topic that
	// both take, and whose name both keep, would go round and round: neither takes it.
	Back *Selection
}

// IsBrokerInternal says whether brokers keep their own state in the topic. Such a
// topic is never mirrored, whatever the filters say.
func IsBrokerInternal(topic string) bool {
	return topic == "__consumer_offsets" || topic == "__transaction_state"
}

// IsOwn says whether the topic is one of ours (ledger, verdicts): the name begins
// with "tidemark-" and ends with ".internal".
func IsOwn(topic string) bool {
	return strings.HasPrefix(topic, "tidemark-") && strings.HasSuffix(topic, ".internal")
}

// anyonesInternal are the names of internal topics of a MirrorMaker 2, whatever
// separator it has: one cluster can have flows with "." and with "_", and each would
// copy what the other keeps for itself. MirrorMaker 2 looks for its own separator
// only.
var anyonesInternal = regexp.MustCompile(`^(mm2-(offset-syncs|offsets|configs|status)[._-].+|.+[._-]checkpoints)[._-]+internal$`)

// IsOwnGroup says whether the group is the lane group of one of our flows,
// "tidemark.A->B". It has members and at times positions, which no consumer reads
// from.
func IsOwnGroup(group string) bool {
	return strings.HasPrefix(group, "tidemark.") && strings.Contains(group, "->")
}

// Select decides about one topic of the source. Rules that no list changes come
// first, so that nobody edits a filter in vain.
//
// Names that begin with "__" or "." are left out, as by MirrorMaker 2, unless they
// are asked for: topics.exclude is empty, or a pattern of topics begins so and
// matches.
func (s Selection) Select(topic string) Choice {
	c := s.choose(topic)
	if c.Mirrored && s.Back != nil && s.keeps(topic) && s.Back.keeps(topic) && s.Back.choose(topic).Mirrored {
		why := "%s->%s mirrors it too and both keep topic names, so it would go round and round: let one of them exclude it"
		return Choice{false, RuleBothWays, fmt.Sprintf(why, s.Target, s.Source)}
	}
	return c
}

// RoundTrip gives a topic that this flow and Back would both take under one name,
// if a glance at the patterns finds one: a name that a list spells out, or the
// shortest that a pattern matches.
func (s Selection) RoundTrip() (topic string, found bool) {
	if s.Back == nil {
		return "", false
	}
	names := append([]string{"orders"}, s.Topics.samples()...) // any name does where both take all
	for _, name := range append(names, s.Back.Topics.samples()...) {
		if name != "" && s.Select(name).Rule == RuleBothWays {
			return name, true
		}
	}
	return "", false
}

// keeps says whether the copy of a topic has the topic's own name.
func (s Selection) keeps(topic string) bool { return s.Policy.RemoteTopic(s.Source, topic) == topic }

// choose is Select without a look at the way back.
func (s Selection) choose(topic string) Choice {
	if c, refused := s.refuse(topic); refused {
		return c
	}
	if rule, excluded := s.Topics.Excluded(topic); excluded {
		return Choice{false, RuleExcluded, rule}
	}
	ok, rule := s.Topics.Match(topic)
	switch {
	case ok:
		return Choice{true, RuleIncluded, rule}
	case s.Heartbeats && s.Policy.IsHeartbeatsTopic(topic):
		return Choice{true, RuleHeartbeats, "a heartbeats topic"}
	}
	return Choice{false, RuleNotIncluded, rule}
}

// refuse asks the rules that stand above the filter.
func (s Selection) refuse(topic string) (Choice, bool) {
	no := func(r Rule, format string, args ...any) (Choice, bool) {
		return Choice{false, r, fmt.Sprintf(format, args...)}, true
	}
	p := s.Policy
	switch {
	case IsBrokerInternal(topic):
		return no(RuleBrokerInternal, "brokers keep their own state in it")
	case IsOwn(topic):
		return no(RuleOwn, "a topic of Tidemark's own")
	case p.IsMM2Internal(topic):
		return no(RuleMM2Internal, "an internal topic of MirrorMaker 2")
	case anyonesInternal.MatchString(topic) && !s.Topics.names(topic):
		return no(RuleMM2Internal, "an internal topic of a MirrorMaker 2 with another separator, by its name: only %s that spells it out takes it", s.Topics.include.key)
	case topic == HeartbeatsTopic && s.keeps(topic):
		return no(RuleMM2Internal, "its copy would have the same name, and the target's own heartbeats are in that")
	case p.IsInternal(topic) && !s.Topics.asked(topic):
		begin := topic[:prefixLen(topic)]
		return no(RuleInternalName, "internal by its name: only a pattern that begins with %q too takes it, or an empty %s", begin, s.Topics.exclude.key)
	case p.IsCycle(topic, s.Target):
		return no(RuleCycle, "it came from %s, the target", s.Target)
	case !s.SourceAlias && slices.Contains(Chain(p, topic), s.Source):
		return no(RuleSourceAlias, "its name says that it came through %s, the source, already", s.Source)
	}
	return Choice{}, false
}

// prefixLen is the length of "__" or ".", whichever the name begins with.
func prefixLen(topic string) int {
	if strings.HasPrefix(topic, "__") {
		return 2
	}
	return 1
}
