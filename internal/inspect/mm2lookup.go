package inspect

import (
	"context"
	"errors"
	"fmt"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// lookupMM2 is Lookup where only a MirrorMaker 2 has mirrored the partition; own is why Tidemark has no answer.
func (r *Reader) lookupMM2(ctx context.Context, out status.Lookup, q Query, own error) (status.Lookup, error) {
	never := (*ErrNeverRun)(nil)
	if r.syncsOnSource() && !r.openSource(ctx, &out.Header) {
		if errors.As(own, &never) {
			return out, fmt.Errorf("%w; MirrorMaker 2's %w", own, r.noSyncs(&out.Header))
		}
		return out, own // this flow is Tidemark's; that there was a MirrorMaker 2 would be a guess
	}
	asked := partition.ID{Topic: q.Topic, Partition: q.Partition}
	named := asked // as offset syncs name it
	if q.Reverse {
		named.Topic = r.sourceTopic(q.Topic)
	}
	by, t, is, err := r.readSyncs(ctx, &out.Header, func(tp partition.ID) bool { return tp == asked || tp == named })
	if err != nil {
		return out, err
	}
	// A source topic can be called as the remote topic of another one is. As in mapFor the name is then taken for one on
	// the target; where another separator made it than that of these syncs it is not.
	if by[named] != nil && r.remoteTopic(named.Topic, t, is.name) == q.Topic {
		asked = named
	}
	s := by[asked]
	if s == nil {
		if errors.As(own, &never) {
			_, own = instead(never, fmt.Sprintf("an offset sync of %s in %s", named, is.name), "", false)
		}
		return out, own
	}
	note := fmt.Sprintf("%v: shown is what MirrorMaker 2 left, its offset syncs in %s", own, is.name)
	if errors.As(own, &never) {
		note, _ = instead(never, is.name, "its offset syncs", true)
	}
	out.Notes = append([]string{note}, out.Notes...)
	out.Basis, out.Topic, out.RemoteTopic, out.AsOf = status.BasisOffsetSyncs, asked.Topic, r.remoteTopic(asked.Topic, t, is.name), s.at
	out.MirroredTo = status.Unknown
	if q.Reverse {
		return out, r.backMM2(ctx, &out, q, s)
	}
	out.SourceAt = q.Offset
	down, used, ok := s.Translate(q.Offset)
	if !ok {
		oldest, _ := s.Oldest()
		out.Sentence = fmt.Sprintf("the oldest of MirrorMaker 2's offset syncs that is left is about source offset %d, and it translates nothing below", oldest.Upstream)
		return out, nil
	}
	remote := partition.ID{Topic: out.RemoteTopic, Partition: q.Partition}
	logs, noLog, err := r.target.extents(ctx, []partition.ID{remote})
	if err != nil {
		return out, err
	}
	v := r.noRemote(remote, noLog[remote])
	if log, ok := logs[remote]; ok {
		if out.Sentence = s.anew(remote, log); out.Sentence != "" {
			return out, nil
		}
		at := offsetmap.Position{Kind: offsetmap.Bounded, Target: offsetmap.TargetOffset(down), N: s.Replays(q.Offset, down, log.to)}
		why := fromSync + fmt.Sprintf(", the nearest one below says that source offset %d is %d", used.Upstream, used.Downstream)
		if used.Upstream == q.Offset {
			at.Kind, at.N, why = offsetmap.Exact, 0, fromSync+", one is about this very offset"
		}
		v = r.judgeSample(q.Offset, log, at, why)
	}
	out.Verdict, out.Sentence, out.Exact = &v, v.String(), v.IsExact()
	if v.HasPosition() {
		out.TargetAt = int64(v.Target)
	}
	return out, nil
}

// backMM2 is the other direction, which MirrorMaker 2 has no answer for: the rule of its offset syncs turned round.
func (r *Reader) backMM2(ctx context.Context, out *status.Lookup, q Query, s *syncs) error {
	out.TargetAt = q.Offset
	remote := partition.ID{Topic: out.RemoteTopic, Partition: q.Partition}
	logs, noLog, err := r.target.extents(ctx, []partition.ID{remote})
	if err != nil {
		return err
	}
	log, known := logs[remote]
	oldest, _ := s.Oldest()
	up, n, used, ok := s.Back(q.Offset)
	switch {
	case !known:
		out.Sentence = fmt.Sprintf("the log of %s is not known: %v", remote, noLog[remote])
	case s.anew(remote, log) != "":
		out.Sentence = s.anew(remote, log)
	case q.Offset > log.to:
		out.Sentence = fmt.Sprintf("the log of %s ends at %d", remote, log.to)
	case !ok:
		out.Sentence = fmt.Sprintf("the oldest of MirrorMaker 2's offset syncs that is left is about target offset %d, and it translates nothing below", oldest.Downstream)
	case used.Downstream == q.Offset && n == 0:
		out.SourceAt, out.Exact = up, true
		out.Sentence = fmt.Sprintf("exact at source offset %d: %s, one is about this very offset", up, fromSync)
	default:
		out.SourceAt = up
		out.Sentence = fmt.Sprintf("at source offset %d, which replays at most %s: %s, %s", up, replayed(n), fromSync, below(used, q.Offset, n))
	}
	return nil
}

func replayed(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// below says what a way back is made of; n is how many records it replays. More than there are target offsets behind the
// sync are second copies, or look like them.
func below(used mm2.OffsetSync, target, n int64) string {
	says := fmt.Sprintf("the nearest one below says that source offset %d is %d", used.Upstream, used.Downstream)
	if used.Downstream == target {
		says = "one is about this very offset"
	}
	if n > max(0, target-used.Downstream-1) {
		says += "; up to there the target has more offsets than the source, which are second copies after a crash, or end markers of transactions"
	}
	return says
}
