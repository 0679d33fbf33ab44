package mm2

import (
	"testing"

	"pgregory.net/rapid"
)

func selection(t testing.TB, include, exclude []string) Selection {
	t.Helper()
	return Selection{
		Policy: DefaultPolicy{Aliases: []string{"A", "B", "C"}}, Source: "A", Target: "B",
		Topics: filter(t, include, exclude), Heartbeats: true,
	}
}

func TestSelect(t *testing.T) {
	all := selection(t, DefaultTopics(), DefaultTopicsExclude())
	bare := selection(t, DefaultTopics(), nil)
	internal := bare
	internal.InternalNames = true
	own := bare
	own.SourceAlias = true
	for _, tc := range []struct {
		name      string
		selection Selection
		topic     string
		mirrored  bool
		rule      Rule
		text      string
	}{
		{"defaults", all, "orders", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"defaults", all, "C.orders", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"defaults", all, "orders.internal", false, RuleExcluded, `not mirrored: excluded by topics.exclude pattern ".*[\\-\\.]internal"`},
		{"defaults", all, "B.orders", false, RuleCycle, "not mirrored: it came from B, the target"},
		{"defaults", all, "C.B.orders", false, RuleCycle, "not mirrored: it came from B, the target"},
		{"defaults", all, "A.orders", false, RuleSourceAlias, "not mirrored: its name says that it came through A, the source, already"},
		{"defaults", all, "C.A.orders", false, RuleSourceAlias, "not mirrored: its name says that it came through A, the source, already"},
		{"defaults", all, "__app-state", false, RuleInternalName, `not mirrored: internal by its name, which begins with "__"`},
		{"defaults", all, ".hidden", false, RuleInternalName, `not mirrored: internal by its name, which begins with "."`},
		{"defaults", all, "mm2-offset-syncs.B.internal", false, RuleMM2Internal, "not mirrored: an internal topic of MirrorMaker 2"},
		{"defaults", all, "heartbeats", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "orders.internal", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "connect-offsets", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "A.checkpoints.internal", false, RuleMM2Internal, "not mirrored: an internal topic of MirrorMaker 2"},
		{"no excludes", bare, "__consumer_offsets", false, RuleBrokerInternal, "not mirrored: brokers keep their own state in it"},
		{"no excludes", bare, "tidemark-ledger.A.internal", false, RuleOwn, "not mirrored: a topic of Tidemark's own"},
		{"no excludes", bare, "tidemark-orders", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"internal names", internal, "__app-state", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"internal names", internal, "__transaction_state", false, RuleBrokerInternal, "not mirrored: brokers keep their own state in it"},
		{"own alias", own, "A.orders", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
	} {
		got := tc.selection.Select(tc.topic)
		if got.Mirrored != tc.mirrored || got.Rule != tc.rule || got.String() != tc.text {
			t.Errorf("%s, %s: %+v", tc.name, tc.topic, got)
		}
	}
}

// Names that only end in "heartbeats" are ordinary topics, the exclude list wins
// over the heartbeats rule, and the rule can be switched off.
func TestSelectHeartbeats(t *testing.T) {
	for _, tc := range []struct {
		name             string
		include, exclude []string
		on               bool
		topic            string
		rule             Rule
	}{
		{"other include", []string{"orders"}, nil, true, "heartbeats", RuleHeartbeats},
		{"other include", []string{"orders"}, nil, true, "C.heartbeats", RuleHeartbeats},
		{"other include", []string{"orders"}, nil, true, "B.heartbeats", RuleCycle},
		{"other include", []string{"orders"}, nil, true, "prod-heartbeats", RuleNotIncluded},
		{"other include", []string{"orders"}, nil, true, "app.heartbeats", RuleNotIncluded},
		{"excluded", []string{"orders"}, []string{".*heartbeats"}, true, "heartbeats", RuleExcluded},
		{"excluded", []string{"orders"}, []string{".*heartbeats"}, true, "my-heartbeats", RuleExcluded},
		{"off", []string{"orders"}, nil, false, "heartbeats", RuleNotIncluded},
		{"off, included", []string{"heartbeats"}, nil, false, "heartbeats", RuleIncluded},
	} {
		s := selection(t, tc.include, tc.exclude)
		s.Heartbeats = tc.on
		if got := s.Select(tc.topic); got.Rule != tc.rule {
			t.Errorf("%s, %s: %v", tc.name, tc.topic, got)
		}
	}
}

func TestSelectIdentity(t *testing.T) {
	s := selection(t, DefaultTopics(), DefaultTopicsExclude())
	s.Policy = IdentityPolicy{Source: "A", Aliases: []string{"A", "B", "C"}}
	for topic, want := range map[string]Rule{
		"orders": RuleIncluded, "A.orders": RuleIncluded, "B.orders": RuleIncluded,
		"B.heartbeats": RuleCycle, "C.heartbeats": RuleIncluded, "A.heartbeats": RuleSourceAlias,
		"device-heartbeats": RuleIncluded,
	} {
		if got := s.Select(topic); got.Rule != want {
			t.Errorf("%s: %v", topic, got)
		}
	}
}

// Two processes that mirror in opposite directions, whatever they call each
// other's cluster, reach a fixed set of topics.
func TestAliasesNeverMakeEndlessTopics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alias := rapid.SampledFrom([]string{"remote", "A", "B"})
		var flows [2]Selection // 0 from cluster 0 to 1, 1 back
		for i := range flows {
			f, err := NewFilter(DefaultTopics(), nil)
			if err != nil {
				t.Fatal(err)
			}
			flows[i] = Selection{Policy: DefaultPolicy{}, Source: alias.Draw(t, "source"), Target: alias.Draw(t, "target"), Topics: f}
		}
		clusters := [2]map[string]bool{{"t": true}, {"u": true}}
		for round := 0; ; round++ {
			grown := false
			for i, f := range flows {
				for topic := range clusters[i] {
					remote := f.Policy.RemoteTopic(f.Source, topic)
					if f.Select(topic).Mirrored && !clusters[1-i][remote] {
						clusters[1-i][remote] = true
						grown = true
					}
				}
			}
			if !grown {
				return
			}
			if round > 4 {
				t.Fatalf("still growing: %v", clusters)
			}
		}
	})
}

// MM6: no configuration selects what would feed on itself.
func TestSelectNeverTakesForbiddenTopics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := NewFilter(DefaultTopics(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := Selection{
			Policy: rapid.SampledFrom([]Policy{DefaultPolicy{}, DefaultPolicy{Separator: "_"}, IdentityPolicy{Source: "A"}}).Draw(t, "policy"),
			Source: "A", Target: "B", Topics: f,
			Heartbeats: rapid.Bool().Draw(t, "heartbeats"), InternalNames: rapid.Bool().Draw(t, "names"), SourceAlias: rapid.Bool().Draw(t, "alias"),
		}
		topic := rapid.SampledFrom([]string{
			"__consumer_offsets", "__transaction_state",
			"tidemark-ledger.A.internal", "tidemark-verdicts." + rapid.StringMatching(`[a-z._]{0,5}`).Draw(t, "alias name") + ".internal",
		}).Draw(t, "topic")
		if c := s.Select(topic); c.Mirrored {
			t.Fatalf("%s: %v", topic, c)
		}
	})
}
