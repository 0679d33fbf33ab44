package handover

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/configfile"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

func group(id string, positions ...status.HandedPosition) status.Handed {
	g := status.Handed{Group: id, As: "try-" + id, Positions: positions}
	for _, p := range positions {
		if p.Write {
			g.Writes++
		}
	}
	return g
}

func at(partition int32, offset int64, write bool) status.HandedPosition {
	return status.HandedPosition{Topic: "A.orders", Partition: partition, Offset: offset, Metadata: "m", OnTarget: status.Unknown, Write: write}
}

// TestWrite: what was shown is written under the other name, and nothing of a group that is not as it was shown any more.
func TestWrite(t *testing.T) {
	source, target := testcluster.NewPair(t)
	if err := testcluster.CreateTopic(t.Context(), target.ClientOpts(), "A.orders", 2, nil); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows: [{from: A, to: B}]\n", source.Bootstrap()[0], target.Bootstrap()[0])
	cfg, err := configfile.Parse("flow.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	shown := status.Handover{Groups: []status.Handed{
		group("good", at(0, 5, true), at(1, 7, false)), group("moved", at(0, 5, true)), group("joined", at(0, 5, true)), group("gone", at(0, 5, true)), group("nothing", at(0, 5, false)),
	}}
	now := status.Handover{Groups: []status.Handed{
		group("good", at(0, 5, true), at(1, 7, false)), group("moved", at(0, 6, true)), group("joined", at(0, 5, false)), group("nothing", at(0, 5, false)),
	}}
	got, err := Write(t.Context(), cfg, cfg.Flows[0], nil, shown, now)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, r := range got {
		said[r.Group.Group] = fmt.Sprint(r.Written, errors.Is(r.Err, ErrChanged))
	}
	if diff := cmp.Diff(map[string]string{"good": "1 false", "moved": "0 true", "joined": "0 true", "gone": "0 true"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	admin := kadm.NewClient(target.Client(t))
	for _, id := range []string{"good", "try-good", "try-moved", "try-joined", "try-gone", "try-nothing"} {
		offsets, err := admin.FetchOffsets(t.Context(), id)
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			t.Fatal(err)
		}
		o, ok := offsets.Lookup("A.orders", 0)
		if want := id == "try-good"; ok != want || want && (o.At != 5 || o.Metadata != "m") || len(offsets) > 1 {
			t.Errorf("%s: %+v", id, offsets)
		}
	}
}

// TestRefused: a position that the target refuses is told, and the others are written.
func TestRefused(t *testing.T) {
	source, target := testcluster.NewPair(t)
	if err := testcluster.CreateTopic(t.Context(), target.ClientOpts(), "A.orders", 1, nil); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows: [{from: A, to: B}]\n", source.Bootstrap()[0], target.Bootstrap()[0])
	cfg, err := configfile.Parse("flow.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plan := status.Handover{Groups: []status.Handed{group("g", at(0, 5, true), status.HandedPosition{Topic: "A.none", Offset: 3, Write: true})}}
	got, err := Write(t.Context(), cfg, cfg.Flows[0], nil, plan, plan)
	if err != nil || len(got) != 1 || got[0].Err == nil || got[0].Written != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
