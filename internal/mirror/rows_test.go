package mirror

import (
	"testing"

	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
)

// A row that its owner deletes while the commit stays is written again: at once where its lane is in the owner's process, and
// within two hours where it is not. Without that the group would wait for it for ever.
func TestDeletedRowIsStatedAgain(t *testing.T) {
	f, l, p := livePart(t)
	f.lanes[0] = l
	f.commits = map[partition.ID][]verdicts.Commit{p.TP: {{Group: "g", Offset: 0}}}
	key := verdicts.Key{Group: "g", Topic: p.TP.Topic, Partition: p.TP.Partition}
	written := func() (n int) {
		l.rejudge()
		for _, j := range l.verdicts {
			n += j.Waiting()
			for f := j.Next(now()); f != nil; f = nil {
				j.Answered(f, lane.Result{Answer: lane.Acked}, now())
			}
		}
		return n
	}
	if n := written(); n != 1 {
		t.Fatalf("%d rows for a new commit", n)
	}
	if n := written(); n != 0 {
		t.Fatalf("%d rows though nothing is news", n)
	}
	f.Publish(0, key, nil)
	l.handleAll()
	if n := written(); n != 1 { // the deletion and the new row are of one key
		t.Errorf("%d rows after the owner has deleted it", n)
	}
	if _, known := l.rows[key]; !known {
		t.Error("the row is not stated again")
	}
	row := l.rows[key]
	row.at -= 2 * restateAfter
	l.rows[key] = row
	if n := written(); n != 1 {
		t.Errorf("%d rows two hours later", n)
	}
}
