package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/internal/consumer"
	"tidemark/internal/control"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// rows is what the verdicts topic says: the newest row of each position.
type rows struct {
	by      map[verdicts.Key]verdicts.Row
	lanes   int32 // partitions of the topic: as many as the flow has lanes
	damage  []status.Damage
	trouble []status.Trouble
}

// readRows reads the verdicts of the named groups, or of all.
func (r *Reader) readRows(ctx context.Context, groups []string) (rows, error) {
	n, err := r.lanes(ctx, r.rows)
	if err != nil {
		return rows{}, err
	}
	if n == 0 {
		return rows{}, fmt.Errorf("topic %s on cluster %s has no partitions", r.rows, r.flow.Target)
	}
	partitions := topiclog.All(n)
	if len(groups) > 0 {
		partitions = nil
		for _, g := range groups {
			partitions = append(partitions, ledger.GroupLane(g, n))
		}
		slices.Sort(partitions)
		partitions = slices.Compact(partitions)
	}
	out := rows{by: map[verdicts.Key]verdicts.Row{}, lanes: n}
	bad := map[string]status.Damage{}
	var mu sync.Mutex
	out.trouble, err = r.readAll(ctx, r.rows, partitions, func(p int32) func(topiclog.Record) error {
		return func(rec topiclog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			out.take(p, rec, groups, bad, r.rows)
			return nil
		}
	})
	out.damage = slices.SortedFunc(maps.Values(bad), func(a, b status.Damage) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return out, err
}

// take applies one record. A later record of a key heals the damage of an earlier one.
func (w *rows) take(partition int32, rec topiclog.Record, groups []string, bad map[string]status.Damage, topic string) {
	text := rec.KeyText()
	damage := func(err error) {
		bad[text] = status.Damage{Topic: topic, Partition: partition, Offset: rec.Offset, Key: text, Error: err.Error()}
	}
	key, err := verdicts.ParseKey(rec.Key)
	if err != nil {
		damage(err)
		return
	}
	if len(groups) > 0 && !slices.Contains(groups, key.Group) {
		return
	}
	delete(bad, text)
	delete(w.by, key)
	if rec.Value == nil {
		return
	}
	row, err := verdicts.ParseRow(rec.Value)
	if err != nil {
		damage(err)
		return
	}
	w.by[key] = row
}

// Groups gives every position of the named groups, or of all, with its verdict. A group that neither the verdicts nor
// the source know has an entry without positions if it was named. Where no run has been the positions are those of
// MirrorMaker 2's checkpoints.
func (r *Reader) Groups(ctx context.Context, names []string) (status.Groups, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Groups{}, err
	}
	defer cancel()
	out := status.Groups{Header: r.header(), Groups: []status.Group{}}
	found, err := r.readRows(ctx, names)
	if never := (*ErrNeverRun)(nil); errors.As(err, &never) {
		return r.groupsMM2(ctx, out, names, never)
	}
	if err != nil {
		return out, err
	}
	r.besides(ctx, &out.Header)
	out.Trouble, out.Damage = found.trouble, found.damage
	r.current(ctx, &out.Header, found.by)
	r.leaveOut(found.by)
	decided := r.decided(ctx, &out.Header)
	forgetEnded(found.by, decided)
	out.NoWorker = r.noWorker(ctx, &out.Header, found.lanes)
	b := &gathered{reader: r, at: out.At, decided: decided, missing: r.noVerdict(out.NoWorker), groups: map[string]map[partition.ID]*status.Position{}, denied: map[string]string{}}
	for _, name := range names {
		b.group(name)
	}
	b.addMoved(decided, names)
	whole := map[string]string{}
	for key, row := range found.by {
		if key.Partition == verdicts.WholeGroup {
			whole[key.Group] = cmp.Or(row.Verdict.Reason, row.Verdict.String())
			continue
		}
		b.add(key, row)
	}
	states := r.sourceGroups(ctx, &out, b, names)
	for _, e := range out.Excluded {
		delete(whole, e.Group) // the source says it as of now
	}
	for _, g := range slices.Sorted(maps.Keys(whole)) {
		out.Excluded = append(out.Excluded, status.Excluded{Group: g, Why: whole[g], Named: len(names) > 0})
	}
	on, err := r.onTarget(ctx, &out.Header, b)
	if err != nil {
		return out, err
	}
	if err := r.again(ctx, &out.Header, b, on); err != nil {
		return out, err
	}
	deleted, err := r.deleted(ctx, &out.Header, on)
	if err != nil {
		return out, err
	}
	if err := r.back(ctx, &out.Header, b, on); err != nil {
		return out, err
	}
	if err := b.sourceEnds(ctx, &out.Header); err != nil {
		return out, err
	}
	out.Groups, out.NotWritten = b.list(states, on, names, endedToo(deleted, decided, out.Source.Reached)), r.notWritten()
	return out, nil
}

