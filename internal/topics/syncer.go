package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/pause"
)

// State is one mirrored topic after a round.
type State struct {
	Name, Remote                   string
	SourceID, TargetID             [16]byte
	Partitions                     int32 // on the source
	Remotes                        int32 // partitions on the target; those beyond wait
	MaxBytes                       int32 // the remote topic's max.message.bytes; 0 unknown
	AppendTime                     bool  // the remote topic stamps records itself
	SourceCompacts, TargetCompacts bool
	NotYet                         string // why it cannot be mirrored now, for people; empty when it can
	TooFew                         string // why partitions from Remotes on cannot
	Unread                         string // why settings cannot be read; empty when they can
}

// Result is one round.
type Result struct {
	Topics    []State
	Decisions []Decision // every source topic
	Source    []Topic    // likewise
}

// Syncer runs rounds. It remembers settings it has read, so that an unchanged round is two metadata requests.
type Syncer struct {
	source, target *kafka.Client
	rules          Rules
	events         *events.Bus
	known          map[string]State // by source topic, with ids and settings
	failed         map[string]string
	read           time.Time            // when settings were read last
	follows        map[string]*followed // by source topic
	unread         map[string]string    // topics whose settings cannot be read, as said
	wider          map[string][2]int32  // partitions of source topic and wider remote topic, as said, by source topic
	without        map[string]string    // remote topics that were created without a setting, and why

	mu       sync.Mutex
	troubles troubles
}

// readAgain is how old settings may get at most.
const readAgain = time.Minute

// New makes a Syncer.
func New(source, target *kafka.Client, rules Rules, bus *events.Bus) *Syncer {
	return &Syncer{source: source, target: target, rules: rules, events: bus, known: map[string]State{}, failed: map[string]string{}, follows: map[string]*followed{}, unread: map[string]string{}, without: map[string]string{}, wider: map[string][2]int32{}}
}

// Round looks at both clusters, creates and grows what is missing, and reports. The error says that a cluster could not
// be asked at all; whatever is wrong with a single topic is in its State.
func (s *Syncer) Round(ctx context.Context) (Result, error) {
	source, err := describe(ctx, s.source)
	if err != nil {
		return Result{}, err
	}
	decisions := Decide(source, s.rules)
	target, err := describe(ctx, s.target)
	if err != nil {
		return Result{}, err
	}
	failed := map[string]string{}
	if actions := Plan(decisions, source, target); len(actions) > 0 {
		if err := s.apply(ctx, actions, failed); err != nil {
			return Result{}, err
		}
		if target, err = s.settled(ctx, actions, failed); err != nil {
			return Result{}, err
		}
	}
	s.tell(failed)
	states, err := s.states(ctx, decisions, index(source), index(target), failed)
	return Result{Topics: states, Decisions: decisions, Source: source}, err
}

func describe(ctx context.Context, c *kafka.Client) ([]Topic, error) {
	got, err := c.DescribeTopics(ctx)
	if err != nil {
		return nil, err
	}
	var out []Topic
	for _, t := range got {
		// Brokers' own topics too: a group can have commits there, and a topic without a decision holds its groups.
		o := Topic{Name: t.Name, ID: t.ID, Partitions: t.Partitions}
		if t.Err != nil {
			o.Err = t.Err.Error()
		}
		out = append(out, o)
	}
	return out, nil
}

// settled describes the target once it shows what was just created: the controller answers before every broker knows.
// What does not show within a second waits for the next round.
func (s *Syncer) settled(ctx context.Context, actions []Action, failed map[string]string) ([]Topic, error) {
	for range 20 {
		target, err := describe(ctx, s.target)
		if err != nil {
			return nil, err
		}
		have, missing := index(target), false
		for _, a := range actions {
			missing = missing || failed[a.Topic] == "" && have[a.Remote].Partitions < a.Partitions
		}
		if !missing || !pause.For(ctx, 50*time.Millisecond) {
			return target, nil
		}
	}
	return describe(ctx, s.target)
}

