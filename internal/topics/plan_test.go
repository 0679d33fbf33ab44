package topics

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/mm2"
)

func rules(t *testing.T, policy mm2.Policy, include ...string) Rules {
	t.Helper()
	f, err := mm2.NewFilter(include, mm2.DefaultTopicsExclude())
	if err != nil {
		t.Fatal(err)
	}
	return Rules{Selection: mm2.Selection{Policy: policy, Source: "A", Target: "B", Topics: f, Heartbeats: true}}
}

func TestDecideAndPlan(t *testing.T) {
	r := rules(t, mm2.DefaultPolicy{Aliases: []string{"A", "B"}}, ".*")
	source := []Topic{
		{Name: "orders", Partitions: 6},
		{Name: "grown", Partitions: 8},
		{Name: "same", Partitions: 2},
		{Name: "wide", Partitions: 1},
		{Name: "B.orders", Partitions: 6},
		{Name: "tidemark-ledger.B.internal", Partitions: 32},
		{Name: "__consumer_offsets", Partitions: 50},
		{Name: "heartbeats", Partitions: 1},
		{Name: "denied", Err: "DESCRIBE is missing"},
		{Name: "x.internal", Partitions: 1},
	}
	target := []Topic{{Name: "A.grown", Partitions: 3}, {Name: "A.same", Partitions: 2}, {Name: "A.wide", Partitions: 5}}
	decisions := Decide(source, r)
	why := map[string]mm2.Rule{}
	for _, d := range decisions {
		why[d.Topic] = d.Rule
		if d.Mirrored != (d.Remote != "") {
			t.Errorf("%+v", d)
		}
	}
	want := map[string]mm2.Rule{
		"orders": mm2.RuleIncluded, "grown": mm2.RuleIncluded, "same": mm2.RuleIncluded, "wide": mm2.RuleIncluded, "denied": mm2.RuleIncluded,
		"B.orders": mm2.RuleCycle, "tidemark-ledger.B.internal": mm2.RuleOwn, "__consumer_offsets": mm2.RuleBrokerInternal,
		"heartbeats": mm2.RuleIncluded, "x.internal": mm2.RuleExcluded,
	}
	if diff := cmp.Diff(want, why); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	got := Plan(decisions, source, target)
	actions := []Action{
		{Topic: "grown", Remote: "A.grown", Partitions: 8},
		{Topic: "heartbeats", Remote: "A.heartbeats", Partitions: 1, Create: true},
		{Topic: "orders", Remote: "A.orders", Partitions: 6, Create: true},
	}
	if diff := cmp.Diff(actions, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestCreationTakesOnlyWhatIsSetOnTheTopic(t *testing.T) {
	v := func(s string) *string { return &s }
	got := Creation(map[string]Entry{
		"cleanup.policy":      {Value: v("compact"), OfTopic: true},
		"retention.ms":        {Value: v("604800000")}, // the source broker's default
		"min.insync.replicas": {Value: v("2"), OfTopic: true},
		"secret":              {OfTopic: true, Sensitive: true},
		"fixed":               {Value: v("x"), OfTopic: true, ReadOnly: true},
	}, func(k string) bool { return k == "min.insync.replicas" })
	if diff := cmp.Diff(map[string]*string{"cleanup.policy": v("compact")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
