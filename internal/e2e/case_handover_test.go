package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/prose"
	"tidemark/internal/testcluster"
)

// TestHandover: a flow that writes no positions knows them all the same. They are written by hand, under the group's own name and
// another one, and by Kafka's own tool from the list that it reads.
func TestHandover(t *testing.T) {
	t.Parallel()
	const topic, group = "hnd-t", "hnd, the group's"
	f := newFlow(t, "hnd", topic, "hnd.*", ", sync_groups: false")
	f.topic(topic, 2, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 2, Count: 100})
	at := spots{}
	at.add(group, topic, 0, 30)
	at.add(group, topic, 1, 41)
	f.commitAll(at)
	f.start()
	f.until(time.Minute, "a plan", func(context.Context) (bool, string) {
		out, errs, code := f.says("groups", "FILE", group, "--write", "--dry-run")
		return code == 0 && strings.Contains(out, "to write: 2 positions of 1 group\n"), fmt.Sprintf("exit %d: %s%s", code, out, errs)
	})
	var list string
	f.until(time.Minute, "the places of both positions, behind what is to be mirrored first", func(context.Context) (bool, string) {
		out, errs, code := f.says("groups", "FILE", group, "--csv", "--as", "hnd-tool ")
		list = out
		return code == 0 && strings.Contains(out, ",30") && strings.Contains(out, ",41"), fmt.Sprintf("exit %d: %s%s", code, out, errs)
	})
	file := filepath.Join(t.TempDir(), "positions.csv")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("kafka-consumer-groups.sh --bootstrap-server %s --group %s --reset-offsets --from-file %s --execute",
		suite.target.BootstrapString(), prose.ShellWord("hnd-tool "+group), prose.ShellWord(file))
	if out, err := testcluster.RunPrinted(t.Context(), line); err != nil || strings.Contains(out, "Error") {
		t.Fatalf("%s: %s %v\n%s", line, out, err, list)
	}
	for _, as := range []string{"", "hnd-try "} {
		if out, errs, code := f.says("groups", "FILE", group, "--write", "--yes", "--as", as); code != 0 || !strings.Contains(errs, "positions written: 2") {
			t.Fatalf("write as %q, exit %d: %s%s", as, code, out, errs)
		}
	}
	for _, as := range []string{"", "hnd-try ", "hnd-tool "} {
		for s, c := range at {
			if x, err := f.position(t.Context(), as+group, topic, s.partition); err != nil || x != c { // a plain topic: the same offsets
				t.Errorf("%q stands at %d in partition %d, want %d (%v)", as+group, x, s.partition, c, err)
			}
		}
	}
	out, errs, code := f.says("translate", "FILE", "hnd-tool "+group, "--reverse", "--check")
	if code != 0 || !strings.Contains(out, "exact at source offset 41") {
		t.Errorf("the way home, exit %d: %s%s", code, out, errs)
	}
	f.home("hnd-tool "+group, at)
}

// home sets a group of the target on the source with Kafka's own tool, as docs/moving.md says, and looks where it stands then.
func (f *flow) home(group string, at spots) {
	f.tb.Helper()
	list, errs, code := f.says("translate", "FILE", group, "--reverse", "--csv")
	if code != 0 {
		f.tb.Fatalf("--csv, exit %d: %s%s", code, list, errs)
	}
	file := filepath.Join(f.tb.TempDir(), "home.csv")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	line := fmt.Sprintf("kafka-consumer-groups.sh --bootstrap-server %s --group %s --reset-offsets --from-file %s --execute",
		suite.source.BootstrapString(), prose.ShellWord(group), prose.ShellWord(file))
	if out, err := testcluster.RunPrinted(f.tb.Context(), line); err != nil || strings.Contains(out, "Error") {
		f.tb.Fatalf("%s: %s %v\n%s", line, out, err, list)
	}
	got, err := f.src.FetchOffsets(f.tb.Context(), group)
	for s, c := range at {
		if o, ok := got.Lookup(s.topic, s.partition); err != nil || !ok || o.At != c {
			f.tb.Errorf("%q stands at %d of %s-%d on the source, want %d (%v)", group, o.At, s.topic, s.partition, c, err)
		}
	}
}
