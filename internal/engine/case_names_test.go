package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// TestCase15OrdinaryHeartbeats: only the exact heartbeats topic is mirrored although no pattern names it, under whatever
// separator; the exclude list wins, and the switch ends it. A second instance with another name for the source does the same.
func TestCase15OrdinaryHeartbeats(t *testing.T) {
	for _, separator := range []string{"-", ".", "_"} {
		for _, tc := range []struct {
			name, extra string
			beats       bool
		}{
			{"selected", "", true},
			{"excluded", ", topics_exclude: ['.*heartbeats']", false},
			{"off", ", replicate_heartbeats: false", false},
		} {
			t.Run(tc.name+" "+separator, func(t *testing.T) {
				t.Parallel()
				s, target, other := newSite(t, "S"), newSite(t, "T"), newSite(t, "U")
				for _, topic := range []string{"orders", "heartbeats", "prod-heartbeats", "app.heartbeats", "my-heartbeats", "its_heartbeats"} {
					s.fill(topic, 3)
				}
				flow := fmt.Sprintf("from: %%s, to: %%s, topics: [orders], separator: %q, emit_heartbeats: false%s", separator, tc.extra)
				first := world(t, map[string]*site{"A": s, "B": target}, fmt.Sprintf(flow, "A", "B"))
				second := world(t, map[string]*site{"prod": s, "far": other}, fmt.Sprintf(flow, "prod", "far"))
				stop, stopSecond := first.run(), second.run()
				for alias, c := range map[string]*site{"A": target, "prod": other} {
					first.until("orders of "+alias, func() bool { return c.holds(alias+separator+"orders", 3) })
					want := []string{alias + separator + "orders"}
					if tc.beats {
						first.until("heartbeats of "+alias, func() bool { return c.holds(alias+separator+"heartbeats", 3) })
						want = []string{alias + separator + "heartbeats", alias + separator + "orders"}
					}
					if got := c.topics(); !slices.Equal(got, want) {
						t.Errorf("copies of %s: %v, want %v", alias, got, want)
					}
				}
				first.halt(stop)
				second.halt(stopSecond)
			})
		}
	}
}

// TestCase34OnePolicy: data, positions and checkpoints of a flow speak of one name, with either policy.
func TestCase34OnePolicy(t *testing.T) {
	for policy, remote := range map[string]string{"identity": "orders", "default": "A.orders"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s, target := newSite(t, "S"), newSite(t, "T")
			s.fill("orders", 100)
			s.commit("billing", "orders", 42)
			e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders], policy: "+policy)
			stop := e.run()
			e.until("records of orders", func() bool { return target.holds(remote, 100) })
			e.until("billing on the target", func() bool { return target.stands("billing", remote, 42) })
			cl, err := kgo.NewClient(kgo.SeedBrokers(target.fake.ListenAddrs()...), kgo.MetadataMinAge(10*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			e.until("a checkpoint", func() bool {
				recs, err := testcluster.Read(t.Context(), cl, "A.checkpoints.internal", testcluster.ReadUncommitted)
				return err == nil && slices.ContainsFunc(recs, func(r testcluster.Rec) bool {
					c, err := mm2.ParseCheckpoint(r.Key, r.Value)
					return err == nil && c == mm2.Checkpoint{Group: "billing", Topic: remote, Upstream: 42, Downstream: 42}
				})
			})
			e.halt(stop)
		})
	}
}

// forbidden are topics that are never mirrored, beside those of case 65 that can be.
var forbidden = map[string]string{
	"__transaction_state": "broker-internal", "tidemark-ledger.Z.internal": "tidemark-topic", "tidemark-verdicts.Z.internal": "tidemark-topic",
	"mm2-offset-syncs.Z.internal": "mm2-internal", "Z.checkpoints.internal": "mm2-internal",
}

