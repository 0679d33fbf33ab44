package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// golden holds records as a MirrorMaker 2 wrote them: kind, key and value in hex. UPDATE_GOLDEN=1 writes it anew.
const golden = "../../mm2/testdata/mirrormaker-4.3.0.txt"

// TestReadsMirrorMakersTopics: records that a real MirrorMaker 2 wrote are parsed, give the same bytes again, and are shown
// by inspect, with no run of ours on either cluster.
func TestReadsMirrorMakersTopics(t *testing.T) {
	t.Parallel()
	const topic, group = "rm-t", "rm-caf\u00e9"
	f := newFlow(t, "rm", topic, "rm-.*", "")
	f.topic(topic, 2, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 2, Count: 300})
	o := kadm.Offsets{}
	for p := range int32(2) {
		o.Add(kadm.Offset{Topic: topic, Partition: p, At: int64(100 + 50*p), LeaderEpoch: -1, Metadata: "n\u00f6te"})
	}
	if err := f.src.CommitAllOffsets(t.Context(), group, o); err != nil {
		t.Fatal(err)
	}
	props := map[string]string{
		"clusters": "rm, T", "rm.bootstrap.servers": suite.source.BootstrapString(), "T.bootstrap.servers": suite.target.BootstrapString(),
		"rm->T.enabled": "true", "rm->T.topics": topic, "rm->T.groups": "rm-.*", "rm->T.emit.checkpoints.interval.seconds": "1",
		"T->rm.emit.heartbeats.enabled": "false",
	}
	for _, of := range []string{"", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.", "offset.storage.", "config.storage.", "status.storage."} {
		props[of+"replication.factor"] = "1"
	}
	p, err := testcluster.MirrorMaker(t.Context(), props)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Stop(10 * time.Second) }()

	kinds := []struct {
		name, topic string
		on          *testcluster.Real
		parse       func(key, value []byte) (mm2.Record, error)
		mine        func(mm2.Record) bool
		shows       []string
	}{
		{
			"checkpoints", "rm.checkpoints.internal", suite.target, func(k, v []byte) (mm2.Record, error) { return mm2.ParseCheckpoint(k, v) },
			func(r mm2.Record) bool { return r.(mm2.Checkpoint).Group == group },
			[]string{group, "rm." + topic},
		},
		{
			"offset-syncs", "mm2-offset-syncs.T.internal", suite.source, func(k, v []byte) (mm2.Record, error) { return mm2.ParseOffsetSync(k, v) },
			func(r mm2.Record) bool { return r.(mm2.OffsetSync).Topic == topic },
			[]string{topic},
		},
		{
			"heartbeats", "heartbeats", suite.target, func(k, v []byte) (mm2.Record, error) { return mm2.ParseHeartbeat(k, v) },
			func(r mm2.Record) bool { return r.(mm2.Heartbeat).Source == "rm" },
			[]string{"rm"},
		},
	}
	var lines []string
	for _, k := range kinds {
		var recs []testcluster.Rec
		cl := k.on.Client(t)
		f.until(90*time.Second, k.name+" of MirrorMaker 2", func(ctx context.Context) (bool, string) {
			all, err := testcluster.Read(ctx, cl, k.topic, testcluster.ReadUncommitted)
			recs = slices.DeleteFunc(all, func(r testcluster.Rec) bool {
				got, err := k.parse(r.Key, r.Value)
				return err == nil && !k.mine(got)
			})
			return err == nil && len(recs) >= 1 && p.Running(), fmt.Sprint(len(recs), err)
		})
		for _, r := range recs[:min(3, len(recs))] {
			got, err := k.parse(r.Key, r.Value)
			if err != nil {
				t.Fatalf("%s at offset %d: %v", k.topic, r.Offset, err)
			}
			key, _ := got.AppendKey(nil)
			value, err := got.AppendValue(nil)
			if err != nil || !bytes.Equal(key, r.Key) || !bytes.Equal(value, r.Value) {
				t.Errorf("%v: we would write %x %x, MirrorMaker 2 wrote %x %x (%v)", got, key, value, r.Key, r.Value, err)
			}
			lines = append(lines, strings.Join([]string{k.name, hex.EncodeToString(r.Key), hex.EncodeToString(r.Value), got.String()}, " "))
		}
		out, code := f.tool("inspect", k.name)
		for _, text := range k.shows {
			if code != 0 || !strings.Contains(out, text) {
				t.Errorf("inspect %s, exit %d, does not show %q:\n%s", k.name, code, text, out)
			}
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(filepath.FromSlash(golden), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
