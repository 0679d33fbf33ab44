package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

// shifted makes the remote topic of a flow begin at an offset, so that its offsets are not those of MirrorMaker 2's copy.
func (f *flow) shifted(topic string, by int64) {
	f.tb.Helper()
	f.emptyRemote(topic, 1, nil)
	if err := testcluster.Produce(f.tb.Context(), suite.target.ClientOpts(), testcluster.Load{Topic: f.remote(topic), Count: by}); err != nil {
		f.tb.Fatal(err)
	}
	if err := testcluster.Trim(f.tb.Context(), suite.target.ClientOpts(), f.remote(topic), 0, by); err != nil {
		f.tb.Fatal(err)
	}
}

// TestBesideMirrorMaker: a flow under another alias mirrors what a running MirrorMaker 2 mirrors to the same cluster, and
// neither touches the other's topics. Both name their offset-syncs topic after the target, so they share it: with
// emit_offset_syncs: false MirrorMaker 2's checkpoints stay right, without it MirrorMaker 2 takes our target offsets for its
// own and writes checkpoints beyond the end of its copy, where a group would skip records.
func TestBesideMirrorMaker(t *testing.T) {
	t.Parallel()
	const shift, count = 500, 300
	quiet := newFlow(t, "my", "mm-y", "none", ", emit_offset_syncs: false")
	loud := newFlow(t, "mx", "mm-x", "none", "")
	ours := map[string]*flow{"mm-y": quiet, "mm-x": loud}
	f := newFlow(t, "mm", "mm-[xy]", "none", "")
	p := sharedMirrorMaker(t)
	at := spots{}
	for topic, o := range ours {
		o.topic(topic, 1, nil)
		o.shifted(topic, shift)
		o.produce(testcluster.Load{Topic: topic, Count: count})
		o.start()
		at.add("mm-g-"+topic, topic, 0, 250)
	}
	f.commitAll(at)
	for topic, o := range ours {
		f.copiedBy(f.remote(topic), count, 120*time.Second)
		o.copiedBy(o.remote(topic), count, 30*time.Second)
	}
	cl := f.target()
	// Each round is one record and one commit behind it: the newest sync of the loud flow's topic is ours then, for
	// MirrorMaker 2 writes one for every hundred records.
	harmed := false
	for round := int64(0); round < 10 && !harmed; round++ {
		for topic := range ours {
			f.write(numbered(topic, 0, count+round))
			at[spot{"mm-g-" + topic, topic, 0}] = count + round + 1
		}
		for topic, o := range ours {
			f.copiedBy(f.remote(topic), int(count+round+1), 30*time.Second)
			o.copiedBy(o.remote(topic), int(count+round+1), 30*time.Second)
		}
		last := count + round
		f.until(30*time.Second, "our offset sync", func(context.Context) (bool, string) {
			all, _ := syncsOf(t, suite.source, "mm2-offset-syncs.T.internal", "mm-x")
			newest := all[len(all)-1]
			return newest.Upstream == last && newest.Downstream == last+shift, newest.String()
		})
		f.commitAll(at)
		began := time.Now()
		f.until(60*time.Second, "a checkpoint of these commits", func(ctx context.Context) (bool, string) {
			got, err := newestCheckpoints(ctx, cl, f.alias)
			good, some := got[spot{"mm-g-mm-y", "mm.mm-y", 0}]
			bad := got[spot{"mm-g-mm-x", "mm.mm-x", 0}]
			if some && good.Downstream > good.Upstream {
				t.Fatalf("%v: in the copy of MirrorMaker 2 each record has its source offset", good)
			}
			harmed = bad.Downstream > last+1
			// If MirrorMaker 2 wrote a sync of its own after ours, the next round shows it.
			return p.Running() && some && (harmed || time.Since(began) > 5*time.Second), fmt.Sprintf("%v, %v, %v", good, bad, err)
		})
	}
	if !harmed {
		t.Error("sharing the offset-syncs topic did MirrorMaker 2 no harm: the advice to switch it off is idle")
	}
	for _, s := range mustSyncs(t, "mm-y") {
		if s >= shift {
			t.Errorf("an offset sync of mm-y has target offset %d: it is ours, although emit_offset_syncs is off", s)
		}
	}
	f.chained(quiet, "mm-y", shift)
	f.same("mm-x", "mm-y") // what MirrorMaker 2 copied, record by record
	loud.same("mm-x")
	quiet.same("mm-y")
}

// chained follows docs/from-mirrormaker.md for an application that consumes MirrorMaker 2's copy on the target: its offset
// there, by MirrorMaker 2's offset syncs to one of the source, and by our offset map to one in our copy. f is MirrorMaker
// 2's flow, in whose copy each record has its source offset; in o's it has that and shift.
func (f *flow) chained(o *flow, topic string, shift int64) {
	f.tb.Helper()
	answered := 0
	for _, at := range []int64{1, 50, 101, 250, 299, 300} {
		ask := func(of *flow, topic string, offset int64, more ...string) status.Lookup {
			return document[status.Lookup](of, append([]string{"translate", "FILE", "--topic", topic, "--partition", "0", "--offset", fmt.Sprint(offset)}, more...)...)
		}
		back := ask(f, f.remote(topic), at, "--reverse")
		if back.SourceAt == status.Unknown {
			continue // below the oldest offset sync; the answer says so
		}
		answered++
		most := int64(0)
		if _, err := fmt.Sscanf(back.Sentence, fmt.Sprintf("at source offset %d, which replays at most %%d", back.SourceAt), &most); err != nil && !back.Exact {
			f.tb.Errorf("%s offset %d: %q", f.remote(topic), at, back.Sentence)
		}
		there := ask(o, topic, back.SourceAt)
		if got := there.TargetAt - shift; !there.Exact || got > at || got < at-most {
			f.tb.Errorf("record %d of the old copy is next: %s; in the new copy it is record %d: %s", at, back.Sentence, got, there.Sentence)
		}
	}
	if answered == 0 {
		f.tb.Error("no place had an answer")
	}
}

// mustSyncs are the target offsets of all syncs of a topic; there is one at least.
func mustSyncs(t *testing.T, topic string) []int64 {
	t.Helper()
	all, _ := syncsOf(t, suite.source, "mm2-offset-syncs.T.internal", topic)
	if len(all) == 0 {
		t.Fatalf("no offset sync of %s", topic)
	}
	var out []int64
	for _, s := range all {
		out = append(out, s.Downstream)
	}
	return out
}

// copiedBy waits until a topic of the target holds n records.
func (f *flow) copiedBy(topic string, n int, within time.Duration) {
	f.tb.Helper()
	cl := f.target()
	f.until(within, fmt.Sprintf("%d records in %s", n, topic), func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, topic, testcluster.ReadUncommitted)
		return err == nil && len(recs) >= n, fmt.Sprint(len(recs), err)
	})
}