// TestCase65InternalNamesOnPurpose: with an empty exclude list, names that begin with "__" or end in "internal" are ordinary
// ones. Those of brokers and mirrors are not, and for each topic the rule can be seen.
func TestCase65InternalNamesOnPurpose(t *testing.T) {
	purpose := []string{"__app-state", "connect-offsets", "orders.internal"}
	for _, tc := range []struct {
		lists string
		want  map[string]string
	}{
		{"topics_exclude: []", map[string]string{"__app-state": "included", "connect-offsets": "included", "orders.internal": "included"}},
		{"topics: ['.*', '__app-.*'], topics_exclude: ['connect-.*']", map[string]string{"__app-state": "included", "connect-offsets": "excluded", "orders.internal": "included"}},
		{"topics_exclude: ['connect-.*']", map[string]string{"__app-state": "internal-name", "connect-offsets": "excluded", "orders.internal": "included"}},
		{"topics: ['.*']", map[string]string{"__app-state": "internal-name", "connect-offsets": "included", "orders.internal": "excluded"}},
	} {
		t.Run(tc.lists, func(t *testing.T) {
			t.Parallel()
			s, target := newSite(t, "S"), newSite(t, "T")
			for _, topic := range append(slices.Collect(maps.Keys(forbidden)), purpose...) {
				s.fill(topic, 5)
			}
			e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, emit_heartbeats: false, "+tc.lists)
			stop := e.run()
			var want []string
			for topic, rule := range tc.want {
				if rule == "included" {
					want = append(want, "A."+topic)
					e.until(topic+" on the target", func() bool { return target.holds("A."+topic, 5) })
				}
			}
			slices.Sort(want)
			if got := target.topics(); !slices.Equal(got, want) {
				t.Errorf("on the target are %v, want %v", got, want)
			}
			e.halt(stop)
			rules := e.rules()
			maps.Copy(tc.want, forbidden)
			for topic, rule := range tc.want {
				if rules[topic] != rule {
					t.Errorf("%s is said to be %q, want %q", topic, rules[topic], rule)
				}
			}
		})
	}
}

// TestCase66ConsumerOffsets: the brokers' own topics are never mirrored, and nothing goes round, with ".*" and nothing
// excluded, while groups commit and the flow starts again.
func TestCase66ConsumerOffsets(t *testing.T) {
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill("orders", 10)
	s.fill("__consumer_offsets", 5) // in the embedded cluster a topic like any other
	s.fill("__transaction_state", 5)
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: ['.*'], topics_exclude: [], groups_exclude: [], emit_heartbeats: false")
	for i := range int64(3) {
		s.commit("billing", "orders", 2+i)
		s.commit("auditors", "__consumer_offsets", i)
		stop := e.run()
		e.until("billing on the target", func() bool { return target.stands("billing", "A.orders", 2+i) })
		if got := target.topics(); !slices.Equal(got, []string{"A.orders"}) {
			t.Fatalf("on the target are %v", got)
		}
		e.halt(stop)
	}
	if !target.holds("A.orders", 10) {
		t.Error("records were copied again")
	}
	want := map[string]string{"orders": "included", "__consumer_offsets": "broker-internal", "__transaction_state": "broker-internal", "mm2-offset-syncs.B.internal": "mm2-internal"}
	if got := e.rules(); !maps.Equal(got, want) {
		t.Errorf("rules %v, want %v", got, want)
	}
}

