package groups

import (
	"time"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// What the source no longer holds. A group that was stopped there, to be moved or for any other reason, expires on the source
// after some days, and so do its commits on the target, which nobody renews: then nothing in the world knows where it was. So
// the last row of each position is kept, with since when the source does not hold it, and what we have committed on the target
// is renewed.

// keepFor is how long brokers keep the offsets of a group without members unless they are told otherwise.
const keepFor = 7 * 24 * time.Hour

// Retention is how long the target keeps offsets (offsets.retention.minutes); 0 where it does not say. It is called before Run.
func (o *Owner) Retention(d time.Duration) {
	if d <= 0 {
		d = keepFor
	}
	// Several times within the retention: a worker can be away for some of them.
	o.renewEvery = min(d/8, 12*time.Hour)
}

// keeps says whether a row is kept although the source holds no such commit any more. It is the one place that decides how long:
// for as long as the row has a place, the file does not leave the group or the topic out, and nobody has decided that the group has
// moved, so that its own commits on the target say where it is, or that the topic has ended.
func (o *Owner) keeps(key verdicts.Key, row verdicts.Row, now Snapshot) bool {
	if key.Partition == verdicts.WholeGroup || !row.Verdict.HasPosition() || now.leavesOut(key.Group) {
		return false
	}
	if _, moved := o.moved[key.Group]; moved || o.ended[topic{key.Topic, row.SourceTopic}] {
		return false
	}
	fate, known := o.env.Topic(key.Topic)
	return !known || fate.Mirrored && fate.remains(row)
}

// remains says whether the remote topic is still the one that a row is about.
func (f Fate) remains(v verdicts.Row) bool {
	var zero [16]byte
	return v.RemoteTopic == f.Remote && (f.TargetID == zero || v.TargetTopic == hexID(f.TargetID))
}

// isGone says whether a row is kept that the source did not hold for some polls, or that is known as such from before.
func (o *Owner) isGone(key verdicts.Key, polls int, now Snapshot) bool {
	row, ok := o.rows[key]
	return ok && (polls >= forget || !row.GoneAt.IsZero()) && o.keeps(key, row, now)
}

// gone are the rows that are kept, by group. The lock is held.
func (o *Owner) gone(now Snapshot) map[string][]verdicts.Key {
	var out map[string][]verdicts.Key
	for key, polls := range o.missing {
		if o.isGone(key, polls, now) {
			if out == nil {
				out = map[string][]verdicts.Key{}
			}
			out[key.Group] = append(out[key.Group], key)
		}
	}
	return out
}

// kept is the position of a row that is kept.
func (o *Owner) kept(key verdicts.Key) position {
	row := o.rows[key]
	fate, known := o.env.Topic(key.Topic)
	return position{remote: true, kept: true, Row: translate.Row{
		Partition: partition.ID{Topic: row.RemoteTopic, Partition: key.Partition}, Committed: offsetmap.SourceOffset(row.Committed),
		Metadata: row.Metadata, Verdict: row.Verdict, Kept: true, Renew: !known || !fate.means(row),
	}}
}

// back takes the mark off a row whose commit the source holds again. Where it holds another one its lane has written another
// row; if ours came later than that, deleting it makes the lane write it again.
func (o *Owner) back(key verdicts.Key, row verdicts.Row, fresh bool, t time.Time) {
	since := row.GoneAt
	switch {
	case since.IsZero():
	case fresh:
		row.GoneAt = time.Time{}
		o.tell(key, &row, t)
	case t.Sub(since) >= settle:
		o.tell(key, nil, t)
	}
}

// renews says whether a group's commits on the target are to be made again, so that they do not expire.
func (o *Owner) renews(g *group, t time.Time) bool { return t.Sub(g.renewed) >= o.renewEvery }
