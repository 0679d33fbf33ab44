package status

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWaitingLanes: lanes that do not run for one reason are one line, whatever numbers the reason has in it; what workers say
// about themselves follows. All of it is a finding.
func TestWaitingLanes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := Flow{Header: Header{Flow: "A->B", At: now}, Ledger: Ledger{Exists: true}}
	f.Lanes = []Lane{
		{Lane: 0, State: LaneWaiting, Since: now.Add(-30 * time.Second), What: "trying again", Why: "lane.0 is busy"},
		{Lane: 1, State: LaneOwned},
		{Lane: 2, State: LaneWaiting, Since: now.Add(-40 * time.Second), What: "trying again", Why: "lane.2 is busy"},
		{Lane: 3, State: LaneWaiting, Since: now.Add(-10 * time.Second), What: "starting", Why: "it is being taken over"},
	}
	f.Workers = []Worker{
		{Worker: "w1", Troubles: []WorkerTrouble{{Since: now.Add(-time.Minute), What: "waits for B: Metadata", Why: "no answer\x1b"}}},
		{Worker: "w2", DiffersFrom: "w1", Differs: []string{"topics only at w1: a", "start only here: latest"}},
	}
	want := []string{
		"lanes 0, 2 do not run since 40s (trying again): lane.0 is busy",
		"lane 3 does not run since 10s (starting): it is being taken over",
		`worker w1, since 60s: waits for B: Metadata: "no answer\x1b"`,
		"worker w2 runs with another file than w1: topics only at w1: a; start only here: latest",
	}
	got := f.Findings()
	for i, w := range want {
		if !slices.Contains(got, "A->B: "+w) {
			t.Errorf("no finding %q in %q", w, got)
		}
		if lines := strings.Split(f.Text(), "\n"); !slices.Contains(lines, w) {
			t.Errorf("line %d is not in the text:\n%s", i, f.Text())
		}
	}
	if len(got) != len(want) {
		t.Errorf("findings %q", got)
	}
}