// TestCase69ChainAmongTenClusters: ten clusters are named and three flows enabled, two of them a chain. Only clusters of
// these flows are connected to, and get topics; records and groups arrive at the end of the chain under a name that tells
// the way, the groups translated from the middle cluster's positions; heartbeats need no flow in the other direction.
func TestCase69ChainAmongTenClusters(t *testing.T) {
	sites := map[string]*site{}
	for alias := range strings.SplitSeq("ABCDEFGHIJ", "") {
		sites[alias] = newSite(t, "cluster-"+alias)
	}
	a, b, c, far := sites["A"], sites["B"], sites["C"], sites["E"]
	a.fill("orders", 120)
	sites["D"].fill("users", 7)
	// A starts at 20, and B would too if it took offsets as they are.
	start := kadm.Offsets{}
	start.AddOffset("orders", 0, 20, -1)
	if _, err := a.client().DeleteRecords(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	a.commit("billing", "orders", 53)
	e := world(t, sites, "from: A, to: B", "from: B, to: C", "from: D, to: E", "from: F, to: G, enabled: false")
	stop := e.run()
	e.until("orders on B", func() bool { return b.holds("A.orders", 100) })
	e.until("orders on C", func() bool { return c.holds("B.A.orders", 100) })
	e.until("users on E", func() bool { return far.holds("D.users", 7) })
	e.until("billing on B", func() bool { return b.stands("billing", "A.orders", 33) })
	e.until("billing on C", func() bool { return c.stands("billing", "B.A.orders", 33) })
	e.until("B's heartbeats on C", func() bool {
		ends, err := c.client().ListEndOffsets(t.Context(), "B.heartbeats")
		o, ok := ends.Lookup("B.heartbeats", 0)
		return err == nil && ok && o.Offset > 0
	})
	e.halt(stop)
	for alias := range strings.SplitSeq("FGHIJ", "") {
		if n := sites[alias].conns.Load(); n != 0 {
			t.Errorf("%d connections to %s, which no enabled flow names", n, alias)
		}
	}
	for alias, want := range map[string][]string{
		"A": {"orders"}, "B": {"A.orders", "heartbeats"}, "C": {"B.A.orders", "B.heartbeats", "heartbeats"}, "D": {"users"}, "E": {"D.users", "heartbeats"},
	} {
		if got := sites[alias].topics(); !slices.Equal(got, want) {
			t.Errorf("topics of %s: %v, want %v", alias, got, want)
		}
	}
}

// TestCase70IdentityBothWays: two flows between the same clusters that both keep names. If their lists have a topic in
// common the file is refused. If only the name of a real topic tells, neither flow takes that one, and says why.
func TestCase70IdentityBothWays(t *testing.T) {
	a, b := newSite(t, "cluster-a"), newSite(t, "cluster-b")
	file := func(there, back string) string {
		return fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\ndefaults: {policy: identity}\nflows:\n  - {from: A, to: B, topics: [%s]}\n  - {from: B, to: A, topics: [%s]}\n",
			a.fake.ListenAddrs()[0], b.fake.ListenAddrs()[0], there, back)
	}
	for _, tc := range []struct{ there, back, topic string }{
		{"orders", "orders", "orders"}, {"'.*'", "'.*'", "orders"}, {"'.*'", "users", "users"}, {"'eu-.*'", "'eu-[a-z]+'", "eu-a"},
	} {
		_, err := configfile.Parse("flow.yaml", []byte(file(tc.there, tc.back)))
		want := fmt.Sprintf("flow.yaml:4: defaults.policy: flows A->B and B->A both keep topic names and both mirror %q, which would be copied round and round; let one of them exclude what the other mirrors", tc.topic)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s and %s: %v", tc.there, tc.back, err)
		}
	}
	a.fill("orders-us", 10)
	a.fill("orders-eu", 10)
	b.fill("users-eu", 10)
	e := world(t, map[string]*site{"A": a, "B": b}, "from: A, to: B, policy: identity, topics: ['orders-.*']", "from: B, to: A, policy: identity, topics: ['.*-eu']")
	stop := e.run()
	e.until("orders-us on B", func() bool { return b.holds("orders-us", 10) })
	e.until("users-eu on A", func() bool { return a.holds("users-eu", 10) })
	e.halt(stop)
	for c, want := range map[*site][]string{a: {"orders-eu", "orders-us", "users-eu"}, b: {"orders-us", "users-eu"}} {
		got := slices.DeleteFunc(c.topics(), func(name string) bool { return strings.HasSuffix(name, "heartbeats") })
		if !slices.Equal(got, want) {
			t.Errorf("topics: %v, want %v", got, want)
		}
	}
	if got := e.rules(); got["orders-eu"] != "both-ways" || got["orders-us"] != "included" {
		t.Errorf("rules: %v", got)
	}
}
