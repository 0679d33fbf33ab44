package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/config"
	"tidemark/internal/events"
	"tidemark/internal/groups"
	"tidemark/internal/mirror"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/topics"
	"tidemark/mm2"
)

// lookEvery bounds how long a new topic or partition goes unnoticed. The file's refresh interval is an upper limit; an
// unchanged look is two metadata requests.
const lookEvery = 5 * time.Second

// policy is the flow's replication policy.
func (f *flow) policy() mm2.Policy { return f.selects.Policy }

func (f *flow) rules() (topics.Rules, error) {
	keys, err := mm2.NewKeyedFilter("config.properties", nil, f.cfg.ConfigPropertiesExclude)
	if err != nil {
		return topics.Rules{}, err
	}
	r := topics.Rules{
		Selection:         f.selects,
		ReplicationFactor: f.cfg.ReplicationFactor,
		ReplicationKey:    f.key("ReplicationFactor"),
		ConfigExcluded:    func(k string) bool { _, out := keys.Excluded(k); return out },
	}
	f.followConfigs(&r)
	return r, nil
}

// discover does the first look, so that what the flow mirrors, and what not and why, is said at start.
func (f *flow) discover(ctx context.Context) error {
	rules, err := f.rules()
	if err != nil {
		return err
	}
	f.topics = topics.New(f.source, f.target, rules, f.events)
	r, err := f.topics.Round(ctx)
	if err != nil {
		return err
	}
	f.announce(r)
	for _, pattern := range unmatched(rules, r.Decisions) {
		f.events.Say(events.PatternIdle, "pattern", pattern)
	}
	f.apply(r)
	return nil
}

// unmatched are the patterns of topics that select none now. Brokers leave topics that we may not see out of the list
// without a word, so this is the only trace of them.
func unmatched(rules topics.Rules, ds []topics.Decision) []string {
	names := make([]string, len(ds))
	for i, d := range ds {
		names[i] = d.Topic
	}
	return rules.Selection.Topics.Unused(names)
}

// rediscover follows new topics and partitions, and settings, until ctx ends.
func (f *flow) rediscover(ctx context.Context) error {
	if !f.cfg.RefreshTopics {
		return f.followSettings(ctx)
	}
	failing := false
	for pause.For(ctx, min(lookEvery, f.cfg.RefreshTopicsInterval)) {
		r, err := f.topics.Round(ctx)
		if err != nil {
			if !failing && ctx.Err() == nil {
				f.events.Say(events.TopicsAway, "error", err)
			}
			failing = true
			continue
		}
		failing = false
		f.apply(r)
	}
	return nil
}

// apply hands a look's result to the lanes and to the owner of groups.
func (f *flow) apply(r topics.Result) {
	ps := map[partition.ID]mirror.Partition{}
	fates := map[string]groups.Fate{}
	for _, d := range r.Decisions {
		fates[d.Topic] = groups.Fate{Mirrored: d.Mirrored, Why: d.Detail, Remote: d.Remote}
	}
	for _, t := range r.Topics {
		fates[t.Name] = groups.Fate{Mirrored: true, Remote: t.Remote, SourceID: t.SourceID, TargetID: t.TargetID}
		for i := range t.Partitions {
			tp := partition.ID{Topic: t.Name, Partition: i}
			notYet := t.NotYet
			if notYet == "" && i >= t.Remotes {
				notYet = t.TooFew
			}
			ps[tp] = mirror.Partition{
				TP: tp, Remote: t.Remote, SourceTopicID: t.SourceID, TargetTopicID: t.TargetID, MaxBytes: t.MaxBytes,
				AppendTime: t.AppendTime, SourceCompacts: t.SourceCompacts, TargetCompacts: t.TargetCompacts, NotYet: notYet,
			}
		}
	}
	if f.cfg.Start == config.StartLatest {
		existing := map[partition.ID][16]byte{}
		for _, t := range r.Source {
			for i := range t.Partitions {
				existing[partition.ID{Topic: t.Name, Partition: i}] = t.ID
			}
		}
		f.mirror.SetExisting(existing)
	}
	f.positions.setFates(fates)
	f.mirror.SetPartitions(ps)
}

// announce says what the flow mirrors and what it does not, and why, in a few lines whatever the number of topics.
func (f *flow) announce(r topics.Result) {
	const most = 20
	by := map[string][]string{}
	var mirrored []string
	for _, d := range r.Decisions {
		if d.Mirrored {
			mirrored = append(mirrored, d.Topic)
		} else {
			by[d.Detail] = append(by[d.Detail], d.Topic)
		}
	}
	short := func(names []string) string {
		if len(names) > most {
			return strings.Join(names[:most], " ") + fmt.Sprintf(" and %d more", len(names)-most)
		}
		return strings.Join(names, " ")
	}
	f.log.Info("mirrors", "topics", len(mirrored), "names", short(mirrored), "source_cluster", f.sourceID, "target_cluster", f.targetID)
	whys := make([]string, 0, len(by))
	for why := range by {
		whys = append(whys, why)
	}
	slices.Sort(whys)
	for _, why := range whys {
		f.log.Info("does not mirror", "topics", len(by[why]), "names", short(by[why]), "why", why)
	}
	f.announceConfigs()
	if f.cfg.SyncGroupOffsets {
		f.log.Info("group positions are written to the target, of groups that are not active there", "every", f.cfg.PositionsInterval.String())
	} else {
		f.log.Info("group positions are not written to the target: group sync is off in the file")
	}
}

// heartbeats writes MirrorMaker 2's heartbeats for this flow to the target.
func (f *flow) heartbeats(ctx context.Context) error {
	if !f.cfg.EmitHeartbeats {
		return nil
	}
	failing := false
	for pause.For(ctx, f.cfg.HeartbeatsInterval) {
		now := time.Now()
		h := mm2.Heartbeat{Source: f.cfg.SourceAlias, Target: f.cfg.TargetAlias, Timestamp: now.UnixMilli()}
		key, err := h.AppendKey(nil)
		if err != nil {
			return err
		}
		value, err := h.AppendValue(nil)
		if err != nil {
			return err
		}
		// A beat that cannot be written is not written later: its absence is what heartbeats are for.
		wctx, cancel := context.WithTimeout(ctx, 2*f.cfg.HeartbeatsInterval)
		// Not ProduceSync: that waits for a broker that hangs whatever its context says, and would hold up the end.
		done := make(chan error, 1)
		f.emit.Kgo().Produce(wctx, &kgo.Record{Topic: heartbeatsTopic, Partition: 0, Key: key, Value: value, Timestamp: now}, func(_ *kgo.Record, err error) { done <- err })
		select {
		case err = <-done:
		case <-wctx.Done():
			err = context.Cause(wctx)
		}
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			f.events.Say(events.HeartbeatsFail, "cluster", f.cfg.Target, "error", f.emit.Denied(heartbeatsTopic, "WRITE", err))
		}
		failing = err != nil
	}
	return nil
}

// heartbeatsTopic is the same under every policy and separator.
const heartbeatsTopic = "heartbeats"
