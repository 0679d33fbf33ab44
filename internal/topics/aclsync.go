package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
)

// ACLSyncer copies access rules about mirrored topics. It keeps nothing but what it has said: each round compares both
// clusters.
type ACLSyncer struct {
	source, target *kafka.Client
	rules          Rules
	events         *events.Bus
	said           map[Fate]string // the topics of rules that are not copied as they are
	trouble        string
}

// NewACLs makes an ACLSyncer.
func NewACLs(source, target *kafka.Client, rules Rules, bus *events.Bus) *ACLSyncer {
	return &ACLSyncer{source: source, target: target, rules: rules, events: bus, said: map[Fate]string{}}
}

// Round creates the rules that are missing on the target, and only those. What keeps it from that is said once and stops
// nothing else. A cluster without authorizer has no rules: that is no trouble, and is looked at again all the same, as
// an authorizer arrives with a rolling restart.
func (s *ACLSyncer) Round(ctx context.Context) {
	err := s.round(ctx)
	if ctx.Err() != nil {
		return
	}
	now := ""
	if err != nil {
		now = err.Error()
	}
	switch {
	case now == s.trouble:
	case err == nil:
		s.events.Say(events.RulesBack)
	case errors.Is(err, kafka.ErrNoAuthorizer):
		s.events.Say(events.RulesOff, "why", err)
	default:
		s.events.Say(events.RulesFail, "error", err)
	}
	s.trouble = now
}

func (s *ACLSyncer) round(ctx context.Context) error {
	source, err := s.source.TopicACLs(ctx)
	if err != nil {
		return err
	}
	target, err := s.target.TopicACLs(ctx)
	if err != nil {
		return err
	}
	missing, fates := PlanACLs(source, target, s.rules)
	s.tell(fates)
	if len(missing) == 0 {
		return nil
	}
	failed, err := s.target.CreateTopicACLs(ctx, missing)
	if err != nil {
		return err // created or not, the next round tells
	}
	var first error
	for _, a := range missing {
		if why := failed[a]; why == nil {
			s.events.Say(events.RuleCopied, "rule", a.String())
		} else if first == nil {
			first = why
		}
	}
	if first != nil {
		return fmt.Errorf("%d of %d access rules, one: %w", len(failed), len(missing), first)
	}
	return nil
}

// tell says which rules of the source are not copied as they are. Rules about topics that are not mirrored go without
// saying.
func (s *ACLSyncer) tell(fates map[Fate][]kafka.ACL) {
	const most = 20
	for _, fate := range []Fate{ACLAsRead, ACLWrite, ACLPrefixed, ACLWildcard} {
		var names []string
		for _, a := range fates[fate] {
			names = append(names, a.Topic)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		all := strings.Join(names, " ")
		if all != s.said[fate] && all != "" {
			s.events.Say(events.RulesOfSource, "rules", len(fates[fate]), "topics", strings.Join(names[:min(most, len(names))], " "), "fate", string(fate))
		}
		s.said[fate] = all
	}
}
