package groups

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/consumer"
	"tidemark/internal/events"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/offsetmap"
)

const (
	// patience is how old the look at the target may be when a group is written: in a longer time a consumer can have
	// come, read, committed and left (KAFKA-19794). Twice that bounds all writes of a round.
	patience = 5 * time.Second
	// loud is how long a group may wait before that is worth a warning. At a start every group waits for its rows.
	loud = 10 * time.Second
)

// view is the target's groups in one round.
type view struct {
	at        time.Time
	listed    bool // the target gave a list of groups, complete but for the hidden ones
	groups    map[string]kafka.Group
	hidden    error // brokers that did not list their groups
	positions map[string]map[partition.ID]kafka.Committed
	failed    map[string]error
}

// Round judges the groups that are due and writes what is to be written. The error says that the target could not be
// asked about some groups; those stay due.
func (o *Owner) Round(ctx context.Context) error {
	due := slices.DeleteFunc(o.due(), o.left)
	o.post()
	if len(due) == 0 {
		return nil
	}
	if !o.sync {
		for _, w := range due {
			o.checkpoints(w)
			o.note(w, translate.WriteState{Kind: translate.NothingToWrite, Reason: "group sync is off in the file"}, recheck)
		}
		return nil
	}
	// Groups whose coordinator did not answer the last time are asked apart, after the others: one that does not answer
	// now holds up everything that was asked together with it.
	var well, troubled []*work
	for _, w := range due {
		if w.g.trouble {
			troubled = append(troubled, w)
		} else {
			well = append(well, w)
		}
	}
	return cmp.Or(o.batch(ctx, well), o.batch(ctx, troubled))
}

// batch looks at the target for some groups and writes them.
func (o *Owner) batch(ctx context.Context, due []*work) error {
	if len(due) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	v, err := o.look(ctx, due)
	if err != nil {
		for _, w := range due {
			o.later(w, v.listed)
		}
		return err
	}
	var all errgroup.Group
	all.SetLimit(16)
	for _, w := range due {
		all.Go(func() error {
			err := o.one(ctx, w, v)
			if err != nil {
				o.later(w, true)
			}
			return err
		})
	}
	return all.Wait()
}

// later makes a group due again after a short while, and after a longer one when it is the group's coordinator that does
// not answer again and again.
func (o *Owner) later(w *work, coordinator bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	after := retry
	if w.g.trouble {
		after = patience
	}
	w.g.lookAt, w.g.trouble, w.g.failing = o.now().Add(after), coordinator, true
}

// look asks the target about all groups that are due: one list, and one question for the positions of those that may be
// written.
func (o *Owner) look(ctx context.Context, due []*work) (view, error) {
	// Half of the patience: what the others answered must still be good for writing when one does not answer at all.
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	v := view{at: o.now(), groups: map[string]kafka.Group{}}
	listed, err := o.target.Groups(ctx)
	if partial, ok := errors.AsType[*kafka.ErrBrokers](err); ok {
		v.hidden = partial
	} else if err != nil {
		return v, err
	}
	v.listed = true
	for _, g := range listed {
		v.groups[g.ID] = g
	}
	ask := map[string][]partition.ID{}
	for _, w := range due {
		if g, ok := v.groups[w.id]; ok && consumer.Empty(g.State) || !ok && v.hidden == nil {
			ask[w.id] = w.remotes()
		}
	}
	v.positions, v.failed, err = o.target.FetchPositionsOf(ctx, ask, true)
	return v, err
}

// remotes are the positions of the target that the group's rows are about.
func (w *work) remotes() (tps []partition.ID) {
	for _, p := range w.rows {
		if p.remote {
			tps = append(tps, p.Partition)
		}
	}
	return tps
}

// one plans and writes one group. An error is the target's trouble and not the group's.
func (o *Owner) one(ctx context.Context, w *work, v view) error {
	at, exists := v.groups[w.id]
	if !exists && v.hidden != nil {
		return v.hidden
	}
	failed := v.failed[w.id]
	open, only := unstable(failed)
	if failed != nil && !only && passes(failed) {
		return failed
	}
	plan := translate.Group{
		SourceLive: !w.stale, Refresh: o.renews(w.g, v.at),
		Target: translate.TargetGroup{
			Read: failed == nil || only, Exists: exists, State: at.State, Type: at.Type, Protocol: at.ProtocolType,
		},
	}
	for _, p := range w.rows {
		if p.remote {
			p.Present = w.present(p, v.positions[w.id], open)
		}
		p.Live = p.fresh
		plan.Rows = append(plan.Rows, p.Row)
	}
	commits, state := translate.Plan(plan)
	if state.Kind == translate.Refused && failed != nil {
		state.Reason = failed.Error()
	}
	after := retry
	switch state.Kind {
	case translate.UpToDate, translate.NothingToWrite, translate.Written, translate.TargetAhead, translate.Refused:
		after = min(recheck, o.renewEvery)
	case translate.NotTried, translate.Waiting, translate.Active:
	}
	if len(commits) > 0 {
		written, err := o.begin(w, v)
		if errors.Is(err, errMoved) {
			return nil // it is due again, for that
		}
		if err != nil {
			return err
		}
		done, err := o.write(ctx, w.id, commits)
		written()
		maps.Copy(w.g.wrote, done)
		if plan.Refresh && err == nil {
			w.g.renewed = v.at
		}
		if _, live := errors.AsType[*kafka.ErrGroupLive](err); live {
			state, after = translate.WriteState{Kind: translate.Active, GroupState: "not Empty any more"}, retry
		} else if err != nil {
			if len(done) == 0 && passes(err) {
				return err
			}
			state, after = translate.Refuse(err), recheck
			if passes(err) {
				after = retry
			}
		}
	}
	o.checkpoints(w)
	o.note(w, state, after)
	return nil
}

