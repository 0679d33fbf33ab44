package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/ledger"
	"tidemark/internal/notes"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/terms"
)

// members is who is in the lane group on the target now.
type members struct {
	workers []status.Worker
	owner   map[int32]int // by lane, an index into workers
}

// worker names the owner of a lane; empty where nobody has it.
func (m *members) worker(n int32) string {
	if i, ok := m.owner[n]; ok {
		return m.workers[i].Worker
	}
	return ""
}

// group is the flow's lane group.
func (r *Reader) group() string { return "tidemark." + r.flow.Name().String() }

// owners says which worker has which lane now, by the lane group on the target. A worker that is joining has none yet.
func (r *Reader) owners(ctx context.Context) (*members, error) {
	group := r.group()
	got, err := r.target.Admin().DescribeGroups(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("describe group %q on cluster %s: %w", group, r.flow.Target, err)
	}
	g, out := got[group], &members{owner: map[int32]int{}}
	if errors.Is(g.Err, kerr.GroupIDNotFound) {
		return out, nil // nobody ever ran the flow, or it is long ago
	}
	if g.Err != nil {
		return nil, fmt.Errorf("describe group %q on cluster %s: %w", group, r.flow.Target, g.Err)
	}
	var theirs []terms.Terms
	for _, m := range g.Members {
		w := status.Worker{Worker: m.ClientID + " at " + m.ClientHost, Member: m.MemberID}
		if m.InstanceID != nil {
			w.Worker += ", instance " + *m.InstanceID
		}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				if t.Topic == r.ledger {
					w.Lanes = append(w.Lanes, t.Partitions...)
				}
			}
		}
		slices.Sort(w.Lanes)
		for _, n := range w.Lanes {
			out.owner[n] = len(out.workers)
		}
		out.workers = append(out.workers, w)
		var brought terms.Terms
		if joined, ok := m.Join.AsConsumer(); ok {
			brought = terms.Find(joined.UserData)
		}
		theirs = append(theirs, brought)
	}
	if len(theirs) > 0 {
		compare(out.workers, theirs)
	}
	return out, nil
}

// compare says which workers run with another file than most. Which is right nobody can know.
func compare(workers []status.Worker, theirs []terms.Terms) {
	most, alike := 0, 0
	for i, a := range theirs {
		n := 0
		for _, b := range theirs {
			if a != nil && b != nil && len(terms.Differ(a, b, "", "")) == 0 {
				n++
			}
		}
		if n > alike {
			most, alike = i, n
		}
	}
	for i := range workers {
		if differs := terms.Differ(theirs[most], theirs[i], "at "+workers[most].Worker, "here"); len(differs) > 0 {
			workers[i].DiffersFrom, workers[i].Differs = workers[most].Worker, differs
		}
	}
}

// listen completes lanes and workers with what the workers say about them in the lane group (internal/notes). A note of a
// worker that does not have the lane now is past.
func (r *Reader) listen(ctx context.Context, h *status.Header, m *members, lanes []status.Lane) {
	got, failed, err := r.target.FetchPositions(ctx, []string{r.group()}, false)
	if err = cmp.Or(err, failed[r.group()]); err != nil {
		h.Notes = append(h.Notes, "what lanes wait for is not known: "+err.Error())
		return
	}
	for n := range lanes {
		l := &lanes[n]
		i, owned := m.owner[l.Lane]
		note, ok, err := notes.Parse(got[r.group()][partition.ID{Topic: r.ledger, Partition: l.Lane}].Metadata)
		switch {
		case err != nil:
			h.Notes = append(h.Notes, fmt.Sprintf("lane %d: %v", l.Lane, err))
		case !ok || !owned || m.workers[i].Member != note.Member:
		default:
			if note.What != "" {
				l.State, l.Since, l.What, l.Why = status.LaneWaiting, note.Since, note.What, note.Why
			}
			for _, t := range note.Troubles {
				m.workers[i].Troubles = append(m.workers[i].Troubles, status.WorkerTrouble(t))
			}
		}
	}
}

// silent is since when the source has not answered the owners of lanes that say so.
func (m *members) silent() map[int32]time.Time {
	out := map[int32]time.Time{}
	for lane, i := range m.owner {
		for _, t := range m.workers[i].Troubles {
			if t.What == notes.SourceSilent {
				out[lane] = t.Since
			}
		}
	}
	return out
}

// asOfAnswer has what the ledger says of the source be as old as the source's last answer: a head is also written while records that
// came before it are still on their way to the target.
func asOfAnswer(rows []*row, silent map[int32]time.Time) {
	for _, w := range rows {
		if since, ok := silent[w.Lane]; ok && !w.SourceLive && since.Before(w.SourceAt) {
			w.SourceAt = since.UTC()
		}
	}
}

// laneRows is one row for each lane. owners is nil where nobody could say who has them.
func laneRows(contents map[int32]*ledger.Contents, lanes int32, owners *members) []status.Lane {
	out := make([]status.Lane, lanes)
	for n := range lanes {
		l := status.Lane{Lane: n, State: status.LaneUnknown, ProducerID: status.Unknown, Epoch: -1}
		if owners != nil {
			l.State, l.Worker = status.LaneFree, owners.worker(n)
			if l.Worker != "" {
				l.State = status.LaneOwned
			}
		}
		if c := contents[n]; c != nil {
			l.Partitions = len(c.Heads)
			if c.Claim != nil {
				l.Owner, l.ClaimedAt, l.Released = c.Claim.Owner, c.Claim.At.UTC(), c.Claim.Released
				l.ProducerID, l.Epoch = c.Claim.ProducerID, c.Claim.Epoch
			}
			if i := c.Reads(); i != ledger.IsolationUnknown {
				l.Isolation = i.String()
			}
		}
		out[n] = l
	}
	return out
}