// apply does the actions and notes per topic what did not succeed.
func (s *Syncer) apply(ctx context.Context, actions []Action, failed map[string]string) error {
	var create []string
	for _, a := range actions {
		if a.Create {
			create = append(create, a.Topic)
		}
	}
	configs, unreadable, err := s.source.TopicConfigs(ctx, create)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, a := range actions {
		all.Go(func() error {
			why := s.act(ctx, a, configs[a.Topic], unreadable[a.Topic])
			if why != "" {
				mu.Lock()
				defer mu.Unlock()
				failed[a.Topic] = why
			}
			return ctx.Err()
		})
	}
	return all.Wait()
}

// atOnce is how many remote topics are created at a time. A controller takes some 70 ms for each one of several
// partitions, most of it waiting; nothing is mirrored before the round ends.
const atOnce = 8

// act does one action and says why it did not succeed.
func (s *Syncer) act(ctx context.Context, a Action, configs map[string]kafka.ConfigEntry, unreadable error) string {
	if !a.Create {
		if err := s.target.CreatePartitions(ctx, a.Remote, a.Partitions); err != nil && !errors.Is(err, kerr.InvalidPartitions) {
			return err.Error()
		}
		s.events.Say(events.TopicGrew, "topic", a.Topic, "remote", a.Remote, "partitions", a.Partitions)
		return ""
	}
	if unreadable != nil {
		return "settings of the source topic cannot be read: " + unreadable.Error()
	}
	spec := kafka.TopicSpec{
		Name: a.Remote, Partitions: a.Partitions, ReplicationFactor: s.rules.ReplicationFactor,
		Configs: Creation(entries(configs), s.rules.ConfigExcluded),
	}
	err := s.target.CreateTopic(ctx, spec)
	if errors.Is(err, kerr.InvalidConfig) {
		err = s.createWithout(ctx, spec, err)
	}
	switch {
	case err == nil:
		s.events.Say(events.TopicCreated, "topic", a.Topic, "remote", a.Remote, "partitions", a.Partitions)
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return fmt.Sprintf("%v: %s is %d, set it to at most the number of the target's brokers, or to -1 for their default", err, cmp.Or(s.rules.ReplicationKey, "the replication factor"), s.rules.ReplicationFactor)
	case !errors.Is(err, kerr.TopicAlreadyExists):
		return err.Error()
	}
	return ""
}

func entries(c map[string]kafka.ConfigEntry) map[string]Entry {
	out := make(map[string]Entry, len(c))
	for k, e := range c {
		out[k] = Entry{Value: e.Value, OfTopic: e.OfTopic(), ReadOnly: e.ReadOnly, Sensitive: e.Sensitive}
	}
	return out
}

// tell logs failures when they appear, change or end, not each round.
func (s *Syncer) tell(failed map[string]string) {
	for t, why := range failed {
		if s.failed[t] != why {
			s.events.Say(events.TopicNotReady, "topic", t, "error", why)
		}
	}
	for t := range s.failed {
		if failed[t] == "" {
			s.events.Say(events.TopicReady, "topic", t)
		}
	}
	s.failed = failed
}

