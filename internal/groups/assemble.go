package groups

import (
	"maps"
	"slices"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

const (
	// hold is how long the last row that counted stands in for one about a newer commit, while that is on its way.
	// After it the group waits, which is shown.
	hold = 10 * time.Second
	// vanished is how long the flow must not know a topic before its positions are leftovers of a deleted one: brokers
	// keep those of groups whose coordinator was moving at the deletion. A look at the topics comes every few seconds.
	vanished = 2 * time.Minute
)

// work is one group in a round.
type work struct {
	id    string
	g     *group
	rows  []position
	stale bool // the source's coordinator does not answer, the positions are the last known ones
}

// position is one position of a group in a round.
type position struct {
	translate.Row
	remote bool // Row.Partition is on the target; otherwise there is none, and the source's stands in
	fresh  bool // the verdict is about the newest commit that we know
	kept   bool // the source holds the commit no more
}

// taken is the last row of a position that counted.
type taken struct {
	row verdicts.Row
	at  time.Time
}

// due collects the groups that are to be looked at now, each put together from the source's commits and the rows.
func (o *Owner) due() []*work {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.past) == 0 {
		return nil
	}
	now, t := o.past[len(o.past)-1], o.now()
	gone := o.gone(now)
	ids := slices.Collect(maps.Keys(now.Positions))
	for id := range gone {
		if _, live := now.Positions[id]; !live {
			ids = append(ids, id)
		}
	}
	var out []*work
	for _, id := range ids {
		live, info := now.Positions[id], now.Groups[id]
		if !o.owns(id) || !o.informed(id) || len(live)+len(info.Unread)+len(gone[id]) == 0 {
			continue
		}
		g := o.groups[id]
		if g == nil {
			g = newGroup(t)
			if len(live) == 0 {
				g.renewed = time.Time{} // nobody else writes it, and how old its commits are nobody tells
			}
			o.groups[id] = g
		} else if !o.dirty[id] && t.Before(g.lookAt) {
			continue
		}
		delete(o.dirty, id)
		g.soon = time.Time{}
		w := &work{id: id, g: g, stale: !info.StaleSince.IsZero()}
		for tp, c := range live {
			w.rows = append(w.rows, o.position(id, g, tp, c, t))
		}
		for _, tp := range info.Unread {
			w.rows = append(w.rows, o.unread(tp))
		}
		for _, key := range gone[id] {
			w.rows = append(w.rows, o.kept(key))
		}
		out = append(out, w)
	}
	o.explain(now, t)
	o.retract(now, t)
	return out
}

// position gives one position of a group its verdict: the lane's, if it counts (GR1), or our own where no lane will ever
// speak.
func (o *Owner) position(id string, g *group, tp partition.ID, live kafka.Committed, t time.Time) position {
	p := blank(tp, "no lane has translated this commit yet")
	key := verdicts.Key{Group: id, Topic: tp.Topic, Partition: tp.Partition}
	fate, known := o.env.Topic(tp.Topic)
	if !known {
		// Deleting a topic deletes its commits, so an unknown topic is one that was created since the last look at the
		// topics. A final no would let the group's first commit go without it.
		p.Verdict.Reason = "the topic was not looked at yet"
		since, seen := o.unknown[tp.Topic]
		if !seen {
			o.unknown[tp.Topic] = t
		} else if t.Sub(since) >= vanished {
			if row, ok := o.rows[key]; ok && row.Verdict.HasPosition() {
				return o.kept(key) // what was mirrored of it is still on the target
			}
			p.Verdict.Kind, p.Verdict.Settled, p.Verdict.Reason = translate.TopicNotMirrored, true, "the source has no such topic any more"
			o.say(id, tp, p.Verdict, live.Offset, t)
		}
		return p
	}
	delete(o.unknown, tp.Topic)
	if !fate.Mirrored {
		p.Verdict.Kind, p.Verdict.Reason = translate.TopicFiltered, fate.Why
		o.say(id, tp, p.Verdict, live.Offset, t)
		return p
	}
	p.Partition.Topic, p.remote = fate.Remote, true
	use := func(v verdicts.Row) {
		p.Committed, p.Metadata, p.Verdict = offsetmap.SourceOffset(v.Committed), v.Metadata, v.Verdict
	}
	if v, ok := o.rows[key]; ok && fate.means(v) {
		p.fresh = v.Committed == live.Offset && v.Metadata == live.Metadata
		o.back(key, v, p.fresh, t)
		if p.fresh || o.passed(id, tp, v.Committed) {
			g.took[tp] = taken{row: v, at: t}
			use(v)
			return p
		}
	}
	if last, ok := g.took[tp]; ok && fate.means(last.row) && last.row.Committed <= live.Offset && t.Sub(last.at) < hold {
		use(last.row)
	}
	return p
}

// unread is a position that the source could not tell and that is not known from before: it holds its group (GR4).
func (o *Owner) unread(tp partition.ID) position {
	p := blank(tp, "the source could not read this position")
	if fate, known := o.env.Topic(tp.Topic); known && fate.Mirrored {
		p.Partition.Topic, p.remote = fate.Remote, true
	}
	return p
}

// blank is a position without an answer.
func blank(tp partition.ID, why string) position {
	return position{Row: translate.Row{
		Partition: tp, Committed: translate.Unknown,
		Verdict: translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: why},
	}}
}

// means says whether a row speaks about the topic as it is now, on both sides. A topic that was created anew has other
// offsets under the old name; another replication policy has the old offsets under another name.
func (f Fate) means(v verdicts.Row) bool {
	var zero [16]byte
	return v.SourceTopic == hexID(f.SourceID) && v.RemoteTopic == f.Remote &&
		(f.TargetID == zero || v.TargetTopic == hexID(f.TargetID))
}

// passed says whether our view of the source passed over a commit on its way forward in the last polls. A lane in
// another process polls at other times: of a group that commits all the time we never see the very offsets it sees. A
// translation of an older commit is early at most.
func (o *Owner) passed(id string, tp partition.ID, committed int64) bool {
	to := int64(-1)
	for _, s := range slices.Backward(o.past) {
		c, ok := s.Positions[id][tp]
		switch {
		case !ok || to >= 0 && c.Offset > to:
			return false // before that it was reset
		case to < 0 && committed > c.Offset:
			return false // newer than what we know
		case committed >= c.Offset:
			return true
		}
		to = c.Offset
	}
	return false
}
