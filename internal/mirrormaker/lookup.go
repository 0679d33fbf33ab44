package mirrormaker

import (
	"fmt"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// There is the place on the target of a source offset by the syncs of its partition. Where they give none, the verdict is
// nil and the sentence says why.
func (f Flow) There(s *Syncs, upstream int64, remote partition.ID, log Log) (*translate.Verdict, string) {
	down, used, ok := s.Translate(upstream)
	if !ok {
		oldest, _ := s.Oldest()
		return nil, fmt.Sprintf("the oldest of MirrorMaker 2's offset syncs that is left is about source offset %d, and it translates nothing below", oldest.Upstream)
	}
	if log.Err != nil {
		v := noRemote(remote, log)
		return &v, v.String()
	}
	if why := s.anew(remote, log); why != "" {
		return nil, why
	}
	at := offsetmap.Position{Kind: offsetmap.Bounded, Target: offsetmap.TargetOffset(down), N: s.Replays(upstream, down, log.To)}
	why := fromSync + fmt.Sprintf(", the nearest one below says that source offset %d is %d", used.Upstream, used.Downstream)
	if used.Upstream == upstream {
		at.Kind, at.N, why = offsetmap.Exact, 0, fromSync+", one is about this very offset"
	}
	v := f.fit(upstream, log, at, why)
	return &v, v.String()
}

// Back is the other direction, which MirrorMaker 2 has no answer for: the rule of its offset syncs turned round. The place
// is status.Unknown where there is none.
func (s *Syncs) Back(downstream int64, remote partition.ID, log Log) (at int64, exact bool, sentence string) {
	oldest, _ := s.Oldest()
	up, n, used, ok := s.SyncTable.Back(downstream)
	switch {
	case log.Err != nil:
		return status.Unknown, false, fmt.Sprintf("the log of %s is not known: %v", remote, log.Err)
	case s.anew(remote, log) != "":
		return status.Unknown, false, s.anew(remote, log)
	case downstream > log.To:
		return status.Unknown, false, fmt.Sprintf("the log of %s ends at %d", remote, log.To)
	case !ok:
		return status.Unknown, false, fmt.Sprintf("the oldest of MirrorMaker 2's offset syncs that is left is about target offset %d, and it translates nothing below", oldest.Downstream)
	case used.Downstream == downstream && n == 0:
		return up, true, fmt.Sprintf("exact at source offset %d: %s, one is about this very offset", up, fromSync)
	}
	return up, false, fmt.Sprintf("at source offset %d, which replays at most %s: %s, %s", up, replayed(n), fromSync, below(used, downstream, n))
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
