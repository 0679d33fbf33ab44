package groups

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// memory is how many polls of the source a row may be behind: lanes of other processes poll at other times.
const memory = 5

// recheck is how often a group that is at rest is compared with the target again: its commits may have been deleted or
// have expired there.
const recheck = 30 * time.Second

// retry is how often a group that waits (active, held, refused) is looked at.
const retry = time.Second

// Fate is what the flow does with a source topic.
type Fate struct {
	Mirrored bool
	Why      string   // the rule, when it is not mirrored
	Remote   string   // the topic on the target
	SourceID [16]byte // current topic id
}

// Environment is what an Owner needs from the flow. Its methods are called from the Owner's goroutine.
type Environment interface {
	// Topic says what becomes of a source topic. ok is false while that is not known.
	Topic(name string) (fate Fate, ok bool)
	// Publish writes (or with nil deletes) a row of a group whose verdicts partition this process owns.
	Publish(lane int32, key verdicts.Key, row *verdicts.Row)
	// Checkpoint hands over a position for the checkpoints topic; it does not block.
	Checkpoint(group string, remote kafka.TP, upstream, downstream int64, metadata string)
}

// Owner puts together and writes the groups whose verdicts partitions this process owns.
type Owner struct {
	target *kafka.Client
	env    Environment
	lanes  int32
	sync   bool // write positions; otherwise checkpoints only
	log    *slog.Logger

	mu    sync.Mutex
	owned map[int32]bool
	rows  map[verdicts.Key]verdicts.Row
	past  []Snapshot // newest last, at most memory
	dirty map[string]bool
	wake  chan struct{}

	groups map[string]*group
}

// group is what this process knows about one group that it owns.
type group struct {
	wrote   map[kafka.TP]translate.Commit // our last commits since we own it
	state   translate.WriteState
	lookAt  time.Time // when it is due although nothing changed
	missing map[verdicts.Key]int
}

// NewOwner makes an Owner. With write off positions are not committed on the target.
func NewOwner(target *kafka.Client, env Environment, lanes int32, write bool, log *slog.Logger) *Owner {
	return &Owner{
		target: target, env: env, lanes: lanes, sync: write, log: log, owned: map[int32]bool{},
		rows: map[verdicts.Key]verdicts.Row{}, dirty: map[string]bool{}, groups: map[string]*group{}, wake: make(chan struct{}, 1),
	}
}

// Own says that this process owns a verdicts partition from now on (or no more). Its rows are read from the start.
func (o *Owner) Own(lane int32, owned bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owned[lane] = owned
	for k := range o.rows {
		if ledger.GroupLane(k.Group, o.lanes) == lane {
			delete(o.rows, k)
		}
	}
	for g := range o.groups {
		if ledger.GroupLane(g, o.lanes) == lane {
			delete(o.groups, g)
		}
	}
}

// Apply takes a record of an owned verdicts partition, in log order; row is nil for a deletion.
func (o *Owner) Apply(key verdicts.Key, row *verdicts.Row) {
	o.mu.Lock()
	if row == nil {
		delete(o.rows, key)
	} else {
		o.rows[key] = *row
	}
	o.dirty[key.Group] = true
	o.mu.Unlock()
	o.nudge()
}

// Take takes a snapshot of the source.
func (o *Owner) Take(s Snapshot) {
	o.mu.Lock()
	var last Snapshot
	if n := len(o.past); n > 0 {
		last = o.past[n-1]
	}
	o.past = append(o.past, s)
	if len(o.past) > memory {
		o.past = o.past[1:]
	}
	for g, now := range s.Positions {
		if !same(last.Positions[g], now) {
			o.dirty[g] = true
		}
	}
	o.mu.Unlock()
	o.nudge()
}

func same(a, b map[kafka.TP]kafka.Committed) bool {
	if len(a) != len(b) || a == nil {
		return false
	}
	for tp, c := range b {
		if old, ok := a[tp]; !ok || old != c {
			return false
		}
	}
	return true
}

func (o *Owner) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run does rounds until ctx ends: when something changed, after a short pause in which more rows of the same change
// arrive, and at least every second for groups that wait.
func (o *Owner) Run(ctx context.Context) error {
	const gather = 50 * time.Millisecond
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		case <-time.After(retry):
		}
		if !sleep(ctx, gather) {
			return nil
		}
		err := o.Round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			o.log.Warn("positions cannot be written to the target", "error", err)
		case err == nil && failing:
			o.log.Info("positions are written to the target again")
		}
		failing = err != nil
	}
}

// work is one group in a round.
type work struct {
	id    string
	g     *group
	plan  translate.Group
	live  map[kafka.TP]kafka.Committed // the source's commits now
	stale bool
}

