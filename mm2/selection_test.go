package mm2

import (
	"strings"
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
	purpose := selection(t, []string{"orders", "__app-.*", `\.hid.*`, "__.*"}, []string{".*-tmp"})
	custom := selection(t, DefaultTopics(), []string{"x"})
	spelt := selection(t, []string{".*", "a2_checkpoints_internal"}, nil)
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
		{"defaults", all, "__app-state", false, RuleInternalName, `not mirrored: internal by its name: only a pattern that begins with "__" too takes it, or an empty topics.exclude`},
		{"defaults", all, ".hidden", false, RuleInternalName, `not mirrored: internal by its name: only a pattern that begins with "." too takes it, or an empty topics.exclude`},
		{"defaults", all, "mm2-offset-syncs.B.internal", false, RuleMM2Internal, "not mirrored: an internal topic of MirrorMaker 2"},
		{"defaults", all, "heartbeats", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "orders.internal", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "connect-offsets", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "A.checkpoints.internal", false, RuleMM2Internal, "not mirrored: an internal topic of MirrorMaker 2"},
		{"no excludes", bare, "__consumer_offsets", false, RuleBrokerInternal, "not mirrored: brokers keep their own state in it"},
		{"no excludes", bare, "tidemark-ledger.A.internal", false, RuleOwn, "not mirrored: a topic of Tidemark's own"},
		{"no excludes", bare, "tidemark-controls.C.internal", false, RuleOwn, "not mirrored: a topic of Tidemark's own"},
		{"another separator", bare, "a2_checkpoints_internal", false, RuleMM2Internal, "not mirrored: an internal topic of a MirrorMaker 2 with another separator, by its name: only topics that spells it out takes it"},
		{"another separator", all, "mm2-offsets_b2_internal", false, RuleMM2Internal, "not mirrored: an internal topic of a MirrorMaker 2 with another separator, by its name: only topics that spells it out takes it"},
		{"another separator", all, "mm2-offset-syncs-b-internal", false, RuleMM2Internal, "not mirrored: an internal topic of a MirrorMaker 2 with another separator, by its name: only topics that spells it out takes it"},
		{"another separator", spelt, "a2_checkpoints_internal", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"another separator", bare, "a__checkpoints__internal", false, RuleMM2Internal, "not mirrored: an internal topic of a MirrorMaker 2 with another separator, by its name: only topics that spells it out takes it"},
		{"another separator", bare, "_checkpoints_internal", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"another separator", bare, "orders_internal", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "tidemark-orders", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, "__app-state", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"no excludes", bare, ".hidden", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
		{"named", purpose, "__app-state", true, RuleIncluded, `mirrored: included by topics pattern "__app-.*"`},
		{"named", purpose, "__app-tmp", false, RuleExcluded, `not mirrored: excluded by topics.exclude pattern ".*-tmp"`},
		{"named", purpose, ".hidden", true, RuleIncluded, `mirrored: included by topics pattern "\\.hid.*"`},
		{"named", purpose, "__transaction_state", false, RuleBrokerInternal, "not mirrored: brokers keep their own state in it"},
		{"own excludes", custom, "__app-state", false, RuleInternalName, `not mirrored: internal by its name: only a pattern that begins with "__" too takes it, or an empty topics.exclude`},
		{"own alias", own, "A.orders", true, RuleIncluded, `mirrored: included by topics pattern ".*"`},
	} {
		got := tc.selection.Select(tc.topic)
		if got.Mirrored != tc.mirrored || got.Rule != tc.rule || got.String() != tc.text {
			t.Errorf("%s, %s: %+v", tc.name, tc.topic, got)
		}
	}
}