// leaveOut has positions on topics that the file leaves out now end as it says, whatever was said of them before: no run will say
// it where the source has no such topic any more.
func (r *Reader) leaveOut(by map[verdicts.Key]verdicts.Row) {
	for key, row := range by {
		if key.Partition == verdicts.WholeGroup || row.Verdict.Final() {
			continue
		}
		if choice := r.topics.Select(key.Topic); !choice.Mirrored {
			row.Verdict = translate.Verdict{Kind: translate.TopicFiltered, Target: translate.NoPosition, Reason: choice.Detail}
			by[key] = row
		}
	}
}

// notWritten is that the file switches group sync off; empty where it is on.
func (r *Reader) notWritten() string {
	if r.flow.SyncGroupOffsets {
		return ""
	}
	return fmt.Sprintf("group sync is off in %s: positions are not written to %s (%s switches it on)", r.cfg.File, r.flow.Target, r.cfg.FlowKey("SyncGroupOffsets"))
}

// gathered is the positions while they are put together.
type gathered struct {
	reader  *Reader
	at      time.Time
	decided *control.Set
	missing string // why a position that the source has can have no verdict
	groups  map[string]map[partition.ID]*status.Position
	denied  map[string]string // groups whose positions on the source may not be read, and which right is missing
}

func (b *gathered) group(name string) map[partition.ID]*status.Position {
	if b.groups[name] == nil {
		b.groups[name] = map[partition.ID]*status.Position{}
	}
	return b.groups[name]
}

func (b *gathered) add(key verdicts.Key, row verdicts.Row) {
	p := position(key.Topic, key.Partition, row.Committed, row.Verdict)
	p.RemoteTopic, p.Metadata, p.AsOf = row.RemoteTopic, row.Metadata, row.At.UTC()
	if row.SourceEnd >= 0 {
		p.SourceEnd, p.SourceAt = row.SourceEnd, row.At.UTC()
	}
	p.GoneSince = row.GoneAt.UTC()
	b.group(key.Group)[partition.ID{Topic: key.Topic, Partition: key.Partition}] = p
}

func position(topic string, partition int32, committed int64, v translate.Verdict) *status.Position {
	p := &status.Position{
		Topic: topic, Partition: partition, Committed: committed, Now: status.Unknown, SourceEnd: status.Unknown, Lag: status.Unknown,
		Target: status.Unknown, OnTarget: status.Unknown, TargetEnd: status.Unknown, Exact: v.IsExact(), Verdict: v, Sentence: v.String(),
	}
	if v.HasPosition() {
		p.Target = int64(v.Target)
	}
	return p
}

