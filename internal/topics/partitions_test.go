package topics

import (
	"strings"
	"testing"
)

// TestPartitionCounts: that the counts of partitions differ, or that a remote topic grows, is said, once for each count.
func TestPartitionCounts(t *testing.T) {
	p := newPair(t, nil)
	p.topic(p.a, "t", nil)
	p.topic(p.b, "A.t", nil)
	if err := p.b.CreatePartitions(p.ctx(), "A.t", 3); err != nil {
		t.Fatal(err)
	}
	p.round()
	p.round()
	if got := p.lines("more partitions than"); len(got) != 1 || !strings.Contains(got[0], "topic=t partitions=1 remote=A.t remote_partitions=3") {
		t.Errorf("a wider remote topic: %q", got)
	}
	if err := p.a.CreatePartitions(p.ctx(), "t", 5); err != nil {
		t.Fatal(err)
	}
	p.round()
	p.round()
	if got := p.lines("has got more partitions"); len(got) != 1 || !strings.Contains(got[0], "remote=A.t partitions=5") {
		t.Errorf("growth: %q", got)
	}
}
