package topics

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
)

// followed is what a Syncer knows about the settings of one remote topic. Every worker sees it for itself: what both
// sides hold alike is ours. The topic's owner also keeps it (Rules.Remember), so that a setting that is removed on the
// source while no worker runs is taken away by the next one.
type followed struct {
	source, target [16]byte // a topic that was created anew begins anew
	ours           map[string]string
	recalled       bool              // what was kept about the topic is in ours
	kept           map[string]string // as kept now
	told           string            // the change that was logged last, until there is none to make
	refused        string            // why the last change could not be made
	again          bool              // changed just now: what was read about it is old
}

// changedSince says whether a remote topic was changed since its settings were read.
func (f *followed) changedSince() bool { return f != nil && f.again }

// SettingsEvery is how often settings are read: a limit that an operator raised, a clean-up policy, and what there is to
// follow are noticed by then.
func (r Rules) SettingsEvery() time.Duration {
	if r.FollowConfigs > 0 {
		return min(readAgain, r.FollowConfigs)
	}
	return readAgain
}

// FollowSettings reads the settings of the topics of the last round and follows them, without looking for new topics.
func (s *Syncer) FollowSettings(ctx context.Context) error {
	states := slices.Collect(maps.Values(s.known))
	all := make([]int, len(states))
	for i := range states {
		all[i] = i
	}
	err := s.settings(ctx, states, all)
	for _, st := range states {
		s.known[st.Name] = st
	}
	s.gather()
	return err
}

// follow makes the settings of remote topics those of their source topics, where they differ. A topic that cannot be
// changed stops nobody: it is tried again with the next look and says why once. An error is that rights could not be asked for.
func (s *Syncer) follow(ctx context.Context, states []*State, source, target map[string]map[string]kafka.ConfigEntry) error {
	if s.rules.FollowConfigs <= 0 {
		return nil
	}
	wanted := map[string]map[string]*string{} // by remote topic
	idle := map[string]bool{}                 // remote topics with nothing to change
	for _, st := range states {
		f := s.follows[st.Name]
		if f == nil || f.source != st.SourceID || f.target != st.TargetID {
			f = &followed{source: st.SourceID, target: st.TargetID}
			s.follows[st.Name] = f
		}
		s.recall(st, f)
		var changes map[string]*string
		changes, f.ours = Follow(entries(source[st.Name]), entries(target[st.Remote]), f.ours, s.rules.ConfigExcluded)
		f.again = false
		switch {
		case !s.owns(st.Name): // another worker's; it also says what is wrong
			f.told, f.refused = "", ""
		case len(changes) == 0:
			f.told = ""
			idle[st.Remote] = true
		default:
			wanted[st.Remote] = changes
		}
	}
	defer s.remember(states)
	made, refused := s.change(ctx, wanted)
	denied, err := s.target.CannotAlterConfigs(ctx, slices.Sorted(maps.Keys(idle))) // known before the day when a change is due
	maps.Copy(refused, denied)
	var news []*State
	for _, st := range states {
		f, done, why := s.follows[st.Name], made[st.Remote], refused[st.Remote]
		if len(done) > 0 {
			s.changed(st, f, done)
		}
		if why == nil && (len(done) > 0 || idle[st.Remote] && err == nil) {
			s.heals(st, f)
		}
		if why != nil && f.refused != why.Error() {
			f.refused = why.Error()
			news = append(news, st)
		}
	}
	if ctx.Err() == nil {
		s.complain(news, refused)
	}
	return err
}

// recall adds what the last owner of the topic kept to what this worker saw.
func (s *Syncer) recall(st *State, f *followed) {
	if s.rules.Recall == nil || s.rules.Owns != nil && !s.rules.Owns(st.Name) {
		f.recalled = false // another worker may change it from now on
		return
	}
	if f.recalled {
		return
	}
	kept, held := s.rules.Recall(st.Name)
	if !held {
		return
	}
	f.recalled, f.kept = true, nil
	if kept.SourceID != f.source || kept.TargetID != f.target {
		return
	}
	f.kept = kept.Ours
	ours := maps.Clone(kept.Ours)
	maps.Copy(ours, f.ours) // what was seen since is newer
	f.ours = ours
}

