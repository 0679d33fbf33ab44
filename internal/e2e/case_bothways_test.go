package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
)

// TestReadsBothWays: flows in both directions, and a group that lives on one side and reads a topic there and the copy of the other
// side's. What it would read again once it has moved is named, with the command that sets its place, which runs as printed; for the
// flow back the group is no rehearsal.
func TestReadsBothWays(t *testing.T) {
	t.Parallel()
	const group = "bwy g"
	f := newFlow(t, "bwy", "bwy-.*", group, ", emit_heartbeats: false") // the source of other tests gets none
	f.yaml = strings.NewReplacer("  T: {", "  bwz: {", "to: T", "to: bwz").Replace(f.yaml)
	_, flow, _ := strings.Cut(f.yaml, "flows:\n")
	f.yaml += strings.NewReplacer("from: bwy", "from: bwz", "to: bwz", "to: bwy").Replace(flow)
	var err error
	if f.cfg, err = configfile.Parse("test.yaml", []byte(f.yaml)); err != nil {
		t.Fatal(err)
	}
	const here, there = "bwy-here", "bwy-there"
	f.topic(here, 1, nil)
	f.produce(testcluster.Load{Topic: here, Count: 100})
	if err := testcluster.CreateTopic(t.Context(), suite.target.ClientOpts(), there, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Produce(t.Context(), suite.target.ClientOpts(), testcluster.Load{Topic: there, Count: 300}); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.until(time.Minute, "the copy of the other side's topic", func(ctx context.Context) (bool, string) {
		ends, err := f.src.ListEndOffsets(ctx, "bwz."+there)
		o, _ := ends.Lookup("bwz."+there, 0)
		return err == nil && o.Err == nil && o.Offset == 300, fmt.Sprint(o, err)
	})
	var at kadm.Offsets
	at.AddOffset(here, 0, 60, -1)
	at.AddOffset("bwz."+there, 0, 210, -1)
	if err := f.src.CommitAllOffsets(t.Context(), group, at); err != nil {
		t.Fatal(err)
	}
	var errs string
	f.until(time.Minute, "what would be read again", func(context.Context) (bool, string) {
		var code int
		_, errs, code = f.says("groups", "FILE", "--flow", "bwy:bwz", group, "--check")
		return code == 3 && strings.Contains(errs, "would read up to 210 records again by its reset rule (its place is offset 210)") && !strings.Contains(errs, group+", "+here), errs
	})
	if out, errs, _ := f.says("groups", "FILE", "--flow", "bwz:bwy", group, "--check"); strings.Contains(out+errs, "delete") || strings.Contains(out+errs, "committed on the target and not on the source") {
		t.Errorf("the flow back: %s%s", out, errs)
	}
	const tool = "kafka-consumer-groups.sh"
	_, command, _ := strings.Cut(errs, tool)
	command, _, found := strings.Cut(tool+command, "\n")
	if !found {
		t.Fatal(errs)
	}
	if out, err := testcluster.RunPrinted(t.Context(), command); err != nil || strings.Contains(out, "Error") {
		t.Fatalf("%s: %s %v", command, out, err)
	}
	f.until(time.Minute, "a check that passes", func(context.Context) (bool, string) {
		out, errs, code := f.says("groups", "FILE", "--flow", "bwy:bwz", group, "--check")
		return code == 0, out + errs
	})
}
