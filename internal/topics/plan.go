package topics

import (
	"cmp"
	"slices"
	"time"

	"tidemark/mm2"
)

// Topic is one topic as a cluster describes it.
type Topic struct {
	Name       string
	ID         [16]byte
	Partitions int32
	Err        string // why the rest is not known
}

// Decision says what becomes of a source topic, and why.
type Decision struct {
	Topic  string
	Remote string
	mm2.Choice
}

// Action is one thing to do on the target.
type Action struct {
	Topic      string // on the source
	Remote     string
	Partitions int32
	Create     bool // otherwise grow
}

// Rules decide what is mirrored and how remote topics are made.
type Rules struct {
	Selection         mm2.Selection
	ReplicationFactor int16
	ReplicationKey    string                // how the file asks for it
	ConfigExcluded    func(key string) bool // config.properties.exclude
	// FollowConfigs is the longest time until a change of a source topic's settings is made on its remote topic. 0: remote
	// topics are created with the settings and then left alone.
	FollowConfigs time.Duration
	// Owns says whether this worker changes settings and access rules of a source topic's copy; nil: of all. Two that do are
	// harmless, as only differences are written, but each would log them.
	Owns func(topic string) bool
	// Recall gives what the last worker kept about the settings of a topic's copy; held is false while this worker cannot
	// know (it does not have the topic yet). Remember keeps it, and answers false when it could not. Both are nil where
	// nothing is kept.
	Recall   func(topic string) (kept Kept, held bool)
	Remember func(topic string, kept Kept) bool
}

// Kept is what outlives a worker about the settings of a remote topic: those that are there because the source topic has
// or had them.
type Kept struct {
	SourceID, TargetID [16]byte
	Ours               map[string]string
}

// Decide judges every source topic, in order of names.
func Decide(source []Topic, r Rules) []Decision {
	out := make([]Decision, 0, len(source))
	for _, t := range source {
		d := Decision{Topic: t.Name, Choice: r.Selection.Select(t.Name)}
		if d.Mirrored {
			d.Remote = r.Selection.Policy.RemoteTopic(r.Selection.Source, t.Name)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Decision) int { return cmp.Compare(a.Topic, b.Topic) })
	return out
}

// Plan says which remote topics are to be created or to get more partitions. More partitions on the target than on the
// source are left alone.
func Plan(decisions []Decision, source, target []Topic) []Action {
	have, want := index(target), index(source)
	var out []Action
	for _, d := range decisions {
		s := want[d.Topic]
		if !d.Mirrored || s.Err != "" || s.Partitions == 0 {
			continue
		}
		t, exists := have[d.Remote]
		switch {
		case !exists:
			out = append(out, Action{Topic: d.Topic, Remote: d.Remote, Partitions: s.Partitions, Create: true})
		case t.Err == "" && t.Partitions < s.Partitions:
			out = append(out, Action{Topic: d.Topic, Remote: d.Remote, Partitions: s.Partitions})
		}
	}
	return out
}

func index(ts []Topic) map[string]Topic {
	m := make(map[string]Topic, len(ts))
	for _, t := range ts {
		m[t.Name] = t
	}
	return m
}

// Entry is one configuration value of a source topic.
type Entry struct {
	Value     *string
	OfTopic   bool // set on the topic itself, not inherited from its brokers
	ReadOnly  bool
	Sensitive bool
}

// Creation gives the settings that a remote topic is created with: those set on the source topic itself, without those
// that cannot be set or that the user excludes. Broker defaults of the source are not turned into topic settings.
func Creation(source map[string]Entry, excluded func(string) bool) map[string]*string {
	out := map[string]*string{}
	for k, e := range source {
		if e.OfTopic && !e.ReadOnly && !e.Sensitive && e.Value != nil && !excluded(k) {
			out[k] = e.Value
		}
	}
	return out
}
