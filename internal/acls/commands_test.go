package acls

import (
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	r := of(t, "from: A, to: B, topics: [orders, pay, 'x-.*', '.*-eu'], groups: [\"it's\"], replicate_heartbeats: false, emit_offset_syncs: false")
	if got := r.Commands().Unnamed(); len(got) != 1 || got[0] != "A" {
		t.Errorf("clusters without a principal: %v", got)
	}
	r.Clusters[0].Principal = "User:CN=mirror,O=x"
	text := r.Commands().Text()
	for _, want := range []string{
		"# Cluster A.",
		"\n# every topic (*): no rule can stand for \".*-eu\" of topics, whose names have no beginning in common, so it is for every topic; it may be narrowed",
		"\nkafka-acls.sh --bootstrap-server a1:9092,a2:9092 --add --allow-principal 'User:CN=mirror,O=x' --operation Describe --cluster\n",
		"\nkafka-acls.sh --bootstrap-server a1:9092,a2:9092 --add --allow-principal 'User:CN=mirror,O=x' --operation Read --operation DescribeConfigs --topic '*'\n",
		" --operation Describe --group 'it'\\''s'\n",
		"\nkafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:mirror --operation Create --operation Read --operation Write --operation DescribeConfigs --topic tidemark-ledger.A.internal --topic tidemark-verdicts.A.internal\n",
		" --operation Write --transactional-id 'tidemark.A->B.lane.' --resource-pattern-type prefixed\n",
		" --topic A. --resource-pattern-type prefixed\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if line != "\n" && line[0] != '#' && !strings.HasPrefix(line, "kafka-acls.sh ") {
			t.Errorf("neither a command nor a comment: %q", line)
		}
	}
}

// TestManyNames: one command does not name more than it can.
func TestManyNames(t *testing.T) {
	var names []string
	for i := range 45 {
		names = append(names, "t"+strings.Repeat("x", i))
	}
	r := of(t, "from: A, to: B, topics: ["+strings.Join(names, ", ")+"]"+bare)
	n := 0
	for line := range strings.Lines(r.Commands().Text()) {
		if strings.Contains(line, " --topic t") && !strings.Contains(line, "tidemark-") {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d commands for 45 topics", n)
	}
}
