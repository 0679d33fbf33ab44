package groups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/internal/consumer"
	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/notes"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/verdicts"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// Info is what the source says about a group.
type Info struct {
	Type, State, Protocol string
	Excluded              string         // the rule that excludes it; empty when its positions are carried
	Denied                string         // the access right that is missing to read its positions
	StaleSince            time.Time      // zero, or since when its positions, or some of them, could not be read
	Unread                []partition.ID // positions that could not be read and are not known from before
}

// Snapshot is the source's groups at one time. It is not changed after it was made.
type Snapshot struct {
	At         time.Time
	Groups     map[string]Info
	Positions  map[string]map[partition.ID]kafka.Committed
	Incomplete bool // some brokers did not list their groups: one that is not here may exist
	names      *mm2.Filter
}

// leavesOut says whether the file leaves a group out, also one that the source does not have any more.
func (s Snapshot) leavesOut(group string) bool {
	return s.Groups[group].Excluded != "" || s.names != nil && consumer.Excluded(consumer.Group{ID: group}, s.names) != ""
}

// answers says whether the absence of a group or position from the snapshot means that the source has none.
func (s Snapshot) answers(group string) bool {
	if in, listed := s.Groups[group]; listed {
		return in.StaleSince.IsZero()
	}
	return !s.Incomplete
}

// ByPartition turns positions round, for lanes: excluded groups are left out.
func (s Snapshot) ByPartition() map[partition.ID][]verdicts.Commit {
	out := map[partition.ID][]verdicts.Commit{}
	for g, ps := range s.Positions {
		if s.Groups[g].Excluded != "" {
			continue
		}
		for tp, c := range ps {
			out[tp] = append(out[tp], verdicts.Commit{Group: g, Offset: offsetmap.SourceOffset(c.Offset), Metadata: c.Metadata})
		}
	}
	return out
}

// Reader polls the source.
type Reader struct {
	source *kafka.Client
	names  *mm2.Filter
	events *events.Bus
	last   Snapshot
	stale  map[string]time.Time // groups that do not answer, since when
	denied map[string]bool      // groups on which a right is missing

	mu       sync.Mutex // guards what Trouble tells; Run alone writes
	said     string
	since    time.Time
	failing  int    // groups
	away     string // why the source does not answer at all; empty while it does
	answered time.Time
	moved    map[string]bool // groups that live on the target
}

// NewReader makes a Reader of the groups whose names are accepted; the others are listed with the rule that excludes them.
func NewReader(source *kafka.Client, names *mm2.Filter, bus *events.Bus) *Reader {
	return &Reader{source: source, names: names, events: bus, stale: map[string]time.Time{}}
}

// pollLimit bounds a poll, so that a broker that does not answer does not stop the groups of the others. franz-go would
// go on asking for its own retry time, half a minute.
const pollLimit = 3 * time.Second

// Poll reads all groups and their positions. Groups whose coordinator does not answer keep their last positions and are
// marked stale; the error says that nothing could be read at all.
func (r *Reader) Poll(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	listed, err := r.source.Groups(ctx)
	partial, incomplete := errors.AsType[*kafka.ErrBrokers](err)
	if err != nil && !incomplete {
		return Snapshot{}, err
	}
	s := Snapshot{At: time.Now(), Groups: map[string]Info{}, Positions: map[string]map[partition.ID]kafka.Committed{}, Incomplete: incomplete, names: r.names}
	var ask []string
	for _, g := range listed {
		in := Info{Type: g.Type, State: g.State, Protocol: g.ProtocolType, Excluded: consumer.Excluded(g.Listed(), r.names)}
		s.Groups[g.ID] = in
		if in.Excluded == "" {
			ask = append(ask, g.ID)
		}
	}
	vanished := r.vanished(s)
	got, failed, err := r.source.FetchPositions(ctx, append(ask, vanished...), false)
	if err != nil {
		return Snapshot{}, err
	}
	for _, g := range vanished {
		if failed[g] != nil { // otherwise it is gone
			s.Groups[g] = r.last.Groups[g]
			ask = append(ask, g)
		}
	}
	for _, g := range ask {
		if failed[g] == nil {
			s.Positions[g] = got[g]
			continue
		}
		r.keep(&s, g, got[g], failed[g])
	}
	if incomplete {
		// A coordinator that did not answer hides its groups from the list; they are still there.
		for g, in := range r.last.Groups {
			if _, ok := s.Groups[g]; !ok {
				s.Groups[g] = in
				r.keep(&s, g, nil, partial)
			}
		}
	}
	for g := range r.stale {
		if in, ok := s.Groups[g]; !ok || in.StaleSince.IsZero() {
			delete(r.stale, g)
		}
	}
	r.tell(failed, partial)
	r.last = s
	return s, nil
}

