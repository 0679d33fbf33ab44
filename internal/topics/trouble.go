package topics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/events"
	"tidemark/internal/notes"
)

// named is how many topics stand in one line.
const named = 20

// troubles are what a Syncer may not do, or cannot, for longer than one look. Each is said once in the log when it appears,
// and once when it is over.
type troubles struct {
	since map[string]time.Time // by what
	now   []notes.Trouble
}

// Troubles is what keeps the Syncer from its work now: settings that cannot be read or do not follow. It may be called while a
// round goes on.
func (s *Syncer) Troubles() []notes.Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.troubles.now)
}

// gather makes the troubles of a look from what is known of the topics.
func (s *Syncer) gather() {
	unread, refused := map[string]string{}, map[string]string{}
	for topic, st := range s.known {
		if st.Unread != "" && s.owns(topic) {
			unread[topic] = st.Unread
		}
		if f := s.follows[topic]; f != nil && f.refused != "" {
			refused[st.Remote] = f.refused
		}
	}
	without := map[string]string{} // where settings follow, that they do not is known of the topic
	for _, st := range s.known {
		if why := s.without[st.Remote]; why != "" && s.rules.FollowConfigs <= 0 {
			without[st.Remote] = why
		}
	}
	var now []notes.Trouble
	for _, kind := range []struct {
		what string
		of   map[string]string
	}{
		{"settings of topics cannot be read", unread},
		{"settings of remote topics do not follow the source", refused},
		{"remote topics were created without settings that the target refuses", without},
	} {
		for why, names := range alike(kind.of) {
			now = append(now, notes.Trouble{What: kind.what + ": " + short(names), Why: why})
		}
	}
	slices.SortFunc(now, func(a, b notes.Trouble) int { return strings.Compare(a.What, b.What) })
	s.mu.Lock()
	defer s.mu.Unlock()
	since := map[string]time.Time{}
	for i := range now {
		t := &now[i]
		if since[t.What] = s.troubles.since[t.What]; since[t.What].IsZero() {
			since[t.What] = time.Now().UTC()
		}
		t.Since = since[t.What]
	}
	s.troubles.since, s.troubles.now = since, now
}

func (s *Syncer) owns(topic string) bool { return s.rules.Owns == nil || s.rules.Owns(topic) }

// alike puts topics together that have one reason; what the reason says about the topic itself does not count.
func alike(of map[string]string) map[string][]string {
	first := map[string]string{} // by the reason without names
	out := map[string][]string{}
	for _, name := range sortedKeys(of) {
		bare := strings.ReplaceAll(of[name], name, "")
		if _, ok := first[bare]; !ok {
			first[bare] = of[name]
		}
		out[first[bare]] = append(out[first[bare]], name)
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func short(names []string) string {
	if len(names) > named {
		return strings.Join(names[:named], " ") + fmt.Sprintf(" and %d more", len(names)-named)
	}
	return strings.Join(names, " ")
}

// unreadable notes that settings of a topic cannot be read. The topic is mirrored all the same: with what was known before, or
// else as if a log cleaner ran on both sides, which takes more care when a place to go on from is looked for, and more room
// for doubt about positions, but loses nothing. Stopping it was rejected: a right that is taken away would stop the data with
// the next restart, long after anybody thinks of it.
func (s *Syncer) unreadable(st *State, why error) {
	st.Unread = why.Error()
	old, known := s.known[st.Name]
	if known && old.SourceID == st.SourceID && old.TargetID == st.TargetID {
		st.MaxBytes, st.AppendTime, st.SourceCompacts, st.TargetCompacts = old.MaxBytes, old.AppendTime, old.SourceCompacts, old.TargetCompacts
		return
	}
	st.SourceCompacts, st.TargetCompacts = true, true
}

// tellUnread says which settings cannot be read any more, and which can again. A topic's settings are told by its owner.
func (s *Syncer) tellUnread(looked []*State) {
	fails, heals := map[string]string{}, []string{}
	for _, st := range looked {
		switch {
		case st.Unread != "" && s.unread[st.Name] == "" && s.owns(st.Name):
			fails[st.Name], s.unread[st.Name] = st.Unread, st.Unread
		case st.Unread == "" && s.unread[st.Name] != "":
			heals = append(heals, st.Name)
			delete(s.unread, st.Name)
		}
	}
	for why, names := range alike(fails) {
		s.events.Say(events.SettingsUnread, "error", why, "topics", len(names), "names", short(names))
	}
	if len(heals) > 0 {
		slices.Sort(heals)
		s.events.Say(events.SettingsRead, "topics", len(heals), "names", short(heals))
	}
}
