package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

// TestEveryShapeAndPosition is the main promise: topics of every shape, written before the mirror starts, and 300 groups
// at random positions, also on markers and in holes. Lost 0, twice 0, order kept; replays 0, skips 0, none missing.
func TestEveryShapeAndPosition(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "shapes", `sh-.*`, `sg-.*`, "")
	shapes := testcluster.Shapes("sh-")
	conn := suite.source.ClientOpts()
	for _, s := range shapes {
		if err := s.Fill(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	scl, tcl := suite.source.Client(t), suite.target.Client(t)
	for _, s := range shapes {
		if s.Compacted {
			for p := range s.Load.Partitions {
				if err := testcluster.WaitCompacted(t.Context(), scl, s.Load.Topic, p); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	stop := f.start()
	source := map[string][]testcluster.Rec{}
	target := map[string][]testcluster.Rec{}
	for _, s := range shapes {
		topic := s.Load.Topic
		source[topic], target[topic] = f.mirrored(topic)
		if s.Compacted {
			r := testcluster.CompareCompacted(source[topic], target[topic], testcluster.Compaction{Target: true, Tombstones: true})
			if err := r.Err(); err != nil {
				t.Errorf("%s: %v", topic, err)
			}
		} else if err := testcluster.Compare(source[topic], target[topic]).Err(); err != nil {
			t.Errorf("%s: %v", topic, err)
		}
	}

	rnd := rand.New(rand.NewPCG(11, 13))
	committed := map[string]map[string]map[int32]int64{}
	for g := range 300 {
		at := map[string]map[int32]int64{}
		for _, s := range shapes {
			if rnd.IntN(4) != 0 {
				continue
			}
			topic := s.Load.Topic
			starts, err := testcluster.Starts(t.Context(), scl, topic)
			if err != nil {
				t.Fatal(err)
			}
			ends, err := testcluster.Ends(t.Context(), scl, topic, testcluster.ReadUncommitted)
			if err != nil {
				t.Fatal(err)
			}
			at[topic] = map[int32]int64{}
			for p, end := range ends {
				at[topic][p] = starts[p] + rnd.Int64N(end-starts[p]+1)
			}
		}
		if len(at) == 0 {
			at["sh-tiny"] = map[int32]int64{0: rnd.Int64N(61)}
		}
		name := fmt.Sprintf("sg-%d", g)
		committed[name] = at
		f.commit(name, at)
	}
	var names []string
	for g := range committed {
		names = append(names, g)
	}
	var missing string
	f.until(60*time.Second, "300 groups on the target", func(ctx context.Context) (bool, string) {
		got := f.dst.FetchManyOffsets(ctx, names...)
		missing = ""
		n := 0
		for g, at := range committed {
			for topic, ps := range at {
				for p := range ps {
					if o, ok := got[g].Fetched.Lookup("shapes."+topic, p); !ok || o.At < 0 {
						missing = fmt.Sprintf("%s has no position of %s-%d", g, topic, p)
						n++
					}
				}
			}
		}
		return n == 0, missing
	})
	checked := 0
	got := f.dst.FetchManyOffsets(t.Context(), names...)
	for _, s := range shapes {
		topic := s.Load.Topic
		ends, err := testcluster.Ends(t.Context(), tcl, "shapes."+topic, testcluster.ReadUncommitted)
		if err != nil {
			t.Fatal(err)
		}
		for g, at := range committed {
			for p, c := range at[topic] {
				o, _ := got[g].Fetched.Lookup("shapes."+topic, p)
				err := testcluster.CheckPosition(testcluster.OfPartition(source[topic], p), c, testcluster.OfPartition(target[topic], p), o.At, ends[p])
				if err != nil {
					t.Errorf("%s on %s-%d: %v", g, topic, p, err)
				}
				checked++
			}
		}
	}
	t.Logf("%d positions of %d groups checked", checked, len(committed))
	if err := stop(); err != nil && !strings.Contains(err.Error(), "context canceled") {
		t.Error(err)
	}
}
