package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// TestCase64InternalNames: a real MirrorMaker 2 whose remote topics are named with "_" and its internal ones with dots, as
// its version 3.0 did. With the same file but for the switch that came later, and with no word about separators at all, what
// it left is found, and said to be under another name than the file gives.
func TestCase64InternalNames(t *testing.T) {
	t.Parallel()
	const topic, group, enabled = "c64-t", "c64-g", "c64->T.replication.policy.internal.topic.separator.enabled"
	f := newFlow(t, "c64", topic, "c64-.*", "")
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 300})
	f.commit(group, map[string]map[int32]int64{topic: {0: 150}})
	p := sharedMirrorMaker(t)
	cl := f.target()
	f.until(2*time.Minute, "a checkpoint of MirrorMaker 2", func(ctx context.Context) (bool, string) {
		got, err := newestCheckpoints(ctx, cl, f.alias)
		return len(got) == 1, fmt.Sprint(got, err, p.Err())
	})
	for _, c := range []struct {
		name  string
		more  map[string]string
		noted bool
	}{
		{"the new rule", map[string]string{enabled: ""}, true},
		{"the old names", nil, false},
		{"no separator", map[string]string{enabled: "", "c64->T.replication.policy.separator": ""}, false},
	} {
		f.properties(c.more)
		tr := document[status.Translation](f, "translate", "FILE", group)
		if len(tr.Offsets) != 1 || tr.Offsets[0].Topic != "c64_"+topic || tr.Offsets[0].Offset < 1 || tr.Offsets[0].Offset > 150 {
			t.Errorf("%s: %+v", c.name, tr)
		}
		g := document[status.Groups](f, "groups", "FILE", group)
		if len(g.Groups) != 1 || len(g.Groups[0].Positions) != 1 || g.Groups[0].Positions[0].Topic != topic || g.Groups[0].Positions[0].Lag != 150 {
			t.Errorf("%s: %+v", c.name, g)
		}
		recs := document[status.MM2Records](f, "inspect", "checkpoints", "FILE")
		if recs.Topic != "c64.checkpoints.internal" || len(recs.Checkpoints) != 1 {
			t.Errorf("%s: %+v", c.name, recs)
		}
		if notes := strings.Join(recs.Notes, "\n"); strings.Contains(notes, "c64.checkpoints.internal is shown: c64_checkpoints_internal, which the file names, is not there") != c.noted {
			t.Errorf("%s: notes %q", c.name, notes)
		}
	}

	// A run by the new rule would need c64_checkpoints_internal, which brokers refuse beside c64.checkpoints.internal.
	f.properties(map[string]string{enabled: ""})
	if err := f.refusedAtStart(); err == nil || !strings.Contains(err.Error(), "collides with existing topic: c64.checkpoints.internal") ||
		!strings.Contains(err.Error(), "internal.topic.separator.enabled=false") {
		t.Errorf("a run by the new rule: %v", err)
	}
}

// TestCase64Twins: topics of both names hold records. The one that the file names is shown, and the other is named.
func TestCase64Twins(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "c64w", "c64w-t", "c64w-.*", ", separator: \"-\"")
	for topic, up := range map[string]int64{"c64w.checkpoints.internal": 5, "c64w-checkpoints-internal": 7} {
		if err := testcluster.CreateTopic(t.Context(), suite.target.ClientOpts(), topic, 1, nil); err != nil {
			t.Fatal(err)
		}
		c := mm2.Checkpoint{Group: "c64w-g", Topic: "c64w-c64w-t", Upstream: up, Downstream: up}
		key, _ := c.AppendKey(nil)
		value, err := c.AppendValue(nil)
		if err != nil {
			t.Fatal(err)
		}
		cl := suite.target.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: key, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	out, code := f.tool("inspect", "checkpoints")
	for _, text := range []string{"c64w-checkpoints-internal, which the file names, is shown; c64w.checkpoints.internal holds records of the same kind too", " 7 "} {
		if code != 0 || !strings.Contains(out, text) {
			t.Errorf("exit %d, no %q:\n%s", code, text, out)
		}
	}
	f.rewrite("separator: \"-\"", "separator: \"-\", internal_separator: false")
	out, code = f.tool("inspect", "checkpoints")
	for _, text := range []string{"c64w.checkpoints.internal, which the file names, is shown; c64w-checkpoints-internal holds records", " 5 "} {
		if code != 0 || !strings.Contains(out, text) {
			t.Errorf("exit %d, no %q:\n%s", code, text, out)
		}
	}
}
