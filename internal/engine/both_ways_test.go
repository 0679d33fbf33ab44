package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestCase70BothWaysInOneProcess: two flows in one process, one each way: each writes to its own target, told by its cluster
// id, with its own lanes, and neither mirrors what the other brought.
func TestCase70BothWaysInOneProcess(t *testing.T) {
	e := newEnds(t, "")
	common := "replication_factor: 1, lanes: 2, positions_interval: 100ms, heartbeats_interval: 200ms"
	e.cfg = e.parse(fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows:\n  - {from: A, to: B, %s}\n  - {from: B, to: A, %s}\n",
		strings.Join(e.source.ListenAddrs(), ","), strings.Join(e.target.ListenAddrs(), ","), common, common))
	ctx := t.Context()
	fill := func(c *kfake.Cluster, admin *kadm.Client, topic string, n int) {
		if _, err := admin.CreateTopics(ctx, 1, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		for i := range n {
			cl.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "seq=%d", i)}, nil)
		}
		if err := cl.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	fill(e.source, e.src, "east", 120)
	fill(e.target, e.dst, "west", 80)
	for admin, topic := range map[*kadm.Client]string{e.src: "east", e.dst: "west"} {
		at := kadm.Offsets{}
		at.AddOffset(topic, 0, 33, -1)
		if err := admin.CommitAllOffsets(ctx, "reader-of-"+topic, at); err != nil {
			t.Fatal(err)
		}
	}
	stop := e.run()
	arrived := func(admin *kadm.Client, topic string, n int64, group string) func() bool {
		return func() bool {
			ends, err := admin.ListEndOffsets(ctx, topic)
			if o, ok := ends.Lookup(topic, 0); err != nil || !ok || o.Offset != n {
				return false
			}
			got, err := admin.FetchOffsets(ctx, group)
			o, ok := got.Lookup(topic, 0)
			return err == nil && ok && o.At == 33
		}
	}
	e.until("east on B", arrived(e.dst, "A.east", 120, "reader-of-east"))
	e.until("west on A", arrived(e.src, "B.west", 80, "reader-of-west"))
	e.until("heartbeats both ways", func() bool {
		b, err := e.dst.ListEndOffsets(ctx, "A.heartbeats")
		x, ok := b.Lookup("A.heartbeats", 0)
		return err == nil && ok && x.Offset > 0
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for admin, want := range map[*kadm.Client]struct {
		id, has  string
		unwanted []string
	}{
		e.src: {"cluster-a", "B.west", []string{"A.east", "B.A.east", "A.B.west"}},
		e.dst: {"cluster-b", "A.east", []string{"B.west", "A.B.west", "B.A.east"}},
	} {
		at, err := admin.Metadata(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if at.Cluster != want.id || !at.Topics.Has(want.has) {
			t.Errorf("cluster %s has %v, want %s on %s", at.Cluster, at.Topics.Names(), want.has, want.id)
		}
		for _, unwanted := range want.unwanted {
			if at.Topics.Has(unwanted) {
				t.Errorf("%s exists on %s", unwanted, at.Cluster)
			}
		}
	}
}
