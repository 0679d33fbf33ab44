package inspect

import (
	"context"
	"errors"
	"fmt"

	"tidemark/internal/kafka"
	"tidemark/internal/status"
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
	asked := kafka.TP{Topic: q.Topic, Partition: q.Partition}
	named := asked // as offset syncs name it
	if q.Reverse {
		named.Topic = r.sourceTopic(q.Topic)
	}
	by, t, is, err := r.readSyncs(ctx, &out.Header, func(tp kafka.TP) bool { return tp == asked || tp == named })
	if err != nil {
		return out, err
	}
	if by[asked] == nil {
		asked = named
	}
	s := by[asked]
	if s == nil {
		if errors.As(own, &never) {
			_, own = instead(never, fmt.Sprintf("an offset sync of %s in %s", asked, is.name), "", false)
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
	remote := kafka.TP{Topic: out.RemoteTopic, Partition: q.Partition}
	logs, noLog, err := r.target.extents(ctx, []kafka.TP{remote})
	if err != nil {
		return out, err
	}
	v := r.noRemote(remote, noLog[remote])
	if log, ok := logs[remote]; ok {
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
	remote := kafka.TP{Topic: out.RemoteTopic, Partition: q.Partition}
	logs, noLog, err := r.target.extents(ctx, []kafka.TP{remote})
	if err != nil {
		return err
	}
	log, known := logs[remote]
	newest, _ := s.Newest()
	oldest, _ := s.Oldest()
	up, n, used, ok := s.Back(q.Offset)
	switch {
	case !known:
		out.Sentence = fmt.Sprintf("the log of %s is not known: %v", remote, noLog[remote])
	case newest.Downstream >= log.to:
		out.Sentence = fmt.Sprintf("MirrorMaker 2's offset syncs go to offset %d of %s, whose log ends at %d: the remote topic was made anew, or lost records", newest.Downstream, remote, log.to)
	case q.Offset > log.to:
		out.Sentence = fmt.Sprintf("the log of %s ends at %d", remote, log.to)
	case !ok:
		out.Sentence = fmt.Sprintf("the oldest of MirrorMaker 2's offset syncs that is left is about target offset %d, and it translates nothing below", oldest.Downstream)
	case used.Downstream == q.Offset:
		out.SourceAt, out.Exact = up, true
		out.Sentence = fmt.Sprintf("exact at source offset %d: %s, one is about this very offset", up, fromSync)
	default:
		out.SourceAt = up
		records := "records"
		if n == 1 {
			records = "record"
		}
		out.Sentence = fmt.Sprintf("at source offset %d, which replays at most %d %s: %s, the nearest one below says that source offset %d is %d", up, n, records, fromSync, used.Upstream, used.Downstream)
	}
	return nil
}
