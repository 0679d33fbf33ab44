package groups

import (
	"slices"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// forget is how many polls in a row a position must be absent from the source before its row is deleted.
const forget = 3

// due collects the groups that are to be looked at now, each put together from the source's commits and the rows.
func (o *Owner) due() []*work {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.past) == 0 {
		return nil
	}
	now, t := o.past[len(o.past)-1], time.Now()
	var out []*work
	for id, live := range now.Positions {
		lane := ledger.GroupLane(id, o.lanes)
		if !o.owned[lane] || len(live) == 0 {
			continue
		}
		g := o.groups[id]
		if g == nil {
			g = &group{wrote: map[kafka.TP]translate.Commit{}, missing: map[verdicts.Key]int{}}
			o.groups[id] = g
			o.dirty[id] = true
		}
		if !o.dirty[id] && t.Before(g.lookAt) {
			continue
		}
		delete(o.dirty, id)
		w := &work{id: id, g: g, live: live, stale: !now.Groups[id].StaleSince.IsZero()}
		w.plan = translate.Group{SourceLive: !w.stale}
		for tp := range live {
			w.plan.Rows = append(w.plan.Rows, o.row(id, tp))
		}
		out = append(out, w)
	}
	for id, info := range now.Groups {
		if info.Excluded != "" && o.owned[ledger.GroupLane(id, o.lanes)] {
			o.say(id, kafka.TP{Partition: verdicts.WholeGroup}, translate.Verdict{Kind: translate.GroupFiltered, Target: translate.NoPosition, Reason: info.Excluded})
		}
	}
	for id := range o.dirty {
		if !o.owned[ledger.GroupLane(id, o.lanes)] {
			delete(o.dirty, id)
		}
	}
	o.sweep(now)
	return out
}

// row gives one position of a group its verdict: the lane's, if it speaks about a commit that we saw (GR1), or our own
// where no lane will ever speak.
func (o *Owner) row(id string, tp kafka.TP) translate.Row {
	fate, known := o.env.Topic(tp.Topic)
	r := translate.Row{Partition: translate.Partition{Topic: tp.Topic, Number: tp.Partition}, Committed: translate.Unknown, LogStart: translate.Unknown}
	r.Verdict = translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: "no lane has translated this commit yet"}
	if !known {
		// Deleting a topic deletes its commits at once, so an unknown topic is one that was created since the last look
		// at the topics. A final no would let the group's first commit go without it.
		r.Verdict.Reason = "the topic was not looked at yet"
		return r
	}
	if !fate.Mirrored {
		r.Verdict = translate.Verdict{Kind: translate.TopicFiltered, Target: translate.NoPosition, Reason: fate.Why}
		o.say(id, tp, r.Verdict)
		return r
	}
	r.Partition.Topic = fate.Remote
	v, ok := o.rows[verdicts.Key{Group: id, Topic: tp.Topic, Partition: tp.Partition}]
	if !ok || v.SourceTopic != hexID(fate.SourceID) {
		return r
	}
	for _, s := range slices.Backward(o.past) {
		if c, ok := s.Positions[id][tp]; ok && c.Offset == v.Committed && c.Metadata == v.Metadata {
			r.Committed, r.Metadata, r.Verdict = offsetmap.SourceOffset(v.Committed), v.Metadata, v.Verdict
			return r
		}
	}
	return r
}

// say publishes our own row about a position that no lane owns, once.
func (o *Owner) say(id string, tp kafka.TP, v translate.Verdict) {
	key := verdicts.Key{Group: id, Topic: tp.Topic, Partition: tp.Partition}
	committed := int64(translate.Unknown)
	if c, ok := o.past[len(o.past)-1].Positions[id][tp]; ok {
		committed = c.Offset
	}
	if old, ok := o.rows[key]; ok && old.Verdict == v && old.Committed == committed {
		return
	}
	row := verdicts.Row{Version: verdicts.Version, Committed: committed, CommitAt: -1, ClaimEpoch: -1, SourceEnd: -1, Verdict: v, At: time.Now()}
	o.rows[key] = row
	o.env.Publish(ledger.GroupLane(id, o.lanes), key, &row)
}

// sweep deletes rows of positions that the source no longer holds. Nothing on the target follows (GR3).
func (o *Owner) sweep(now Snapshot) {
	for key := range o.rows {
		g := o.groups[key.Group]
		if key.Partition == verdicts.WholeGroup && now.Groups[key.Group].Excluded != "" {
			continue
		}
		if _, ok := now.Positions[key.Group][kafka.TP{Topic: key.Topic, Partition: key.Partition}]; ok {
			if g != nil {
				delete(g.missing, key)
			}
			continue
		}
		if g == nil {
			g = &group{wrote: map[kafka.TP]translate.Commit{}, missing: map[verdicts.Key]int{}}
			o.groups[key.Group] = g
		}
		if info, listed := now.Groups[key.Group]; listed && !info.StaleSince.IsZero() {
			continue
		}
		if g.missing[key]++; g.missing[key] >= forget*memory {
			delete(g.missing, key)
			delete(o.rows, key)
			o.env.Publish(ledger.GroupLane(key.Group, o.lanes), key, nil)
		}
	}
}

// checkpoints hands over every usable position of a group.
func (o *Owner) checkpoints(w *work) {
	for _, r := range w.plan.Rows {
		if r.Committed >= 0 && r.Verdict.HasPosition() {
			tp := kafka.TP{Topic: r.Partition.Topic, Partition: r.Partition.Number}
			o.env.Checkpoint(w.id, tp, int64(r.Committed), int64(r.Verdict.Target), r.Metadata)
		}
	}
}