// remember keeps what changed.
func (s *Syncer) remember(states []*State) {
	if s.rules.Remember == nil {
		return
	}
	for _, st := range states {
		f := s.follows[st.Name]
		if f.recalled && !maps.Equal(f.ours, f.kept) && s.rules.Remember(st.Name, Kept{SourceID: f.source, TargetID: f.target, Ours: maps.Clone(f.ours)}) {
			f.kept = maps.Clone(f.ours)
		}
	}
}

// changed notes a change that was made. The same change again is made but not told: some cluster writes a value in its
// own way, or an operator and we take turns.
func (s *Syncer) changed(st *State, f *followed, done map[string]*string) {
	f.ours = Applied(f.ours, done)
	if v := done["cleanup.policy"]; v != nil && strings.Contains(*v, "compact") {
		st.TargetCompacts = true // from now on, whatever was read before
	}
	set, removed := described(done)
	told := set + " - " + removed
	if f.told == told {
		return
	}
	f.told, f.again = told, true
	s.events.Say(events.SettingsFollow, "topic", st.Name, "remote", st.Remote, "set", set, "removed", removed)
}

func (s *Syncer) heals(st *State, f *followed) {
	if f.refused != "" {
		f.refused = ""
		s.events.Say(events.SettingsBack, "topic", st.Name, "remote", st.Remote)
	}
}

// change makes changes by remote topic, and gives those made and the reasons for those not made. Brokers take all of a
// topic's changes or none, so where one value is refused the others are tried one by one: a setting that the target does
// not know must not keep retention from following.
func (s *Syncer) change(ctx context.Context, wanted map[string]map[string]*string) (made map[string]map[string]*string, refused map[string]error) {
	made = map[string]map[string]*string{}
	if len(wanted) == 0 {
		return made, map[string]error{}
	}
	refused, err := s.target.AlterConfigs(ctx, wanted)
	for remote, changes := range wanted {
		why := refused[remote]
		_, denied := errors.AsType[*kafka.ErrDenied](why)
		switch {
		case err != nil:
			refused[remote] = errors.Join(why, err) // made or not, the next look tells
		case why == nil:
			made[remote] = changes
		case !denied && len(changes) > 1:
			if made[remote], why = s.changeEach(ctx, remote, changes); why == nil {
				delete(refused, remote)
			} else {
				refused[remote] = why
			}
		}
	}
	return made, refused
}

func (s *Syncer) changeEach(ctx context.Context, remote string, changes map[string]*string) (made map[string]*string, why error) {
	made = map[string]*string{}
	var whys []error
	for _, k := range slices.Sorted(maps.Keys(changes)) {
		refused, err := s.target.AlterConfigs(ctx, map[string]map[string]*string{remote: {k: changes[k]}})
		if err = errors.Join(refused[remote], err); err != nil {
			whys = append(whys, err)
			continue
		}
		made[k] = changes[k]
	}
	return made, errors.Join(whys...)
}

// complain says why settings are not followed. Topics on which a right is missing share a line.
func (s *Syncer) complain(news []*State, refused map[string]error) {
	const most = 20
	var denied []string
	var first error
	for _, st := range news {
		why := refused[st.Remote]
		if _, is := errors.AsType[*kafka.ErrDenied](why); !is {
			s.events.Say(events.SettingsStuck, "topic", st.Name, "remote", st.Remote, "error", why)
			continue
		}
		if first == nil {
			first = why
		}
		denied = append(denied, st.Remote)
	}
	if len(denied) > 0 {
		s.events.Say(events.SettingsDenied, "error", first, "topics", len(denied), "names", strings.Join(denied[:min(most, len(denied))], " "))
	}
}
