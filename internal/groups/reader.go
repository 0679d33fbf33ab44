package groups

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/verdicts"
	"tidemark/mm2"
)

// Info is what the source says about a group.
type Info struct {
	Type, State, Protocol string
	Excluded              string    // the rule that excludes it; empty when its positions are carried
	StaleSince            time.Time // zero, or when its coordinator last answered
}

// Snapshot is the source's groups at one time. It is not changed after it was made.
type Snapshot struct {
	At        time.Time
	Groups    map[string]Info
	Positions map[string]map[kafka.TP]kafka.Committed
}

// ByPartition turns positions round, for lanes: excluded groups are left out.
func (s Snapshot) ByPartition() map[kafka.TP][]verdicts.Commit {
	out := map[kafka.TP][]verdicts.Commit{}
	for g, ps := range s.Positions {
		if s.Groups[g].Excluded != "" {
			continue
		}
		for tp, c := range ps {
			out[tp] = append(out[tp], verdicts.Commit{Group: g, Offset: c.Offset, Metadata: c.Metadata})
		}
	}
	return out
}

// Reader polls the source.
type Reader struct {
	source *kafka.Client
	filter *mm2.Filter
	log    *slog.Logger
	last   Snapshot
	lastOK map[string]time.Time
	said   string
}

// NewReader makes a Reader of the groups that filter accepts; the others are listed with the rule that excludes them.
func NewReader(source *kafka.Client, filter *mm2.Filter, log *slog.Logger) *Reader {
	return &Reader{source: source, filter: filter, log: log, lastOK: map[string]time.Time{}}
}

// Poll reads all groups and their positions. Groups whose coordinator does not answer keep their last positions and are
// marked stale; the error says that nothing could be read at all.
func (r *Reader) Poll(ctx context.Context) (Snapshot, error) {
	listed, err := r.source.Groups(ctx)
	var partial *kafka.ErrBrokers
	if err != nil && !errors.As(err, &partial) {
		return Snapshot{}, err
	}
	s := Snapshot{At: time.Now(), Groups: map[string]Info{}, Positions: map[string]map[kafka.TP]kafka.Committed{}}
	var ask []string
	for _, g := range listed {
		in := Info{Type: g.Type, State: g.State, Protocol: g.ProtocolType}
		in.Excluded = r.excluded(g)
		s.Groups[g.ID] = in
		if in.Excluded == "" {
			ask = append(ask, g.ID)
		}
	}
	got, failed, err := r.source.FetchPositions(ctx, ask, false)
	if err != nil {
		return Snapshot{}, err
	}
	for _, g := range ask {
		s.Positions[g] = got[g]
		if failed[g] == nil {
			r.lastOK[g] = s.At
			continue
		}
		r.keep(&s, g)
	}
	// A coordinator that did not answer hides its groups from the list; they are still there.
	for g := range r.last.Groups {
		if _, ok := s.Groups[g]; !ok && partial != nil {
			s.Groups[g] = r.last.Groups[g]
			r.keep(&s, g)
		}
	}
	r.tell(failed, partial)
	r.last = s
	return s, nil
}

// keep carries a group's last known positions over and marks them stale.
func (r *Reader) keep(s *Snapshot, g string) {
	in := s.Groups[g]
	in.StaleSince = r.lastOK[g]
	s.Groups[g] = in
	if old := r.last.Positions[g]; old != nil && s.Positions[g] == nil {
		s.Positions[g] = old
	}
}

// excluded says why a group's positions are not carried.
func (r *Reader) excluded(g kafka.Group) string {
	switch {
	case g.Type == "share":
		return "share groups have no positions to carry"
	case g.ProtocolType != "" && g.ProtocolType != "consumer":
		return "protocol type " + g.ProtocolType + " keeps no consumer positions"
	}
	if ok, rule := r.filter.Match(g.ID); !ok {
		return rule
	}
	return ""
}

// tell logs trouble when it appears, changes or ends.
func (r *Reader) tell(failed map[string]error, partial *kafka.ErrBrokers) {
	said := ""
	for _, err := range failed {
		said = err.Error()
	}
	if partial != nil {
		said = partial.Error()
	}
	switch {
	case said != "" && r.said == "":
		r.log.Warn("positions of some groups could not be read, their last known ones stay", "groups", len(failed), "error", said)
	case said == "" && r.said != "":
		r.log.Info("positions of all groups are read again")
	}
	r.said = said
}

// Run polls every interval until ctx ends. While the source cannot be read at all it waits longer and longer, up to ten
// intervals.
func (r *Reader) Run(ctx context.Context, interval time.Duration, take func(Snapshot)) error {
	pause, failing := interval, false
	for {
		s, err := r.Poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if !failing {
				r.log.Warn("positions cannot be read from the source", "error", err)
			}
			failing, pause = true, min(2*pause, 10*interval)
		default:
			if failing {
				r.log.Info("positions are read from the source again")
			}
			failing, pause = false, interval
			take(s)
		}
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
