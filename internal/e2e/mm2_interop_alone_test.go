package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

// TestMirrorMakerAlone: on a target where only a real MirrorMaker 2 has been translate and groups answer from what it left,
// never past an unread record and with a bound that holds. A run with the same file then appends nothing to what MirrorMaker
// 2 filled, says who did and what there is to choose, and its own answers count from then on.
func TestMirrorMakerAlone(t *testing.T) {
	t.Parallel()
	const topic, group = "mm-t", "mm-g"
	f := newFlow(t, "mm", topic, "mm-.*", "")
	f.properties(map[string]string{"mm->T.topics": topic}) // the rest is another test's
	f.topic(topic, 2, nil)
	f.transactions(testcluster.Load{Topic: topic, Partitions: 2, Count: 1000}, 7)
	at := spots{}
	at.add(group, topic, 0, 333)
	at.add(group, topic, 1, f.sourceEnd(topic, 1))
	at.add("mm-late", topic, 1, 120)
	f.commitAll(at)
	p := sharedMirrorMaker(t)
	cl := f.target()
	f.until(2*time.Minute, "checkpoints of MirrorMaker 2", func(ctx context.Context) (bool, string) {
		got, err := newestCheckpoints(ctx, cl, f.alias)
		for s, c := range at {
			if cp := got[spot{s.group, f.remote(topic), s.partition}]; cp.Upstream != c {
				return false, fmt.Sprintf("%v: %v, %v, %v", s, cp, err, p.Err())
			}
		}
		return true, ""
	})
	held := f.held(topic, testcluster.ReadUncommitted)
	f.translatesFromCheckpoints(group, at, held)
	f.groupsFromCheckpoints(at)
	f.translatesFromSyncs(topic, held)

	before := held.ends
	stop := f.start()
	for s := range at {
		f.stopped(cl, s, "mm."+topic, "did not write", "a MirrorMaker 2 did, its topic mm2-offsets.mm.internal is there", "use another alias or policy, or delete the remote topic")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	after, err := testcluster.Ends(t.Context(), cl, f.remote(topic), testcluster.ReadUncommitted)
	if err != nil || after[0] != before[0] || after[1] != before[1] {
		t.Errorf("the remote topic ends at %v, was %v, %v: something was appended", after, before, err)
	}
	_, errs, code := f.says("translate", "FILE", group)
	if code != 1 || !strings.Contains(errs, "a MirrorMaker 2 ran this flow too") || !strings.Contains(errs, "did not write") {
		t.Errorf("translate after a run, exit %d: %s", code, errs)
	}
	l := document[status.Lookup](f, "translate", "FILE", "--topic", topic, "--partition", "0", "--offset", "333")
	if l.Basis != status.BasisOffsetSyncs || l.TargetAt < 0 {
		t.Errorf("an offset of a partition that was stopped at once: %+v", l)
	}
}

// bounded asserts that a position is not past the first unread record and that no more is read again than was said.
func (f *flow) bounded(s spot, committed, offset, most int64, c contents) {
	f.tb.Helper()
	err := testcluster.CheckPosition(c.source[s.partition], committed, c.target[s.partition], offset, c.ends[s.partition])
	var pe *testcluster.PositionError
	switch {
	case err == nil:
	case !errors.As(err, &pe):
		f.tb.Errorf("%v: %v", s, err)
	case len(pe.Skipped) > 0 || int64(len(pe.Replayed)) > most:
		f.tb.Errorf("%v, at most %d were to be read again: %v", s, most, err)
	}
}

// besideCheckpoints asks for a document beside a MirrorMaker 2 that goes on writing checkpoints: it gives the document, and the
// checkpoints that were the same before it and after it.
func besideCheckpoints[T any](f *flow, args ...string) (doc T, cps map[spot]mm2.Checkpoint) {
	f.tb.Helper()
	cl := f.target()
	f.until(60*time.Second, "checkpoints that rest while they are read", func(ctx context.Context) (bool, string) {
		before, err := newestCheckpoints(ctx, cl, f.alias)
		if err != nil {
			return false, err.Error()
		}
		doc = document[T](f, args...)
		cps, err = newestCheckpoints(ctx, cl, f.alias)
		return err == nil && maps.Equal(before, cps), fmt.Sprintf("%v, then %v, %v", before, cps, err)
	})
	return doc, cps
}

func (f *flow) translatesFromCheckpoints(group string, at spots, held contents) {
	f.tb.Helper()
	tr, cps := besideCheckpoints[status.Translation](f, "translate", "FILE", group)
	if tr.Basis != status.BasisCheckpoints || len(tr.Offsets) != 2 || len(tr.Without) != 0 {
		f.tb.Errorf("translate: %+v", tr)
	}
	for _, o := range tr.Offsets {
		s := spot{group, strings.TrimPrefix(o.Topic, f.alias+"."), o.Partition}
		if cp := cps[spot{group, o.Topic, o.Partition}]; o.Offset != cp.Downstream || o.Exact || !strings.Contains(o.Sentence, "from MirrorMaker 2's checkpoint") {
			f.tb.Errorf("%+v, the checkpoint is %v", o, cp)
		}
		var pos, most int64
		_, err := fmt.Sscanf(o.Sentence, "at offset %d, which replays nothing", &pos)
		if err != nil {
			_, err = fmt.Sscanf(o.Sentence, "at offset %d, which replays at most %d record", &pos, &most)
		}
		if err != nil || pos != o.Offset {
			f.tb.Errorf("%q: %v", o.Sentence, err)
		}
		f.bounded(s, at[s], o.Offset, most, held)
	}
	out, errs, code := f.says("translate", "FILE", group, "--check")
	if code != 3 || !strings.Contains(errs, "shown is what MirrorMaker 2 left") {
		f.tb.Errorf("translate --check, exit %d: %s%s", code, out, errs)
	}
}

func (f *flow) groupsFromCheckpoints(at spots) {
	f.tb.Helper()
	g, cps := besideCheckpoints[status.Groups](f, "groups", "FILE")
	seen := 0
	for _, group := range g.Groups {
		for _, p := range group.Positions {
			s := spot{group.Group, p.Topic, p.Partition}
			if _, ours := at[s]; !ours {
				continue // of another test that shares MirrorMaker 2
			}
			seen++
			cp := cps[spot{group.Group, p.RemoteTopic, p.Partition}]
			end := f.sourceEnd(p.Topic, p.Partition)
			if p.Committed != at[s] || p.Now != at[s] || p.Target != cp.Downstream || p.Lag != end-at[s] || !p.SourceLive || p.Exact || p.Verdict.Kind != translate.Bounded {
				f.tb.Errorf("%+v, the checkpoint is %v, the source ends at %d", p, cp, end)
			}
		}
	}
	if g.Basis != status.BasisCheckpoints || seen != len(at) {
		f.tb.Errorf("%d of %d positions: %+v", seen, len(at), g)
	}
}

// translatesFromSyncs asks for offsets of partition 0: each that MirrorMaker 2 has a sync of, and some between.
func (f *flow) translatesFromSyncs(topic string, held contents) {
	f.tb.Helper()
	all, table := syncsOf(f.tb, suite.source, "mm2-offset-syncs.T.internal", topic)
	oldest, ok := table.Oldest()
	if !ok {
		f.tb.Fatalf("MirrorMaker 2 wrote no offset sync of %s-0", topic)
	}
	newest := all[len(all)-1]
	for _, c := range []struct {
		upstream int64
		exact    bool
	}{{oldest.Upstream, true}, {newest.Upstream, true}, {newest.Upstream + 1, false}, {333, slices.ContainsFunc(all, func(s mm2.OffsetSync) bool { return s.Upstream == 333 })}} {
		l := document[status.Lookup](f, "translate", "FILE", "--topic", topic, "--partition", "0", "--offset", fmt.Sprint(c.upstream))
		if l.Basis != status.BasisOffsetSyncs || l.Exact != c.exact || l.RemoteTopic != f.remote(topic) || l.Verdict == nil {
			f.tb.Errorf("%+v: %+v", c, l)
			continue
		}
		f.bounded(spot{"", topic, 0}, c.upstream, l.TargetAt, l.Verdict.N, held)
	}
	back := contents{source: held.target, target: held.source, ends: map[int32]int64{0: f.sourceEnd(topic, 0)}}
	for _, at := range []int64{oldest.Downstream, newest.Downstream, newest.Downstream + 1, 333, held.ends[0] - 1, held.ends[0]} {
		l := document[status.Lookup](f, "translate", "FILE", "--topic", f.remote(topic), "--partition", "0", "--offset", fmt.Sprint(at), "--reverse")
		var pos, most int64
		if _, err := fmt.Sscanf(l.Sentence, "at source offset %d, which replays at most %d record", &pos, &most); l.Basis != status.BasisOffsetSyncs || l.SourceAt < 0 || l.Exact == (err == nil) {
			f.tb.Errorf("back from %d: %+v, %v", at, l, err)
		}
		f.bounded(spot{"", f.remote(topic), 0}, at, l.SourceAt, most, back)
	}
}
