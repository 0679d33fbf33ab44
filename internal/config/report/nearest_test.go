package report

import "testing"

func TestNearest(t *testing.T) {
	candidates := []string{"topics", "topics.exclude", "groups", "replication.factor"}
	for key, want := range map[string]string{
		"topcis": "topics", "topic": "topics", "topic.exclude": "topics.exclude", "gruops": "groups",
		"replication.factors": "replication.factor", "x": "", "": "", "completely.different": "",
		"replication": "replication.factor",
	} {
		if got := Nearest(key, candidates); got != want {
			t.Errorf("nearest of %q is %q, want %q", key, got, want)
		}
	}
}