// states describes every mirrored topic. Settings are read for topics whose ids are new; a re-created topic is new.
func (s *Syncer) states(ctx context.Context, decisions []Decision, source, target map[string]Topic, failed map[string]string) ([]State, error) {
	var out []State
	var news []int
	stale := time.Since(s.read) >= s.rules.SettingsEvery()
	if stale {
		s.read = time.Now()
	}
	for _, d := range decisions {
		if !d.Mirrored {
			continue
		}
		src, dst := source[d.Topic], target[d.Remote]
		st := State{Name: d.Topic, Remote: d.Remote, SourceID: src.ID, TargetID: dst.ID, Partitions: src.Partitions, Remotes: dst.Partitions}
		switch {
		case src.Err != "":
			st.NotYet = "the source topic cannot be described: " + src.Err
		case dst.Name == "" && failed[d.Topic] != "":
			st.NotYet = failed[d.Topic]
		case dst.Name == "":
			st.NotYet = fmt.Sprintf("remote topic %s does not exist yet", d.Remote)
		case dst.Err != "":
			st.NotYet = "the remote topic cannot be described: " + dst.Err
		case dst.Partitions < src.Partitions:
			st.TooFew = fmt.Sprintf("remote topic %s has %d partitions, the source topic %d", d.Remote, dst.Partitions, src.Partitions)
			if why := failed[d.Topic]; why != "" {
				st.TooFew += ": " + why
			}
		}
		s.tellWider(st)
		if old, ok := s.known[d.Topic]; ok && !stale && !s.follows[d.Topic].changedSince() && old.Unread == "" && old.SourceID == st.SourceID && old.TargetID == st.TargetID {
			st.MaxBytes, st.AppendTime, st.SourceCompacts, st.TargetCompacts = old.MaxBytes, old.AppendTime, old.SourceCompacts, old.TargetCompacts
		} else if st.NotYet == "" {
			news = append(news, len(out))
		}
		out = append(out, st)
	}
	if err := s.settings(ctx, out, news); err != nil {
		return nil, err
	}
	s.known = make(map[string]State, len(out))
	mirrored := make(map[string]bool, len(out))
	for _, st := range out {
		mirrored[st.Name] = true
		if st.NotYet == "" {
			s.known[st.Name] = st
		}
	}
	maps.DeleteFunc(s.unread, func(topic, _ string) bool { return !mirrored[topic] })
	maps.DeleteFunc(s.follows, func(topic string, _ *followed) bool { return !mirrored[topic] })
	s.gather()
	return out, nil
}

// tellWider says once that a remote topic has partitions which nothing is written to: made by hand, or by another mirror.
func (s *Syncer) tellWider(st State) {
	if counts := [2]int32{st.Partitions, st.Remotes}; st.Remotes > st.Partitions && st.NotYet == "" && s.wider[st.Name] != counts {
		s.wider[st.Name] = counts
		s.events.Say(events.TopicWider, "topic", st.Name, "partitions", st.Partitions, "remote", st.Remote, "remote_partitions", st.Remotes)
	}
}

// settings reads what the mirror must know about both topics.
func (s *Syncer) settings(ctx context.Context, all []State, news []int) error {
	if len(news) == 0 {
		return nil
	}
	var from, to []string
	for _, i := range news {
		from, to = append(from, all[i].Name), append(to, all[i].Remote)
	}
	sc, sFailed, err := s.source.TopicConfigs(ctx, from)
	if err != nil {
		return err
	}
	tc, tFailed, err := s.target.TopicConfigs(ctx, to)
	if err != nil {
		return err
	}
	var looked, readable []*State
	for _, i := range news {
		st := &all[i]
		looked = append(looked, st)
		if err := cmp.Or(sFailed[st.Name], tFailed[st.Remote]); err != nil {
			s.unreadable(st, err)
			continue
		}
		st.Unread = ""
		st.SourceCompacts = compacts(sc[st.Name])
		st.TargetCompacts = compacts(tc[st.Remote])
		st.AppendTime = value(tc[st.Remote], "message.timestamp.type") == "LogAppendTime"
		if n, err := strconv.ParseInt(value(tc[st.Remote], "max.message.bytes"), 10, 32); err == nil {
			st.MaxBytes = int32(n)
		}
		readable = append(readable, st)
	}
	s.tellUnread(looked)
	return s.follow(ctx, readable, sc, tc)
}

func value(c map[string]kafka.ConfigEntry, key string) string {
	if e, ok := c[key]; ok && e.Value != nil {
		return *e.Value
	}
	return ""
}

func compacts(c map[string]kafka.ConfigEntry) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(value(c, "cleanup.policy"), " ", ""), ","), "compact")
}
