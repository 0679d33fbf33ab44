package control

import (
	"strings"
	"testing"
	"time"

	"tidemark/internal/partition"
)

// TestRestartSays: a copy cannot begin behind the source's end, and what each beginning means is said.
func TestRestartSays(t *testing.T) {
	w := World{Flow: "A->B", Source: "A", Target: "B", Set: &Set{}, ID: "x", Now: time.Unix(0, 0), By: "me", Partitions: []Known{{
		ID: partition.ID{Topic: "orders"}, Mirrored: true, Selected: true, MirroredTo: 100, SourceEnd: 100,
	}}}
	const twice, less, groups = "reads twice what is in both", "is not in the new copy", "of a group that stands in front of it none is"
	for _, tc := range []struct {
		from   string
		want   []string
		absent []string
		wrong  string
	}{
		{"earliest", []string{twice, groups}, []string{less}, ""},
		{"latest", []string{less, groups}, []string{twice}, ""},
		{"40", []string{twice, less}, nil, ""},
		{"100", []string{less}, nil, ""},
		{"101", nil, nil, "orders-0 ends at offset 100 on the source"},
		{"2026-11-01T00:00:00Z", []string{twice, less}, nil, ""},
		{"soon", nil, nil, "write earliest, latest"},
	} {
		_, means, err := w.Decide(Request{Kind: Restart, Topic: "orders", From: tc.from, Reason: "r"})
		text := strings.Join(means, " ")
		if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v, want %q", tc.from, err, tc.wrong)
		}
		for _, s := range tc.want {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %q in %q", tc.from, s, text)
			}
		}
		for _, s := range tc.absent {
			if strings.Contains(text, s) {
				t.Errorf("%s: %q in %q", tc.from, s, text)
			}
		}
	}
}
