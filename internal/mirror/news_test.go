package mirror

import (
	"errors"
	"testing"

	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// A row is written when it is news: the commit is another one, or came back after its owner deleted the row.
func TestRowsAreNews(t *testing.T) {
	_, f, l := bareLane(t)
	p := l.liven(t, "t", 0, offsetmap.New(offsetmap.Origin{}))
	tell := func(cs ...verdicts.Commit) int {
		for k, row := range l.rows { // long ago
			row.at -= restateEvery
			l.rows[k] = row
		}
		f.commits = map[partition.ID][]verdicts.Commit{p.TP: cs}
		l.handle(commitsChanged{})
		n := 0
		for _, j := range l.verdicts {
			for fl := j.Next(now()); fl != nil; fl = j.Next(now()) {
				n += len(fl.Records)
				j.Answered(fl, lane.Result{Answer: lane.Acked}, now())
			}
		}
		return n
	}
	commit := verdicts.Commit{Group: "g", Offset: 0}
	for i, c := range []struct {
		commits []verdicts.Commit
		want    int
	}{{[]verdicts.Commit{commit}, 1}, {[]verdicts.Commit{commit}, 0}, {nil, 0}, {[]verdicts.Commit{commit}, 1}, {[]verdicts.Commit{{Group: "g", Offset: 0, Metadata: "m"}}, 1}} {
		if got := tell(c.commits...); got != c.want {
			t.Errorf("look %d: %d rows, want %d", i+1, got, c.want)
		}
	}
}

// The rows of one lane that cannot be written are no reason to hold its partitions back.
func TestStalledRows(t *testing.T) {
	_, l, p := livePart(t)
	j := l.newRowJournal(0)
	l.verdicts[0] = j
	j.add([]byte("k"), []byte("v"), nil)
	f := j.Next(now())
	for range 10 {
		l.handle(journaled{journal: j, flight: f, result: wire.Result{Err: errors.New("no leader")}})
	}
	if !j.Stalled() || !p.core.Reads() {
		t.Errorf("stalled %t, reads %t", j.Stalled(), p.core.Reads())
	}
}