// Round judges the groups that are due and writes what is to be written. The error says that the target could not be
// asked; those groups stay due.
func (o *Owner) Round(ctx context.Context) error {
	due := o.due()
	if len(due) == 0 {
		return nil
	}
	if !o.sync {
		for _, w := range due {
			o.checkpoints(w)
		}
		return nil
	}
	ids := make([]string, len(due))
	for i, w := range due {
		ids[i] = w.id
	}
	listed, err := o.target.Groups(ctx)
	if err != nil {
		o.again(due)
		return err
	}
	at := map[string]kafka.Group{}
	for _, g := range listed {
		at[g.ID] = g
	}
	present, failed, err := o.target.FetchPositions(ctx, ids, true)
	if err != nil {
		o.again(due)
		return err
	}
	var wg errgroup.Group
	wg.SetLimit(16)
	for _, w := range due {
		wg.Go(func() error {
			o.one(ctx, w, at, present[w.id], failed[w.id])
			return nil
		})
	}
	return wg.Wait()
}

// again makes groups due once more.
func (o *Owner) again(due []*work) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range due {
		o.dirty[w.id] = true
	}
}

// one plans and writes one group.
func (o *Owner) one(ctx context.Context, w *work, at map[string]kafka.Group, present map[kafka.TP]kafka.Committed, failed error) {
	g := w.g
	t, exists := at[w.id]
	w.plan.Target = translate.TargetGroup{Read: failed == nil, Exists: exists, State: t.State, Type: t.Type, Protocol: t.ProtocolType}
	for i := range w.plan.Rows {
		r := &w.plan.Rows[i]
		tp := kafka.TP{Topic: r.Partition.Topic, Partition: r.Partition.Number}
		c, ok := present[tp]
		if !ok {
			continue
		}
		p := &translate.Present{Offset: offsetmap.TargetOffset(c.Offset), Metadata: c.Metadata, From: translate.Unknown}
		if ours, ok := g.wrote[tp]; ok && int64(ours.Offset) == c.Offset && ours.Metadata == c.Metadata {
			p.Ours, p.From = true, ours.From
		}
		r.Present = p
	}
	commits, state := translate.Plan(w.plan)
	if failed != nil && pending(failed) {
		state = translate.WriteState{Kind: translate.Waiting, Reason: "a transaction on the target has an open commit of the group"}
	} else if failed != nil {
		state.Reason = failed.Error()
	}
	if len(commits) > 0 {
		if err := o.write(ctx, w.id, commits); err != nil {
			state = translate.Refuse(err)
		} else {
			for p, c := range commits {
				g.wrote[kafka.TP{Topic: p.Topic, Partition: p.Number}] = c
			}
		}
	}
	o.note(w.id, g, state)
	o.checkpoints(w)
}

func pending(err error) bool { return kafka.ClassifyErr(err) == kafka.Retry }

// write commits the whole group with one request. It is the one place where positions of the target are changed: a
// compare-and-set takes its place once transactions are used for it.
func (o *Owner) write(ctx context.Context, id string, commits map[translate.Partition]translate.Commit) error {
	pos := make(map[kafka.TP]kafka.Committed, len(commits))
	for p, c := range commits {
		pos[kafka.TP{Topic: p.Topic, Partition: p.Number}] = kafka.Committed{Offset: int64(c.Offset), LeaderEpoch: -1, Metadata: c.Metadata}
	}
	refused, err := o.target.CommitPositions(ctx, id, pos)
	if err != nil {
		return err
	}
	var errs []error
	for tp, err := range refused {
		errs = append(errs, fmt.Errorf("%s: %w", tp, err))
	}
	return errors.Join(errs...)
}

// note keeps the state and says it in the log when it changed in kind.
func (o *Owner) note(id string, g *group, s translate.WriteState) {
	o.mu.Lock()
	old := g.state
	g.state = s
	switch s.Kind {
	case translate.UpToDate, translate.NothingToWrite, translate.Written, translate.TargetAhead:
		g.lookAt = time.Now().Add(recheck)
	default:
		g.lookAt = time.Now().Add(retry)
	}
	o.mu.Unlock()
	if old.Kind == s.Kind || s.Kind == translate.UpToDate && old.Kind == translate.Written {
		return
	}
	level := slog.LevelInfo
	switch s.Kind {
	case translate.Waiting, translate.Refused:
		level = slog.LevelWarn
	case translate.Written, translate.UpToDate:
		level = slog.LevelDebug // the normal life of every group; the others are worth a line each
	}
	o.log.Log(context.Background(), level, "group", "group", id, "state", s.String())
}

// States gives the write state of every owned group.
func (o *Owner) States() map[string]translate.WriteState {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]translate.WriteState{}
	for id, g := range o.groups {
		out[id] = g.state
	}
	return out
}

func hexID(id [16]byte) string { return hex.EncodeToString(id[:]) }
