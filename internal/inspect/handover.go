package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/control"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// Handover says what is to be committed on the target for the named groups, or for all, under their names with a prefix. The
// source is not asked. The rule by which groups are written is that of a run (translate.Plan): the whole group at once, none that has
// members on the target, and no position backwards.
func (r *Reader) Handover(ctx context.Context, names []string, prefix string) (status.Handover, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Handover{}, err
	}
	defer cancel()
	out := status.Handover{Header: r.header(), Groups: []status.Handed{}}
	found, err := r.readRows(ctx, names)
	if err != nil {
		return out, err
	}
	out.Trouble, out.Damage = found.trouble, found.damage
	r.current(ctx, &out.Header, found.by)
	r.leaveOut(found.by)
	decided := r.decided(ctx, &out.Header)
	forgetEnded(found.by, decided)
	out.Worker = r.noWorker(ctx, &out.Header, found.lanes) == ""
	rows := map[string][]verdicts.Key{}
	for _, name := range names {
		rows[name] = nil
	}
	for key := range found.by {
		rows[key.Group] = append(rows[key.Group], key)
	}
	on, err := r.handedTo(ctx, slices.Sorted(maps.Keys(rows)), prefix)
	if err != nil {
		return out, err
	}
	for _, group := range slices.Sorted(maps.Keys(rows)) {
		out.Groups = append(out.Groups, on.hand(group, prefix, rows[group], found.by, decided))
	}
	return out, nil
}

// receivers are the groups on the target that get positions.
type receivers struct {
	groups    map[string]kafka.Group
	hidden    error // brokers that did not list theirs
	positions map[string]map[partition.ID]kafka.Committed
	failed    map[string]error
}

func (r *Reader) handedTo(ctx context.Context, groups []string, prefix string) (receivers, error) {
	out := receivers{groups: map[string]kafka.Group{}}
	listed, err := r.target.Groups(ctx)
	if partial := (*kafka.ErrBrokers)(nil); errors.As(err, &partial) {
		out.hidden = partial
	} else if err != nil {
		return out, err
	}
	for _, g := range listed {
		out.groups[g.ID] = g
	}
	if len(groups) == 0 {
		return out, nil
	}
	as := make([]string, len(groups))
	for i, g := range groups {
		as[i] = prefix + g
	}
	out.positions, out.failed, err = r.target.FetchPositions(ctx, as, true)
	return out, err
}

// hand plans one group.
func (on receivers) hand(group, prefix string, keys []verdicts.Key, by map[verdicts.Key]verdicts.Row, decided *control.Set) status.Handed {
	out := status.Handed{Group: group, As: prefix + group, Positions: []status.HandedPosition{}}
	at, exists := on.groups[out.As]
	plan := translate.Group{Target: translate.TargetGroup{
		Read: on.failed[out.As] == nil && (exists || on.hidden == nil), Exists: exists, State: at.State, Type: at.Type, Protocol: at.ProtocolType,
	}}
	for _, key := range keys {
		row := by[key]
		if key.Partition == verdicts.WholeGroup {
			out.State = "left out: " + cmp.Or(row.Verdict.Reason, row.Verdict.String())
			continue
		}
		p := status.HandedPosition{
			Topic: key.Topic, Partition: key.Partition, Offset: status.Unknown, Metadata: row.Metadata, OnTarget: status.Unknown,
			Exact: row.Verdict.IsExact(), Sentence: row.Verdict.String(), AsOf: row.At.UTC(),
		}
		planned := translate.Row{Partition: partition.ID{Topic: cmp.Or(row.RemoteTopic, key.Topic), Partition: key.Partition}, Committed: offsetmap.SourceOffset(row.Committed), Metadata: row.Metadata, Verdict: row.Verdict}
		if row.Verdict.HasPosition() {
			p.Topic, p.Offset = row.RemoteTopic, int64(row.Verdict.Target)
			if c, ok := on.positions[out.As][planned.Partition]; ok {
				p.OnTarget = c.Offset
				planned.Present = &translate.Present{Offset: offsetmap.TargetOffset(c.Offset), Metadata: c.Metadata, From: translate.Unknown}
			}
		}
		out.Positions, plan.Rows = append(out.Positions, p), append(plan.Rows, planned)
	}
	slices.SortFunc(out.Positions, func(a, b status.HandedPosition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	if len(keys) == 0 {
		out.State = "no run has written a position of it"
		return out
	}
	if d, is := decided.Moved(out.As); is {
		out.State = fmt.Sprintf("moved to the target on %s by %s: its positions there are its own", d.At.UTC().Format("2006-01-02"), d.By)
	}
	if out.State != "" {
		return out
	}
	commits, state := translate.Plan(plan)
	out.State, out.Writes = state.String(), len(commits)
	if out.Writes > 0 { // Plan says what holds afterwards
		out.State = "to be " + out.State
	}
	if err := on.failed[out.As]; err != nil {
		out.State = fmt.Sprintf("refused: %v", err)
	}
	for i := range out.Positions {
		p := &out.Positions[i]
		if p.Offset != status.Unknown {
			_, p.Write = commits[partition.ID{Topic: p.Topic, Partition: p.Partition}]
		}
	}
	return out
}
