package mm2

import (
	"bytes"
	_ "embed"
	"strings"
	"testing"
)

// Records that a MirrorMaker 2 4.3.0 wrote, one a line: kind, key, value, and the line that its formatter prints. Captured
// by internal/e2e, TestReadsMirrorMakersTopics, which compares what it writes today in each run.
//
//go:embed testdata/mirrormaker-4.3.0.txt
var captured string

// TestCapturedBytes: what a MirrorMaker 2 wrote is parsed, and our encoder gives the same bytes.
func TestCapturedBytes(t *testing.T) {
	kinds := map[string]Record{"checkpoints": Checkpoint{}, "offset-syncs": OffsetSync{}, "heartbeats": Heartbeat{}}
	seen := map[string]bool{}
	for line := range strings.Lines(captured) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(f) != 4 || kinds[f[0]] == nil {
			t.Fatalf("line %q", line)
		}
		seen[f[0]] = true
		key, value := unhex(t, f[1]), unhex(t, f[2])
		got, err := parse(kinds[f[0]], key, value)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		if s := got.(interface{ String() string }).String(); s != f[3] {
			t.Errorf("got %s, want %s", s, f[3])
		}
		if k, v := encode(t, got); !bytes.Equal(k, key) || !bytes.Equal(v, value) {
			t.Errorf("%s: encoded as %x %x", f[3], k, v)
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("only %v were captured", seen)
	}
}
