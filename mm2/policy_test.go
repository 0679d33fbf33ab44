package mm2

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type named struct {
	name string
	ok   bool
}

func source(p Policy, topic string) named {
	a, ok := p.TopicSource(topic)
	return named{a, ok}
}

func upstream(p Policy, topic string) named {
	u, ok := p.UpstreamTopic(topic)
	return named{u, ok}
}

func TestTopicSourceSplitsLikeJava(t *testing.T) {
	none := named{}
	for _, tc := range []struct {
		separator, topic string
		source, upstream named
	}{
		{".", "orders", none, none},
		{".", "A.orders", named{"A", true}, named{"orders", true}},
		{".", "A.B.orders", named{"A", true}, named{"B.orders", true}},
		{".", ".hidden", named{"", true}, named{"hidden", true}},
		{".", "orders.", none, none},
		{".", "orders..", none, none},
		{".", "..", none, none},
		{".", ".", none, none},
		{".", "", none, none},
		{".", "A..orders", named{"A", true}, named{".orders", true}},
		{"_", "us_orders", named{"us", true}, named{"orders", true}},
		{"__", "A__orders", named{"A", true}, named{"orders", true}},
		{"__", "A_orders", none, none},
		{"__", "a____b", named{"a", true}, named{"__b", true}},
		{"__", "a___", named{"a", true}, named{"_", true}},
		{"-", "us-west-orders", named{"us", true}, named{"west-orders", true}},
		{"", "A.orders", named{"A", true}, named{"orders", true}},
	} {
		p := DefaultPolicy{Separator: tc.separator}
		if got := source(p, tc.topic); got != tc.source {
			t.Errorf("separator %q: source of %q is %v, want %v", tc.separator, tc.topic, got, tc.source)
		}
		if got := upstream(p, tc.topic); got != tc.upstream {
			t.Errorf("separator %q: upstream of %q is %v, want %v", tc.separator, tc.topic, got, tc.upstream)
		}
	}
}

// javaSplitSource is Java's "split at the literal separator, fewer than two parts
// is null", spelled out.
func javaSplitSource(topic, sep string) named {
	parts := strings.Split(topic, sep)
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	if len(parts) < 2 {
		return named{}
	}
	return named{parts[0], true}
}