// vanished are the groups that were there at the last poll and are not in a list that is whole. Brokers leave groups that we
// may not see out of it without a word, so these are asked for by name: a right that was taken away must not look like a
// group that was deleted.
func (r *Reader) vanished(s Snapshot) (out []string) {
	if s.Incomplete {
		return nil
	}
	for _, g := range slices.Sorted(maps.Keys(r.last.Groups)) {
		if _, listed := s.Groups[g]; !listed && r.last.Groups[g].Excluded == "" {
			out = append(out, g)
		}
	}
	return out
}

// keep marks a group stale and carries over what is known of the positions that could not be read. A position that is
// not known must not look like one that does not exist: its group would be written without it.
func (r *Reader) keep(s *Snapshot, g string, got map[partition.ID]kafka.Committed, failed error) {
	in := s.Groups[g]
	if r.stale[g].IsZero() {
		r.stale[g] = s.At
	}
	in.StaleSince, in.Unread, in.Denied = r.stale[g], nil, ""
	if denied, ok := errors.AsType[*kafka.ErrDenied](failed); ok {
		in.Denied = denied.Error()
	}
	old := r.last.Positions[g]
	if some, ok := errors.AsType[*kafka.ErrPartitions](failed); ok {
		now := map[partition.ID]kafka.Committed{}
		maps.Copy(now, got)
		for tp := range some.Partitions {
			if c, known := old[tp]; known {
				now[tp] = c
			} else {
				in.Unread = append(in.Unread, tp)
			}
		}
		old = now
	} else {
		in.Unread = r.last.Groups[g].Unread
	}
	if old != nil {
		s.Positions[g] = old
	}
	s.Groups[g] = in
}

// tell logs trouble when it appears, changes or ends, and a right that is missing for each group that it is missing on.
func (r *Reader) tell(failed map[string]error, partial *kafka.ErrBrokers) {
	failed = r.missed(failed)
	said, denied, fresh := "", map[string]bool{}, 0
	for g, err := range failed {
		said = err.Error()
		if _, is := errors.AsType[*kafka.ErrDenied](err); is {
			if denied[g] = true; !r.denied[g] {
				fresh++
			}
		}
	}
	if partial != nil {
		said = partial.Error()
	}
	for _, g := range slices.Sorted(maps.Keys(denied)) {
		if !r.denied[g] || fresh == 0 {
			said = failed[g].Error() // one that is news, if there is one
			break
		}
	}
	switch {
	case said != "" && (r.said == "" || fresh > 0):
		r.events.Say(events.PositionsMissing, "groups", len(failed), "error", said)
	case said == "" && r.said != "":
		r.events.Say(events.PositionsWhole)
	}
	r.denied = denied
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == "" {
		r.since = time.Now().UTC()
	}
	r.said, r.failing = said, len(failed)
}

// heard notes whether the source answered a poll.
func (r *Reader) heard(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.away, r.answered = "", time.Now().UTC()
		return
	}
	r.away = err.Error()
}

// Trouble is that positions cannot be read, and since when; ok is false while all can. It may be called while Run goes on. Where the
// source does not answer at all, that is since its last answer: what it got after that nobody knows.
func (r *Reader) Trouble() (t notes.Trouble, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away != "" && !r.answered.IsZero() {
		return notes.Trouble{Since: r.answered, What: notes.SourceSilent, Why: r.away}, true
	}
	return notes.Trouble{Since: r.since, What: fmt.Sprintf("positions of groups cannot be read from the source, of %d", r.failing), Why: r.said}, r.said != ""
}

// Run polls every interval until ctx ends, also while the source does not answer: a poll takes its time then, and
// positions shall move again at once when it is back.
func (r *Reader) Run(ctx context.Context, interval time.Duration, take func(Snapshot)) error {
	failing := false
	for {
		s, err := r.Poll(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end was asked for; what the poll says then is no news
		}
		r.heard(err)
		switch {
		case err != nil:
			if !failing {
				r.events.Say(events.PositionsAway, "error", err)
			}
			failing = true
		default:
			if failing {
				r.events.Say(events.PositionsBack)
			}
			failing = false
			take(s)
		}
		if !pause.For(ctx, interval) {
			return nil
		}
	}
}