// sourceGroups adds what the source says now: positions that have no verdict yet or are gone, and groups that are left out.
func (r *Reader) sourceGroups(ctx context.Context, out *status.Groups, b *gathered, names []string) map[string]kafka.Group {
	h := &out.Header
	if !r.openSource(ctx, h) {
		return nil
	}
	states := map[string]kafka.Group{}
	var positions map[string]map[partition.ID]kafka.Committed
	var failed map[string]error
	var ask []string
	err := r.askSource(ctx, func(ctx context.Context) error {
		listed, err := r.source.Groups(ctx)
		if partial := (*kafka.ErrBrokers)(nil); errors.As(err, &partial) {
			h.Notes = append(h.Notes, partial.Error())
		} else if err != nil {
			return err
		}
		for _, g := range listed {
			if len(names) > 0 && !slices.Contains(names, g.ID) {
				if consumer.Excluded(g.Listed(), r.groups) == "" {
					out.Known = append(out.Known, g.ID)
				}
				continue
			}
			states[g.ID] = g
			if why := consumer.Excluded(g.Listed(), r.groups); why != "" {
				out.Excluded = append(out.Excluded, status.Excluded{Group: g.ID, Why: why, Named: len(names) > 0})
				continue
			}
			ask = append(ask, g.ID)
		}
		// Brokers leave groups that we may not see out of the list without a word. Those that are known all the same are asked for
		// by name: a right that is missing must not look like a group that was deleted.
		for _, g := range slices.Sorted(maps.Keys(b.groups)) {
			_, known := states[g]
			why := consumer.Excluded(consumer.Group{ID: g}, r.groups)
			switch {
			case known:
			case why == "":
				ask = append(ask, g)
			case len(b.groups[g]) > 0: // what was said of it before the file left it out
				out.Excluded = append(out.Excluded, status.Excluded{Group: g, Why: why, Named: len(names) > 0})
				delete(b.groups, g)
			}
		}
		if len(ask) == 0 {
			return nil
		}
		positions, failed, err = r.source.FetchPositions(ctx, ask, false)
		return err
	})
	if !r.sourceAnswered(h, err) {
		return nil
	}
	for _, g := range ask {
		b.answered(h, g, positions[g], failed[g])
	}
	return states
}

// answered takes what the source says about the positions of a group now.
func (b *gathered) answered(h *status.Header, group string, positions map[partition.ID]kafka.Committed, failed error) {
	for tp, c := range positions {
		b.now(group, tp, c)
	}
	denied, is := errors.AsType[*kafka.ErrDenied](failed)
	switch {
	case is:
		b.denied[group] = denied.Error()
		h.Notes = append(h.Notes, fmt.Sprintf("positions of group %q on the source: %v", group, failed))
	case failed != nil:
		h.Notes = append(h.Notes, fmt.Sprintf("positions of group %q on the source: %v", group, failed))
	default:
		for _, p := range b.groups[group] {
			p.Gone = p.Now == status.Unknown && p.Committed >= 0
		}
	}
}

// now notes what a group has committed on the source at this moment.
func (b *gathered) now(group string, tp partition.ID, c kafka.Committed) {
	positions := b.group(group)
	p := positions[tp]
	if p == nil {
		v := translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: b.missing}
		if choice := b.reader.topics.Select(tp.Topic); !choice.Mirrored {
			v.Kind, v.Reason = translate.TopicFiltered, choice.Detail
		}
		p = position(tp.Topic, tp.Partition, c.Offset, v)
		p.Metadata = c.Metadata
		positions[tp] = p
	}
	p.Now = c.Offset
}

// list is the groups in order.
func (b *gathered) list(states map[string]kafka.Group, on target, names []string, deleted map[string]bool) []status.Group {
	out := []status.Group{}
	for _, id := range slices.Sorted(maps.Keys(b.groups)) {
		g := status.Group{
			Group: id, SourceState: states[id].State, TargetState: on.states[id].State, Named: slices.Contains(names, id), Denied: b.denied[id], Positions: []status.Position{},
		}
		for _, p := range b.groups[id] {
			on.fill(id, p)
			if p.Gone = p.Gone && p.Verdict.HasPosition(); !p.Gone {
				p.GoneSince = time.Time{} // it came back, and its lane has not said so yet
			}
			if p.SourceEnd != status.Unknown && p.Committed >= 0 {
				p.Lag = max(0, p.SourceEnd-p.Committed)
			}
			g.Positions = append(g.Positions, *p)
		}
		slices.SortFunc(g.Positions, func(a, b status.Position) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		g.Moved = movedOf(b.decided, id, b.groups[id])
		g.TargetOnly, g.AtHome = b.targetOnly(on.positions[id], b.groups[id], deleted), b.reader.atHome(on.positions[id])
		out = append(out, g)
	}
	return out
}