func TestDefaultPolicyProperties(t *testing.T) {
	name := rapid.StringMatching(`[A-C._]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		sep := rapid.SampledFrom([]string{".", "_", "__", "._."}).Draw(t, "separator")
		p := DefaultPolicy{Separator: sep}
		topic := name.Draw(t, "topic")
		if got, want := source(p, topic), javaSplitSource(topic, sep); got != want {
			t.Fatalf("source of %q is %v, want %v", topic, got, want)
		}
		if up, ok := p.UpstreamTopic(topic); ok && len(up) >= len(topic) { // MM5
			t.Fatalf("upstream of %q is %q", topic, up)
		}
		if javaSplitSource("x"+sep+topic, sep).ok {
			remote := p.RemoteTopic("x", topic)
			if source(p, remote) != (named{"x", true}) || upstream(p, remote) != (named{topic, true}) {
				t.Fatalf("%q does not come apart again", remote)
			}
		}
		if got := p.OriginalTopic(topic); source(p, got).ok {
			t.Fatalf("original %q of %q still has a source", got, topic)
		}
	})
}

func TestInternalTopicNames(t *testing.T) {
	for _, tc := range []struct {
		separator          string
		dot                bool
		syncs, checkpoints string
	}{
		{"", false, "mm2-offset-syncs.B.internal", "A.checkpoints.internal"},
		{".", false, "mm2-offset-syncs.B.internal", "A.checkpoints.internal"},
		{".", true, "mm2-offset-syncs.B.internal", "A.checkpoints.internal"},
		{"__", false, "mm2-offset-syncs__B__internal", "A__checkpoints__internal"},
		{"__", true, "mm2-offset-syncs.B.internal", "A.checkpoints.internal"},
		{"_", false, "mm2-offset-syncs_B_internal", "A_checkpoints_internal"},
	} {
		for _, p := range []Policy{
			DefaultPolicy{Separator: tc.separator, DotInternal: tc.dot},
			IdentityPolicy{Source: "A", Separator: tc.separator, DotInternal: tc.dot},
		} {
			if got := p.OffsetSyncsTopic("B"); got != tc.syncs {
				t.Errorf("%+v: syncs %q, want %q", p, got, tc.syncs)
			}
			if got := p.CheckpointsTopic("A"); got != tc.checkpoints {
				t.Errorf("%+v: checkpoints %q, want %q", p, got, tc.checkpoints)
			}
			for _, name := range []string{tc.syncs, tc.checkpoints} {
				if !p.IsMM2Internal(name) || !p.IsInternal(name) {
					t.Errorf("%+v: %q is not internal", p, name)
				}
			}
			if !p.IsCheckpointsTopic(tc.checkpoints) || p.IsCheckpointsTopic(tc.syncs) {
				t.Errorf("%+v: checkpoints topic not told apart", p)
			}
		}
	}
}

func TestInternalByKafka40Rules(t *testing.T) {
	p := DefaultPolicy{}
	for topic, want := range map[string]struct{ mm2, internal bool }{
		"orders":                      {false, false},
		"orders.internal":             {false, false}, // KIP-1074
		"orders-internal":             {false, false},
		"mm2-offset-syncs.B.internal": {true, true},
		"mm2-configs.A.internal":      {true, true},
		"mm2orders.internal":          {true, true},
		"mm2-orders":                  {false, false},
		"A.checkpoints.internal":      {true, true},
		"checkpoints.internal":        {false, false},
		"__consumer_offsets":          {false, true},
		"_schemas":                    {false, false},
		".hidden":                     {false, true},
		"heartbeats":                  {false, false},
	} {
		if p.IsMM2Internal(topic) != want.mm2 || p.IsInternal(topic) != want.internal {
			t.Errorf("%q: mm2 %v, internal %v, want %v", topic, p.IsMM2Internal(topic), p.IsInternal(topic), want)
		}
	}
	if !p.IsCheckpointsTopic("source1.checkpoints.internal") || p.IsCheckpointsTopic("checkpoints.internal") {
		t.Error("checkpoints topics by MirrorClientTest are wrong")
	}
}

// Only the exact name behind known aliases is a heartbeats topic, with each of the
// separators that users met trouble with.
func TestCase15HeartbeatsNamesAreExact(t *testing.T) {
	for _, sep := range []string{"-", ".", "_"} {
		for _, p := range []Policy{
			DefaultPolicy{Separator: sep, Aliases: []string{"A", "C"}},
			IdentityPolicy{Source: "A", Separator: sep, Aliases: []string{"C"}},
		} {
			for topic, want := range map[string]bool{
				"heartbeats":                           true,
				"A" + sep + "heartbeats":               true,
				"C" + sep + "A" + sep + "heartbeats":   true,
				"prod-heartbeats":                      false,
				"app.heartbeats":                       false,
				"my_heartbeats":                        false,
				"A" + sep + "app" + sep + "heartbeats": false,
				"A" + sep + "my-heartbeats2":           false,
				"heartbeats" + sep:                     false,
				sep + "heartbeats":                     false,
				"orders":                               false,
			} {
				if got := p.IsHeartbeatsTopic(topic); got != want {
					t.Errorf("%T, separator %q: heartbeats topic %q is %v", p, sep, topic, got)
				}
			}
		}
	}
}

func TestIdentityPolicy(t *testing.T) {
	p := IdentityPolicy{Source: "source", Aliases: []string{"backup"}}
	for _, tc := range []struct {
		topic, remote    string
		source, upstream named
		original         string
	}{
		{"topic1", "topic1", named{"source", true}, named{"topic1", true}, "topic1"},
		{"A.orders", "A.orders", named{"source", true}, named{"A.orders", true}, "A.orders"},
		{"device-heartbeats", "device-heartbeats", named{"source", true}, named{"device-heartbeats", true}, "device-heartbeats"},
		{"heartbeats", "source.heartbeats", named{}, named{}, "heartbeats"},
		{"backup.heartbeats", "source.backup.heartbeats", named{"backup", true}, named{"heartbeats", true}, "heartbeats"},
		{"other.heartbeats", "other.heartbeats", named{"source", true}, named{"other.heartbeats", true}, "other.heartbeats"},
	} {
		if got := p.RemoteTopic("source", tc.topic); got != tc.remote {
			t.Errorf("remote of %q is %q", tc.topic, got)
		}
		if got := source(p, tc.topic); got != tc.source {
			t.Errorf("source of %q is %v", tc.topic, got)
		}
		if got := upstream(p, tc.topic); got != tc.upstream {
			t.Errorf("upstream of %q is %v", tc.topic, got)
		}
		if got := p.OriginalTopic(tc.topic); got != tc.original {
			t.Errorf("original of %q is %q", tc.topic, got)
		}
	}
	if IsRemote(p, "heartbeats") || !IsRemote(p, "topic1") || !IsRemote(p, "backup.heartbeats") || IsRemote(p, "__t") {
		t.Error("remote topics by MirrorClientTest are wrong")
	}
	if unknown := (IdentityPolicy{}); source(unknown, "topic1").ok {
		t.Error("an unknown source was named")
	}
	shared := make([]string, 1, 4)
	shared[0] = "backup"
	IdentityPolicy{Source: "A", Aliases: shared}.IsHeartbeatsTopic("A.heartbeats")
	if shared[:2][1] != "" {
		t.Error("the caller's alias list was written to")
	}
}

func TestCycles(t *testing.T) {
	p := DefaultPolicy{}
	for topic, want := range map[string]bool{ // MirrorSourceConnectorTest
		"target.topic1": true, "target.source.topic1": true, "source.target.topic1": true,
		"target.source.target.topic1": true, "source.target.source.topic1": true,
		"topic1": false, "source.topic1": false,
	} {
		if got := p.IsCycle(topic, "target"); got != want {
			t.Errorf("cycle of %q is %v", topic, got)
		}
	}
	id := IdentityPolicy{Source: "source", Aliases: []string{"source", "target"}}
	for topic, want := range map[string]bool{
		"target.topic1": false, "topic1": false, "source.target.source.topic1": false,
		"target.heartbeats": true, "source.target.heartbeats": true, "heartbeats": false,
	} {
		if got := id.IsCycle(topic, "target"); got != want {
			t.Errorf("identity: cycle of %q is %v", topic, got)
		}
	}
	if !id.IsCycle("topic1", "source") {
		t.Error("identity: a flow to itself is no cycle")
	}
}

func TestChainAndHops(t *testing.T) {
	p := DefaultPolicy{Aliases: []string{"A", "B"}}
	if got := Chain(p, "B.A.heartbeats"); !cmp.Equal(got, []string{"B", "A"}) {
		t.Errorf("chain %v", got)
	}
	if got := Chain(IdentityPolicy{Source: "A"}, "B.A.orders"); got != nil {
		t.Errorf("identity chain %v", got)
	}
	for _, tc := range []struct {
		topic, alias string
		hops         int
	}{
		{"source1.heartbeats", "source1", 1},
		{"source1.source2.heartbeats", "source2", 2},
		{"source2.source1.topic", "source1", 2},
		{"source3.heartbeats", "source4", 0},
		{"heartbeats", "source1", 0},
		{"A.A.A.topic", "B", 0},
	} {
		if got, ok := Hops(p, tc.topic, tc.alias); got != tc.hops || ok != (tc.hops > 0) {
			t.Errorf("hops of %q from %s: %d, %v", tc.topic, tc.alias, got, ok)
		}
	}
	if _, ok := Hops(IdentityPolicy{Source: "A"}, "t", "B"); ok {
		t.Error("identity: a hop from nowhere")
	}
}

func TestTargetTopic(t *testing.T) {
	p := DefaultPolicy{}
	for topic, want := range map[string]string{ // MirrorCheckpointTaskTest
		"topic3":         "source1.topic3",
		"target2.topic3": "topic3",
		"source6.topic7": "source1.source6.topic7",
		"target2.C.t":    "C.t",
	} {
		if got := TargetTopic(p, "source1", "target2", topic); got != want {
			t.Errorf("%q is %q on the target, want %q", topic, got, want)
		}
	}
	if got := TargetTopic(IdentityPolicy{Source: "source1"}, "source1", "target2", "target2.topic3"); got != "target2.topic3" {
		t.Errorf("identity: %q", got)
	}
}

// TestNoSeparator: with an empty separator MirrorMaker 2 puts alias and name side by side, which nothing takes apart again.
func TestNoSeparator(t *testing.T) {
	p := DefaultPolicy{NoSeparator: true, Aliases: []string{"A", "B", ""}}
	id := IdentityPolicy{NoSeparator: true, Aliases: []string{"A", "B"}}
	for _, tc := range []struct{ got, want string }{
		{p.RemoteTopic("A", "orders"), "Aorders"},
		{p.RemoteTopic("", "orders"), "orders"},
		{p.CheckpointsTopic(""), "checkpointsinternal"},
		{p.OffsetSyncsTopic("B"), "mm2-offset-syncsBinternal"},
		{(DefaultPolicy{NoSeparator: true, DotInternal: true}).CheckpointsTopic(""), ".checkpoints.internal"},
		{id.RemoteTopic("", "orders"), "orders"},
		{id.RemoteTopic("", "heartbeats"), "heartbeats"},
		{id.RemoteTopic("A", "heartbeats"), "Aheartbeats"},
		{id.CheckpointsTopic("A"), "Acheckpointsinternal"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
	for _, topic := range []string{"orders", "Borders", "o", "", "heartbeats"} {
		if alias, ok := p.TopicSource(topic); ok || p.IsCycle(topic, "B") || p.OriginalTopic(topic) != topic {
			t.Errorf("%q comes from %q", topic, alias)
		}
		if alias, ok := id.TopicSource(topic); ok || id.IsCycle(topic, "") {
			t.Errorf("%q comes from %q where names are kept", topic, alias)
		}
	}
	f, err := NewFilter([]string{".*"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Selection{Policy: id, Topics: f, Heartbeats: true}
	if c := s.Select("heartbeats"); c.Mirrored || c.Rule != RuleMM2Internal {
		t.Errorf("heartbeats: %+v", c)
	}
	if c := s.Select("orders"); !c.Mirrored {
		t.Errorf("orders: %+v", c)
	}
}