// Names that only end in "heartbeats" are ordinary topics, the exclude list wins
// over the heartbeats rule, and the rule can be switched off, whatever the separator.
func TestCase15HeartbeatsTopics(t *testing.T) {
	for _, tc := range []struct {
		name             string
		include, exclude []string
		on               bool
		topic            string // . stands for the separator
		rule             Rule
	}{
		{"other include", []string{"orders"}, nil, true, "heartbeats", RuleHeartbeats},
		{"other include", []string{"orders"}, nil, true, "C.heartbeats", RuleHeartbeats},
		{"other include", []string{"orders"}, nil, true, "B.heartbeats", RuleCycle},
		{"other include", []string{"orders"}, nil, true, "prod.heartbeats", RuleNotIncluded},
		{"other include", []string{"orders"}, nil, true, "app.heartbeats", RuleNotIncluded},
		{"other include", []string{"orders"}, nil, true, "my.heartbeats", RuleNotIncluded},
		{"included", []string{"my.*"}, nil, true, "my.heartbeats", RuleIncluded},
		{"excluded", []string{"orders"}, []string{".*heartbeats"}, true, "heartbeats", RuleExcluded},
		{"excluded", []string{".*"}, []string{".*heartbeats"}, true, "C.heartbeats", RuleExcluded},
		{"excluded", []string{".*"}, []string{".*heartbeats"}, true, "my.heartbeats", RuleExcluded},
		{"off", []string{"orders"}, nil, false, "heartbeats", RuleNotIncluded},
		{"off", []string{"orders"}, nil, false, "C.heartbeats", RuleNotIncluded},
		{"off, included", []string{"heartbeats"}, nil, false, "heartbeats", RuleIncluded},
	} {
		for _, separator := range []string{"-", ".", "_"} {
			s := selection(t, tc.include, tc.exclude)
			s.Heartbeats = tc.on
			s.Policy = DefaultPolicy{Separator: separator, Aliases: []string{"A", "B", "C"}}
			topic := strings.ReplaceAll(tc.topic, ".", separator)
			if got := s.Select(topic); got.Rule != tc.rule {
				t.Errorf("%s, %s: %v", tc.name, topic, got)
			}
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
func TestCase66NeverTheTopicsOfBrokersOrOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := NewFilter(DefaultTopics(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := Selection{
			Policy: rapid.SampledFrom([]Policy{DefaultPolicy{}, DefaultPolicy{Separator: "_"}, IdentityPolicy{Source: "A"}}).Draw(t, "policy"),
			Source: "A", Target: "B", Topics: f,
			Heartbeats: rapid.Bool().Draw(t, "heartbeats"), SourceAlias: rapid.Bool().Draw(t, "alias"),
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

// Two flows that both keep names: what both would take is taken by neither, and a
// pair of lists that cannot be kept apart is found before any topic is known.
func TestCase70OneTopicBothWays(t *testing.T) {
	pair := func(there, thereNot, back, backNot []string, policy func(source string) Policy) Selection {
		s := Selection{Policy: policy("A"), Source: "A", Target: "B", Topics: filter(t, there, thereNot)}
		s.Back = &Selection{Policy: policy("B"), Source: "B", Target: "A", Topics: filter(t, back, backNot)}
		return s
	}
	identity := func(source string) Policy { return IdentityPolicy{Source: source, Aliases: []string{"A", "B"}} }
	prefix := func(string) Policy { return DefaultPolicy{Aliases: []string{"A", "B"}} }
	all := []string{".*"}
	for _, tc := range []struct {
		name  string
		s     Selection
		trip  string // what RoundTrip finds
		rules map[string]Rule
	}{
		{"all both ways", pair(all, nil, all, nil, identity), "orders", map[string]Rule{"orders": RuleBothWays, "x": RuleBothWays, "heartbeats": RuleIncluded}},
		{"with prefixes", pair(all, nil, all, nil, prefix), "", map[string]Rule{"orders": RuleIncluded, "B.orders": RuleCycle}},
		{"one name", pair([]string{"users", "audit"}, nil, []string{"audit", "billing"}, nil, identity), "audit", map[string]Rule{"users": RuleIncluded, "audit": RuleBothWays}},
		{"one name of all", pair(all, []string{"orders"}, []string{"audit"}, nil, identity), "audit", map[string]Rule{"users": RuleIncluded, "audit": RuleBothWays, "orders": RuleExcluded}},
		{"a pattern of all", pair([]string{"eu-[a-z]{2}(x|y)+"}, nil, []string{"eu-.*"}, nil, identity), "eu-aax", map[string]Rule{"eu-abxy": RuleBothWays}},
		{"apart", pair(all, []string{"west-.*"}, []string{"west-.*"}, nil, identity), "", map[string]Rule{"orders": RuleIncluded, "west-1": RuleExcluded}},
		{"only real names tell", pair([]string{"orders-.*"}, nil, []string{".*-eu"}, nil, identity), "", map[string]Rule{"orders-us": RuleIncluded, "orders-eu": RuleBothWays}},
		{"nothing back", pair(all, nil, nil, nil, identity), "", map[string]Rule{"orders": RuleIncluded}},
	} {
		if topic, found := tc.s.RoundTrip(); topic != tc.trip || found != (tc.trip != "") {
			t.Errorf("%s: round trip of %q, %v", tc.name, topic, found)
		}
		for topic, want := range tc.rules {
			if got := tc.s.Select(topic); got.Rule != want {
				t.Errorf("%s, %s: %v", tc.name, topic, got)
			}
		}
	}
	why := "not mirrored: B->A mirrors it too and both keep topic names, so it would go round and round: let one of them exclude it"
	if got := pair(all, nil, all, nil, identity).Select("orders").String(); got != why {
		t.Errorf("the reason is %q", got)
	}
}
