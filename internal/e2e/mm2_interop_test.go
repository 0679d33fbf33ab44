package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// shared is the MirrorMaker 2 of the tests in these files: it takes 15 s to start, so one process has the flows of all. It
// ends with the last test that uses it, and a later one finds what it left and starts it again.
var shared struct {
	mu    sync.Mutex
	users int
	p     *testcluster.Process
}

// Flows of the shared MirrorMaker 2, all from the source to the target: mm with the default policy, c64 with "_" in remote
// names and dots in internal ones.
func sharedProps() map[string]string {
	props := map[string]string{
		"clusters": "mm, c64, T", "T.bootstrap.servers": suite.target.BootstrapString(), "emit.heartbeats.enabled": "false",
		"emit.checkpoints.interval.seconds": "1", "refresh.topics.interval.seconds": "1", "refresh.groups.interval.seconds": "1",
		"mm->T.emit.heartbeats.enabled":                              "true",
		"c64->T.replication.policy.separator":                        "_",
		"c64->T.replication.policy.internal.topic.separator.enabled": "false",
	}
	for _, alias := range []string{"mm", "c64"} {
		props[alias+".bootstrap.servers"] = suite.source.BootstrapString()
		props[alias+"->T.enabled"], props[alias+"->T.topics"], props[alias+"->T.groups"] = "true", alias+"-.*", alias+"-.*"
	}
	for _, of := range []string{"", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.", "offset.storage.", "config.storage.", "status.storage."} {
		props[of+"replication.factor"] = "1"
	}
	return props
}

// sharedMirrorMaker is the shared MirrorMaker 2, running until the test ends.
func sharedMirrorMaker(t *testing.T) *testcluster.Process {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		p, err := testcluster.MirrorMaker(context.WithoutCancel(t.Context()), sharedProps())
		if err != nil {
			t.Fatal(err)
		}
		shared.p = p
	}
	shared.users++
	p := shared.p
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if t.Failed() {
			t.Logf("MirrorMaker 2 said:\n%s", p.LogTail(40))
		}
		if shared.users--; shared.users == 0 {
			_ = p.Stop(10 * time.Second)
		}
	})
	return p
}

// properties makes the flow's file one of MirrorMaker 2's: what the shared one has of a flow, and more keys.
func (f *flow) properties(more map[string]string) {
	f.tb.Helper()
	props := sharedProps()
	maps.DeleteFunc(props, func(key, _ string) bool {
		return strings.Contains(key, "->") && !strings.HasPrefix(key, f.alias+"->")
	})
	props["clusters"], props["tidemark.lanes"], props["tidemark.positions_interval"] = f.alias+", T", "4", "200ms"
	for _, alias := range []string{"mm", "c64"} {
		delete(props, alias+".bootstrap.servers")
	}
	props[f.alias+".bootstrap.servers"] = suite.source.BootstrapString()
	maps.Copy(props, more)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if props[k] != "" {
			b.WriteString(k + " = " + props[k] + "\n")
		}
	}
	cfg, err := configfile.Parse("mm2.properties", []byte(b.String()))
	if err != nil {
		f.tb.Fatal(err)
	}
	f.yaml, f.cfg = b.String(), cfg
	f.cfg.Flows = enabled(cfg)
}

// says runs a command of the binary on the flow's file, be it of properties or YAML, which stands behind what is in args before "FILE".
func (f *flow) says(args ...string) (stdout, stderr string, code int) {
	f.tb.Helper()
	path, err := binary()
	if err != nil {
		f.tb.Fatal(err)
	}
	name := "mm2.properties"
	if strings.Contains(f.yaml, "clusters:\n") {
		name = "flow.yaml"
	}
	file := filepath.Join(f.tb.TempDir(), name)
	if err := os.WriteFile(file, []byte(f.yaml), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	args = slices.Clone(args)
	args[slices.Index(args, "FILE")] = file
	ctx, cancel := context.WithTimeout(f.tb.Context(), 350*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// document is what a command prints with --json.
func document[T any](f *flow, args ...string) T {
	f.tb.Helper()
	out, errs, code := f.says(append(args, "--json")...)
	var v T
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		f.tb.Fatalf("%v, exit %d: %v\n%s\n%s", args, code, err, out, errs)
	}
	return v
}

// target is a client of the target cluster.
func (f *flow) target() *kgo.Client {
	f.tb.Helper()
	return suite.target.Client(f.tb)
}

// newestCheckpoints are those on the target by group, remote topic and partition.
func newestCheckpoints(ctx context.Context, cl *kgo.Client, alias string) (map[spot]mm2.Checkpoint, error) {
	recs, err := testcluster.Read(ctx, cl, alias+".checkpoints.internal", testcluster.ReadUncommitted)
	if err != nil {
		return nil, err
	}
	out := map[spot]mm2.Checkpoint{}
	for _, r := range recs {
		c, err := mm2.ParseCheckpoint(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		out[spot{c.Group, c.Topic, c.Partition}] = c
	}
	return out, nil
}
