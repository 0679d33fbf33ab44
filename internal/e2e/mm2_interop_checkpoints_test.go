package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// checkpointConnector is a MirrorCheckpointConnector of MirrorMaker 2 for a flow's alias.
func (f *flow) checkpointConnector(topic, location string) map[string]string {
	return map[string]string{
		"name": "checkpoints-" + f.alias, "connector.class": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector", "tasks.max": "1",
		"source.cluster.alias": f.alias, "source.cluster.bootstrap.servers": suite.source.BootstrapString(),
		"target.cluster.alias": "T", "target.cluster.bootstrap.servers": suite.target.BootstrapString(),
		"topics": topic, "groups": f.alias + "-.*", "offset-syncs.topic.location": location, "checkpoints.topic.replication.factor": "1",
		"emit.checkpoints.interval.seconds": "1", "sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": "1",
	}
}

// syncsOf are the offset syncs about partition 0 of a topic, and the table that they make.
func syncsOf(t testing.TB, r *testcluster.Real, name, topic string) ([]mm2.OffsetSync, *mm2.SyncTable) {
	t.Helper()
	recs, err := testcluster.Read(t.Context(), r.Client(t), name, testcluster.ReadUncommitted)
	if err != nil {
		t.Fatal(err)
	}
	var all []mm2.OffsetSync
	var table mm2.SyncTable
	for _, rec := range recs {
		if s, err := mm2.ParseOffsetSync(rec.Key, rec.Value); err == nil && s.Topic == topic && s.Partition == 0 {
			all = append(all, s)
			table.Add(s)
		}
	}
	return all, &table
}

// TestMirrorMakersCheckpointsOnOurSyncs: the checkpoint connector of a real MirrorMaker 2 works on the offset syncs of flows
// that Tidemark mirrors and whose groups it leaves alone, in either location of the syncs. It writes checkpoints by its own rule,
// none past the first unread record, and commits them on the target.
func TestMirrorMakersCheckpointsOnOurSyncs(t *testing.T) {
	t.Parallel()
	const stages, each = 3, 300
	type side struct {
		*flow
		topic, syncs string
		on           *testcluster.Real
		at           spots
	}
	var sides []*side
	var connectors []map[string]string
	for _, s := range []*side{
		{topic: "oa-t", syncs: "mm2-offset-syncs.T.internal", on: suite.source},
		{topic: "ob-t", syncs: "mm2-offset-syncs.ob.internal", on: suite.target},
	} {
		alias, location := s.topic[:2], map[bool]string{true: "source", false: "target"}[s.on == suite.source]
		s.flow = newFlow(t, alias, s.topic, alias+"-.*", ", emit_checkpoints: false, sync_groups: false, offset_syncs_location: "+location)
		s.flow.topic(s.topic, 1, nil)
		s.start()
		connectors = append(connectors, s.checkpointConnector(s.topic, location))
		sides = append(sides, s)
	}
	// Three stretches, so that there are three syncs: a flow emits the newest place at most once a second.
	for stage := range int64(stages) {
		for _, s := range sides {
			s.transactions(testcluster.Load{Topic: s.topic, First: stage * each, Count: each}, uint64(stage))
		}
		for _, s := range sides {
			end := s.sourceEnd(s.topic, 0)
			s.until(30*time.Second, "an offset sync near the end", func(context.Context) (bool, string) {
				_, table := syncsOf(t, s.on, s.syncs, s.topic)
				_, used, ok := table.Translate(end)
				return ok && end-used.Upstream < 12, fmt.Sprintf("%v of %d, end %d", used, table.Len(), end)
			})
		}
	}
	for _, s := range sides {
		_, table := syncsOf(t, s.on, s.syncs, s.topic)
		end := s.sourceEnd(s.topic, 0)
		oldest, _ := table.Oldest()
		s.at = spots{}
		for name, c := range map[string]int64{"below": oldest.Upstream - 1, "equal": oldest.Upstream, "between": (oldest.Upstream + end) / 2, "end": end} {
			s.at.add(s.alias+"-"+name, s.topic, 0, c)
		}
		s.commitAll(s.at)
	}
	p, err := testcluster.ConnectStandalone(t.Context(), map[string]string{"bootstrap.servers": suite.target.BootstrapString()}, connectors...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("Connect said:\n%s", p.LogTail(60))
		}
		_ = p.Stop(10 * time.Second)
	}()
	for _, s := range sides {
		all, _ := syncsOf(t, s.on, s.syncs, s.topic)
		s.checkpointsAre(p, s.at, all)
	}
}

// places are the positions that MirrorMaker 2's rule can give for a committed offset. It keeps 64 syncs at distances that
// double, so which one below it uses is its own affair, except that the newest and the oldest are always kept.
func places(syncs []mm2.OffsetSync, committed int64) map[int64]bool {
	out := map[int64]bool{}
	for _, s := range syncs {
		switch {
		case s.Upstream == committed:
			out[s.Downstream] = true
		case s.Upstream < committed:
			out[s.Downstream+1] = true
		}
	}
	if newest := syncs[len(syncs)-1]; newest.Upstream < committed {
		return map[int64]bool{newest.Downstream + 1: true}
	}
	return out
}

// checkpointsAre waits for checkpoints that MirrorMaker 2's rule can give for positions of partition 0, and for its commits
// of them on the target. Positions below the oldest sync have neither; none is past the first unread record.
func (f *flow) checkpointsAre(p *testcluster.Process, at spots, syncs []mm2.OffsetSync) {
	f.tb.Helper()
	held := map[string]contents{}
	for s := range at {
		held[s.topic] = contents{}
	}
	for topic := range held {
		held[topic] = f.held(topic, testcluster.ReadCommitted)
	}
	cl := f.target()
	f.until(60*time.Second, "checkpoints of MirrorMaker 2", func(ctx context.Context) (bool, string) {
		got, err := newestCheckpoints(ctx, cl, f.alias)
		if err != nil || !p.Running() {
			return false, fmt.Sprintf("%v, %v", err, p.Err())
		}
		for s, c := range at {
			cp, ok := got[spot{s.group, f.remote(s.topic), s.partition}]
			can := places(syncs, c)
			switch first, unread := firstUnread(s, c, held[s.topic]); {
			case ok && !can[cp.Downstream]:
				f.tb.Fatalf("%v, committed at %d, has %v; it can be one of %v", s, c, cp, can)
			case ok && unread && cp.Downstream > first:
				f.tb.Fatalf("%v, committed at %d, has %v; its first unread record is at %d", s, c, cp, first)
			case len(can) > 0 && (!ok || cp.Upstream != c):
				return false, fmt.Sprintf("%v, committed at %d, has %v", s, c, cp)
			}
			if pos, err := f.position(ctx, s.group, s.topic, s.partition); ok && (err != nil || pos != cp.Downstream) {
				return false, fmt.Sprintf("%v is committed at %d on the target, %v, its checkpoint is %v", s, pos, err, cp)
			}
		}
		return true, ""
	})
}
