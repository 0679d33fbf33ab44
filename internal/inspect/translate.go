package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// Translate gives a group's positions on the target as RemoteClusterUtils.translateOffsets does, from the verdicts
// topic, and beside them what the group has committed there itself. The source is not asked. Where no run has been they
// are MirrorMaker 2's own, from its checkpoints.
func (r *Reader) Translate(ctx context.Context, group string) (status.Translation, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Translation{}, err
	}
	defer cancel()
	out := status.Translation{Header: r.header(), Group: group, Offsets: []status.Offset{}}
	on, err := r.groupsOnTarget(ctx, &out.Header, []string{group}, nil)
	if err != nil {
		return out, err
	}
	if out.Moved = movedOf(r.decided(ctx, &out.Header), group, nil); out.Moved != nil {
		out.Notes = append(out.Notes, out.MovedNote())
	}
	out, err = r.translate(ctx, out)
	ownCommits(&out, on)
	return out, err
}

// translate gives the positions by the verdicts topic, or by MirrorMaker 2's checkpoints.
func (r *Reader) translate(ctx context.Context, out status.Translation) (status.Translation, error) {
	group := out.Group
	found, err := r.readRows(ctx, []string{group})
	if never := (*ErrNeverRun)(nil); errors.As(err, &never) {
		return r.translateMM2(ctx, out, never)
	}
	if err != nil {
		return out, err
	}
	r.besides(ctx, &out.Header)
	out.Trouble, out.Damage = found.trouble, found.damage
	r.current(ctx, &out.Header, found.by)
	var gone time.Time // since when the source does not hold some of it
	for key, row := range found.by {
		v := row.Verdict
		if !row.GoneAt.IsZero() && (gone.IsZero() || row.GoneAt.Before(gone)) {
			gone = row.GoneAt.UTC()
		}
		if key.Partition == verdicts.WholeGroup {
			out.Notes = append(out.Notes, fmt.Sprintf("group %q has no positions on the target: %s", group, v))
			continue
		}
		if row.Committed < 0 || !v.HasPosition() {
			p := position(key.Topic, key.Partition, row.Committed, v)
			p.RemoteTopic, p.Metadata, p.AsOf = row.RemoteTopic, row.Metadata, row.At.UTC()
			out.Without = append(out.Without, *p)
			continue
		}
		out.Offsets = append(out.Offsets, status.Offset{
			Topic: row.RemoteTopic, Partition: key.Partition, Offset: int64(v.Target), Metadata: row.Metadata, Exact: v.IsExact(), Sentence: v.String(),
		})
	}
	if !gone.IsZero() {
		out.Notes = append(out.Notes, fmt.Sprintf("group %q, or a part of its positions, is gone from the source since %s: these are the last that were known", group, gone.Format(time.RFC3339)))
	}
	slices.SortFunc(out.Offsets, func(a, b status.Offset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	slices.SortFunc(out.Without, func(a, b status.Position) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out, nil
}

// Query is a question to one offset map.
type Query struct {
	Topic     string // on the source; with Reverse its name on the target does as well
	Partition int32
	Offset    int64 // the next record to read
	Reverse   bool  // from the target to the source
}

// ErrNoMap says that the ledger has no offset map of a partition.
type ErrNoMap struct {
	Partition partition.ID
	Flow      string
	Why       string
	Unknown   bool // the ledger has no record of the partition, or nothing of it was ever mirrored
}

func (e *ErrNoMap) Error() string {
	return fmt.Sprintf("there is no offset map of %s: %s", e.Partition, e.Why)
}

// Lookup asks the offset map of one partition. Where Tidemark has mirrored nothing of it MirrorMaker 2's offset syncs
// answer, if there are any.
func (r *Reader) Lookup(ctx context.Context, q Query) (status.Lookup, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Lookup{}, err
	}
	defer cancel()
	out := status.Lookup{Header: r.header(), Partition: q.Partition, Reverse: q.Reverse, SourceAt: status.Unknown, TargetAt: status.Unknown}
	c, key, err := r.mapFor(ctx, &out.Header, q)
	never, none := (*ErrNeverRun)(nil), (*ErrNoMap)(nil)
	if errors.As(err, &never) || errors.As(err, &none) && none.Unknown {
		return r.lookupMM2(ctx, out, q, err)
	}
	if err != nil {
		return out, err
	}
	r.besides(ctx, &out.Header)
	m, err := c.Map(key)
	if err != nil {
		return out, err
	}
	h := c.Heads[key]
	out.Topic, out.RemoteTopic, out.MirroredTo, out.AsOf = key.Topic, h.RemoteTopic, int64(m.Through()), h.At.UTC()
	if h.State == ledger.Stopped {
		out.Notes = append(out.Notes, "the partition is stopped: "+h.Reason)
	}
	if q.Reverse {
		out.TargetAt = q.Offset
	} else {
		out.SourceAt = q.Offset
	}
	if r.lookupLost(ctx, &out, h, m.Origin().TargetTopicID) {
		return out, nil
	}
	if q.Reverse {
		at, kind := m.Source(offsetmap.TargetOffset(q.Offset))
		out.SourceAt = int64(at)
		out.Sentence, out.Exact = backwards(kind, int64(at))
		return out, nil
	}
	in, err := r.input(ctx, partition.ID{Topic: h.RemoteTopic, Partition: key.Partition}, &out.Header)
	if err != nil {
		return out, err
	}
	in.Committed, in.Map = offsetmap.SourceOffset(q.Offset), m
	in.BeganAtLogStart, in.StartByChoice = c.Beginning(key, m.Origin().SourceTopicID)
	v := translate.Judge(in)
	out.Verdict, out.Sentence, out.Exact = &v, v.String(), v.IsExact()
	if v.HasPosition() {
		out.TargetAt = int64(v.Target)
	}
	return out, nil
}

// mapFor finds the lane's contents that have the partition, and under which name of the topic.
func (r *Reader) mapFor(ctx context.Context, h *status.Header, q Query) (*ledger.Contents, partition.ID, error) {
	lanes, err := r.lanes(ctx, r.ledger)
	if err != nil {
		return nil, partition.ID{}, err
	}
	names := []string{q.Topic}
	if q.Reverse {
		if name, ok := r.upstream(q.Topic); ok {
			names = []string{name, q.Topic}
		}
	}
	asked := partition.ID{Topic: q.Topic, Partition: q.Partition}
	for _, name := range names {
		key := partition.ID{Topic: name, Partition: q.Partition}
		lane := ledger.LaneOf(name, q.Partition, lanes)
		contents, trouble, err := r.readLedger(ctx, []int32{lane}, nil)
		if err != nil {
			return nil, key, err
		}
		if len(trouble) > 0 {
			return nil, key, fmt.Errorf("%s", trouble[0])
		}
		c := contents[lane]
		if d, bad := c.HeadDamaged(key); bad {
			return nil, key, &ErrNoMap{Partition: asked, Flow: h.Flow, Why: fmt.Sprintf("its record at offset %d of %s-%d is damaged: %v", d.Offset, r.ledger, lane, d.Err)}
		}
		switch head, ok := c.Heads[key]; {
		case ok && !head.Mirrored():
			return nil, key, &ErrNoMap{Partition: asked, Flow: h.Flow, Unknown: true, Why: "the partition was stopped before anything was mirrored: " + head.Reason}
		case ok:
			return c, key, nil
		}
	}
	return nil, partition.ID{}, &ErrNoMap{Partition: asked, Flow: h.Flow, Unknown: true, Why: "the ledger does not know the partition; `tidemark status` lists those it knows"}
}

// input is what the target says about its log; the rest of a question is not known.
func (r *Reader) input(ctx context.Context, remote partition.ID, h *status.Header) (translate.Input, error) {
	in := translate.Input{
		Earliest:    r.flow.UnmirroredPositions == config.UnmirroredEarliest,
		SourceStart: translate.Unknown, LastStable: translate.Unknown, TargetStart: translate.Unknown, TargetEnd: translate.Unknown,
	}
	ends, failed, err := r.target.Extents(ctx, []partition.ID{remote})
	if err != nil {
		return in, err
	}
	if e, ok := ends[remote]; ok {
		in.TargetStart, in.TargetEnd = offsetmap.TargetOffset(e.From), offsetmap.TargetOffset(e.To)
	} else {
		h.Notes = append(h.Notes, fmt.Sprintf("the remote partition's log is not known: %v", failed[remote]))
	}
	return in, nil
}

// backwards is the answer of the other direction in words.
func backwards(kind offsetmap.Kind, at int64) (sentence string, exact bool) {
	switch kind {
	case offsetmap.Exact:
		return fmt.Sprintf("exact at source offset %d", at), true
	case offsetmap.AtEnd:
		return fmt.Sprintf("exact at source offset %d, the end of what is mirrored", at), true
	case offsetmap.BeforeStart:
		return fmt.Sprintf("exact at source offset %d, the first mirrored record", at), true
	case offsetmap.BeyondMirrored:
		return fmt.Sprintf("beyond what the ledger knows of the target; mirrored records end at source offset %d", at), false
	case offsetmap.NotMirrored:
		return fmt.Sprintf("below the place where mirroring began, which is source offset %d", at), false
	case offsetmap.Trimmed:
		return fmt.Sprintf("the offset map was trimmed there; it begins at source offset %d", at), false
	case offsetmap.Bounded:
		return fmt.Sprintf("a part of the offset map is missing, or an unclean stop left the place open; not later than the right place is source offset %d", at), false
	}
	return fmt.Sprintf("the offset map answered %q", kind), false
}
