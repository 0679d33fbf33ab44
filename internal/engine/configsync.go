package engine

import (
	"context"
	"time"

	"tidemark/internal/events"
	"tidemark/internal/ledger"
	"tidemark/internal/pause"
	"tidemark/internal/topics"
)

// followConfigs completes the rules with how settings of topics follow the source.
//
// A topic's settings are the business of the worker that owns the lane of its first partition, so that one worker writes
// and tells them. Each worker reads them all the same: lanes move, and the next owner must know what the source had.
func (f *flow) followConfigs(r *topics.Rules) {
	r.Owns = func(topic string) bool { return f.members.holds(ledger.LaneOf(topic, 0, int32(f.cfg.Lanes))) }
	if f.cfg.SyncTopicConfigs {
		r.FollowConfigs = f.cfg.SyncTopicConfigsInterval
	}
	r.Recall = func(topic string) (topics.Kept, bool) {
		c, held := f.mirror.Configs(topic)
		return topics.Kept{SourceID: c.SourceID, TargetID: c.TargetID, Ours: c.Values}, held
	}
	r.Remember = func(topic string, k topics.Kept) bool {
		return f.mirror.RememberConfigs(topic, ledger.Configs{SourceID: k.SourceID, TargetID: k.TargetID, Values: k.Ours})
	}
}

// settingsEvery is how often settings of topics are looked at to be followed; 0: they are not.
func (f *flow) settingsEvery() time.Duration {
	if !f.cfg.SyncTopicConfigs {
		return 0
	}
	return topics.Rules{FollowConfigs: f.cfg.SyncTopicConfigsInterval}.SettingsEvery()
}

// holds says whether a lane is assigned to this process now.
func (m *members) holds(n int32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lanes[n] != nil
}

// idle says that no lane is assigned to this process.
func (m *members) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.lanes) == 0
}

// announceConfigs says what becomes of the settings of topics.
func (f *flow) announceConfigs() {
	if every := f.settingsEvery(); every > 0 {
		f.log.Info("topic settings follow the source", "looked_at_every", every.String())
		return
	}
	f.log.Info("topic settings are copied when a remote topic is created, later changes are not: sync_topic_configs is off in the file")
}

// followSettings follows the settings of the topics that are mirrored since the start, where the file says that new ones
// are not looked for.
func (f *flow) followSettings(ctx context.Context) error {
	every := f.settingsEvery()
	if every == 0 {
		return nil
	}
	failing := false
	for pause.For(ctx, max(every, time.Second)) {
		err := f.topics.FollowSettings(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			f.events.Say(events.SettingsAway, "error", err)
		}
		failing = err != nil
	}
	return nil
}

// followACLs copies access rules about mirrored topics until ctx ends. What keeps it from that is said and stops nothing:
// records and positions need no rule of the source's on the target.
func (f *flow) followACLs(ctx context.Context) error {
	if !f.cfg.SyncTopicACLs {
		return nil
	}
	rules, err := f.rules()
	if err != nil {
		return err
	}
	s := topics.NewACLs(f.source, f.target, rules, f.events)
	// A worker copies the rules of topics whose lanes it has (rules.Owns), so the first round waits for lanes.
	for wait := time.Second; pause.For(ctx, wait); {
		if f.members.idle() {
			continue
		}
		s.Round(ctx)
		wait = min(f.cfg.SyncTopicACLsInterval, time.Minute)
	}
	return nil
}