// present is the target's last commit of a position.
func (w *work) present(p position, now map[partition.ID]kafka.Committed, open map[partition.ID]error) *translate.Present {
	tp := p.Partition
	if _, pending := open[tp]; pending {
		return &translate.Present{Offset: -1, Pending: true}
	}
	c, ok := now[tp]
	if !ok {
		return nil
	}
	at := &translate.Present{Offset: offsetmap.TargetOffset(c.Offset), Metadata: c.Metadata, From: translate.Unknown}
	if c.LeaderEpoch != -1 || !p.fresh && !p.kept {
		// A client that has read records commits an epoch. And only a row about the newest commit may move a group back.
		return at
	}
	if p.Verdict.HasPosition() && p.Verdict.Target == at.Offset && p.Metadata == at.Metadata {
		// What we would write is there: ours, as far as can be told.
		w.g.wrote[tp] = translate.Commit{Offset: at.Offset, Metadata: at.Metadata, From: p.Committed}
	}
	if ours, ok := w.g.wrote[tp]; ok && ours.Offset == at.Offset && ours.Metadata == at.Metadata {
		at.Ours, at.From = true, ours.From
	}
	return at
}

// unstable gives the partitions that a transaction on the target is about to commit (KIP-447), if they are the only
// ones that were not read.
func unstable(err error) (open map[partition.ID]error, only bool) {
	e, ok := errors.AsType[*kafka.ErrPartitions](err)
	if !ok {
		return nil, false
	}
	for _, err := range e.Partitions {
		if !errors.Is(err, kerr.UnstableOffsetCommit) {
			return nil, false
		}
	}
	return e.Partitions, true
}

// passes says whether an error is of the kind that ends by itself.
func passes(err error) bool {
	c := kafka.ClassifyErr(err)
	return c == kafka.Retry || c == kafka.Refresh
}

// begin begins to write a group, or says why it may not be written any more: it is not ours, or has moved, or the look is old.
func (o *Owner) begin(w *work, v view) (done func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.groups[w.id] != w.g {
		return nil, fmt.Errorf("group %q is not ours any more", w.id)
	}
	if !o.env.Leased() {
		return nil, errors.New("the lease of this process ran out")
	}
	if age := o.now().Sub(v.at); age >= patience {
		return nil, fmt.Errorf("the target took %v to say how its groups stand", age.Round(time.Millisecond))
	}
	if _, moved := o.moved[w.id]; moved {
		return nil, errMoved
	}
	written := make(chan struct{})
	o.writing[w.id] = written
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.writing, w.id)
		close(written)
	}, nil
}

// write commits the whole group with one request. It is the one place where positions of the target are changed, so that
// a compare-and-set can take its place. The result holds what was acknowledged; the error names what was not.
func (o *Owner) write(ctx context.Context, id string, commits map[partition.ID]translate.Commit) (map[partition.ID]translate.Commit, error) {
	pos := make(map[partition.ID]kafka.Committed, len(commits))
	for p, c := range commits {
		pos[p] = kafka.Committed{Offset: int64(c.Offset), LeaderEpoch: -1, Metadata: c.Metadata}
	}
	refused, err := o.target.CommitPositions(ctx, id, pos)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("after-group-write")
	if len(refused) > 0 {
		err = &kafka.ErrPartitions{What: fmt.Sprintf("commit positions of group %q", id), Cluster: o.target.Cluster().Alias, Partitions: refused}
	}
	done := make(map[partition.ID]translate.Commit, len(commits))
	for p, c := range commits {
		if refused[p] == nil {
			done[p] = c
		}
	}
	return done, err
}

// note keeps a group's state, says when to look again, and logs a state when its kind, or the reason of a refusal, is new; waiting only once it has
// lasted.
func (o *Owner) note(w *work, s translate.WriteState, after time.Duration) {
	o.mu.Lock()
	g, t := w.g, o.now()
	old, said, since := g.state.Kind, g.said, g.since
	// Once one missing right is granted the next one may be what is missing.
	news := old != s.Kind || s.Kind == translate.Refused && g.state.Reason != s.Reason
	g.state, g.lookAt, g.trouble, g.failing = s, t.Add(after), false, false
	o.judged++
	if !g.soon.IsZero() && g.soon.Before(g.lookAt) {
		g.lookAt = g.soon
	}
	if news {
		g.since, g.said = t, false
	}
	say := !g.said && (s.Kind != translate.Waiting || t.Sub(g.since) >= loud)
	g.said = g.said || say
	lasted := t.Sub(since)
	o.mu.Unlock()
	if !say {
		return
	}
	tone := events.Calm
	switch s.Kind {
	case translate.Waiting, translate.Refused:
		tone = events.Loud
	case translate.Written, translate.UpToDate, translate.NotTried:
		// The normal life of every group; the end of trouble is worth a line.
		if !said || old != translate.Waiting && old != translate.Refused && old != translate.Active {
			tone = events.Quiet
		}
	case translate.NothingToWrite, translate.Active, translate.TargetAhead:
	}
	o.events.Publish(events.Event{Kind: events.Group, Lane: events.NoLane, Tone: tone, Details: events.Details("group", w.id, "state", s.String(), "before", old.String(), "lasted", lasted.Round(time.Millisecond))})
}

func hexID(id [16]byte) string { return hex.EncodeToString(id[:]) }
