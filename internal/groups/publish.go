package groups

import (
	"time"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

const (
	// reading is how long after a takeover the log's own rows are expected, before we publish ours.
	reading = 2 * time.Second
	// republish is how long a row of ours may take to come back through the log. The lane that writes it may not be
	// there yet.
	republish = 5 * time.Second
	// settle is how young a lane's row must be to win over our own view of a topic: the process that made it can have
	// looked at the topics later than we. A lane does not repeat itself, so overwriting its row would leave the position
	// without an answer.
	settle = 30 * time.Second
)

// publication is a row on its way to the log.
type publication struct {
	key verdicts.Key
	row *verdicts.Row
}

// say publishes our own row about a position that no lane answers for, unless the log has it.
func (o *Owner) say(id string, tp partition.ID, v translate.Verdict, committed int64, t time.Time) {
	key := verdicts.Key{Group: id, Topic: tp.Topic, Partition: tp.Partition}
	old, ok := o.rows[key]
	if ok && old.Verdict == v && old.Committed == committed {
		return
	}
	if ok && old.ClaimEpoch >= 0 && t.Sub(old.At) < settle || t.Sub(o.owned[o.lane(id)]) < reading {
		o.groups[id].again(t.Add(reading))
		return
	}
	o.groups[id].again(t.Add(republish))
	o.tell(key, &verdicts.Row{
		Version: verdicts.Version, Committed: committed, CommitAt: -1, ClaimEpoch: -1, SourceEnd: -1, Verdict: v, At: t,
	}, t)
}

// again makes a group due no later than t, whatever comes of this round.
func (g *group) again(t time.Time) {
	if g != nil && (g.soon.IsZero() || t.Before(g.soon)) {
		g.soon = t
	}
}

// tell puts a row into the outbox, unless the same key is on its way.
func (o *Owner) tell(key verdicts.Key, row *verdicts.Row, t time.Time) {
	if at, ok := o.told[key]; ok && t.Sub(at) < republish {
		return
	}
	o.told[key] = t
	o.outbox = append(o.outbox, publication{key, row})
}

// post empties the outbox. The lock is not held: whoever publishes may answer at once.
func (o *Owner) post() {
	o.mu.Lock()
	out := o.outbox
	o.outbox = nil
	o.mu.Unlock()
	for _, p := range out {
		o.env.Publish(o.lane(p.key.Group), p.key, p.row)
	}
}

// explain gives groups whose positions are not carried a row about the group as a whole.
func (o *Owner) explain(now Snapshot, t time.Time) {
	for id, info := range now.Groups {
		v := translate.Verdict{Target: translate.NoPosition}
		switch {
		case info.Excluded != "":
			v.Kind, v.Reason = translate.GroupFiltered, info.Excluded
		case info.Denied != "":
			v.Kind, v.Reason = translate.PermissionMissing, info.Denied
		default:
			continue
		}
		if o.owns(id) {
			o.say(id, partition.ID{Partition: verdicts.WholeGroup}, v, translate.Unknown, t)
		}
	}
}

// count counts polls in which the source did not hold what a row speaks about. A source that does not answer counts for
// nothing (GR4).
func (o *Owner) count(s Snapshot) {
	for key := range o.rows {
		info := s.Groups[key.Group]
		_, there := s.Positions[key.Group][partition.ID{Topic: key.Topic, Partition: key.Partition}]
		if key.Partition == verdicts.WholeGroup {
			there = info.Excluded != "" || info.Denied != ""
		}
		if there {
			delete(o.missing, key)
		} else if s.answers(key.Group) {
			o.missing[key]++
		}
	}
	kept := o.gone(s)
	for id, g := range o.groups {
		if len(s.Positions[id]) > 0 || len(kept[id]) > 0 || !s.answers(id) {
			g.gone = 0
		} else if g.gone++; g.gone >= forget {
			delete(o.groups, id)
			delete(o.dirty, id)
		}
	}
}

// retract marks rows of positions that the source no longer holds, or deletes them where there is nothing to keep. Nothing on
// the target follows (GR3).
func (o *Owner) retract(now Snapshot, t time.Time) {
	for key, polls := range o.missing {
		row, ok := o.rows[key]
		switch {
		case ok && o.keeps(key, row, now):
			if polls >= forget && row.GoneAt.IsZero() {
				row.GoneAt = t
				o.tell(key, &row, t)
			}
		case polls >= forget:
			o.tell(key, nil, t)
		}
	}
}
