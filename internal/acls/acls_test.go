package acls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
)

const clusters = `
clusters:
  A: {bootstrap: "a1:9092,a2:9092"}
  B: {bootstrap: "b:9092", security: {protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: mirror, password_env: NONE}}
  C: {bootstrap: "c:9092"}
flows:
`

// of reads flows, one a line, and computes what the enabled ones need.
func of(t testing.TB, flows ...string) Report {
	t.Helper()
	return Of(parsed(t, flows...), parsed(t, flows...).EnabledFlows(), "")
}

func parsed(t testing.TB, flows ...string) *config.Config {
	t.Helper()
	text := clusters
	for _, f := range flows {
		text += "  - {" + f + "}\n"
	}
	cfg, err := configfile.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// lines are a cluster's rules in short: "topic orders: READ DESCRIBE_CONFIGS".
func (r Report) lines(alias string) (out []string) {
	for _, c := range r.Clusters {
		if c.Alias != alias {
			continue
		}
		for _, rule := range c.Rules {
			line := rule.title() + ":"
			for _, right := range rule.Rights {
				line += " " + string(right.Operation)
			}
			out = append(out, line)
		}
	}
	return out
}

const bare = ", sync_topic_acls: false, emit_offset_syncs: false, emit_checkpoints: false, emit_heartbeats: false, replicate_heartbeats: false, groups: []"

const controls = "topic tidemark-controls.A.internal: READ"

const own = "tidemark-ledger.A.internal: CREATE READ WRITE DESCRIBE_CONFIGS"

func TestRights(t *testing.T) {
	verdicts := strings.Replace(own, "ledger", "verdicts", 1)
	const configured = "cluster: DESCRIBE_CONFIGS"
	lanes := []string{"group tidemark.A->B: READ", "transactional ids tidemark.A->B.lane.* (prefixed): WRITE"}
	for _, c := range []struct {
		name           string
		flow           string
		source, target []string
	}{
		{
			"everything off", "from: A, to: B, topics: [orders], sync_topic_configs: false" + bare,
			[]string{"topic orders: READ DESCRIBE_CONFIGS"},
			append([]string{configured, "topic A.orders: CREATE READ WRITE ALTER DESCRIBE_CONFIGS", controls, "topic " + own, "topic " + verdicts}, lanes...),
		},
		{
			"everything on", "from: A, to: B, topics: [orders], groups: [billing]",
			[]string{"cluster: DESCRIBE", "topic heartbeats: READ DESCRIBE_CONFIGS", "topic mm2-offset-syncs.B.internal: CREATE WRITE DESCRIBE_CONFIGS", "topic orders: READ DESCRIBE_CONFIGS", "group billing: DESCRIBE"},
			append([]string{
				"cluster: ALTER DESCRIBE_CONFIGS", "topic A.checkpoints.internal: CREATE WRITE DESCRIBE_CONFIGS", "topic A.heartbeats: CREATE READ WRITE ALTER ALTER_CONFIGS", "topic A.orders: CREATE READ WRITE ALTER ALTER_CONFIGS",
				"topic heartbeats: CREATE WRITE DESCRIBE_CONFIGS", controls, "topic " + own, "topic " + verdicts, "group billing: READ",
			}, lanes...),
		},
		{
			"every topic", "from: A, to: B, topics: ['.*'], emit_offset_syncs: false, groups: []",
			[]string{"cluster: DESCRIBE", "every topic (*): READ DESCRIBE_CONFIGS"},
			append([]string{"cluster: ALTER DESCRIBE_CONFIGS", "topics A.* (prefixed): CREATE READ WRITE ALTER ALTER_CONFIGS", "topic heartbeats: CREATE WRITE DESCRIBE_CONFIGS", controls, "topic " + own, "topic " + verdicts}, lanes...),
		},
		{
			"names kept", "from: A, to: B, topics: ['.*'], policy: identity" + bare,
			[]string{"every topic (*): READ DESCRIBE_CONFIGS"},
			append([]string{configured, "every topic (*): CREATE READ WRITE ALTER ALTER_CONFIGS"}, lanes...),
		},
		{
			"prefixes", `from: A, to: B, topics: ['orders-.*', 'orders-1', 'pay\.eu-.+', other.name], separator: "_"` + bare,
			[]string{"topics orders-* (prefixed): READ DESCRIBE_CONFIGS", "topic other.name: READ DESCRIBE_CONFIGS", "topics pay.eu-* (prefixed): READ DESCRIBE_CONFIGS"},
			append([]string{
				configured, "topics A_orders-* (prefixed): CREATE READ WRITE ALTER ALTER_CONFIGS", "topic A_other.name: CREATE READ WRITE ALTER ALTER_CONFIGS",
				"topics A_pay.eu-* (prefixed): CREATE READ WRITE ALTER ALTER_CONFIGS", controls, "topic " + own, "topic " + verdicts,
			}, lanes...),
		},
		{
			"syncs on the target", "from: A, to: B, topics: [], offset_syncs_location: target, separator: _" + strings.Replace(bare, "emit_offset_syncs: false, ", "", 1),
			nil,
			append([]string{configured, "topic mm2-offset-syncs_A_internal: CREATE WRITE DESCRIBE_CONFIGS", controls, "topic " + own, "topic " + verdicts}, lanes...),
		},
		{
			"positions not committed", "from: A, to: B, topics: [], sync_groups: false" + strings.Replace(bare, "groups: []", "groups: ['app-.*']", 1),
			[]string{"groups app-* (prefixed): DESCRIBE"},
			append([]string{configured, controls, "topic " + own, "topic " + verdicts}, lanes...),
		},
		{
			"excluded names", "from: A, to: B, topics: [orders, old, x.internal], topics_exclude: [old]" + strings.Replace(bare, "groups: []", "groups: [app, console], groups_exclude: [console]", 1),
			[]string{"topic orders: READ DESCRIBE_CONFIGS", "topic x.internal: READ DESCRIBE_CONFIGS", "group app: DESCRIBE"},
			nil,
		},
		{
			// A rule with the literal name "*" would be one for every group; no topic can be called so.
			"a star as a name", "from: A, to: B, topics: ['\\*', orders, '(\\*|pay)'], policy: identity" + strings.Replace(bare, "groups: []", "groups: ['\\*', '[*]', app]", 1),
			[]string{"topic orders: READ DESCRIBE_CONFIGS", "topic pay: READ DESCRIBE_CONFIGS", "groups ** (prefixed): DESCRIBE", "group app: DESCRIBE"},
			append([]string{
				configured, "topic orders: CREATE READ WRITE ALTER ALTER_CONFIGS", "topic pay: CREATE READ WRITE ALTER ALTER_CONFIGS",
				controls, "topic " + own, "topic " + verdicts, "groups ** (prefixed): READ", "group app: READ",
			}, lanes...),
		},
		{
			"a heartbeats topic keeps no name", "from: A, to: B, topics: [heartbeats, 'heart.*'], policy: identity" + bare,
			[]string{"topics heart* (prefixed): READ DESCRIBE_CONFIGS"},
			append([]string{configured, "topic A.heartbeats: CREATE READ WRITE ALTER ALTER_CONFIGS", "topics heart* (prefixed): CREATE READ WRITE ALTER ALTER_CONFIGS", controls, "topic " + own, "topic " + verdicts}, lanes...),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := of(t, c.flow)
			if diff := cmp.Diff(c.source, r.lines("A")); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.target, r.lines("B")); diff != "" && c.target != nil {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStarIsSaid: what a pattern for the one name "*" gets, and why, in the notes.
func TestStarIsSaid(t *testing.T) {
	text := of(t, "from: A, to: B, topics: ['\\*', orders, '(\\*|pay)'], groups: ['\\*']").Text()
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		`groups ** (prefixed): an access rule for the one group "*" would be one for every group, so this one is for all whose names begin with "*"; it covers nothing else where no other name begins so`,
		`topics has "\\*", and no topic can be called "*": there is no rule for it, as a rule of that name would be one for every topic; remove the pattern, or write .* if every topic is meant`,
		`topics has "(\\*|pay)", of which a part is for the name "*", and no topic can be called so: there is no rule for it, as a rule of that name would be one for every topic; remove that part, or write .* if every topic is meant`,
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "every group (*)") || strings.Contains(text, "every topic (*)") {
		t.Errorf("a rule is for all:\n%s", text)
	}
}

// TestSharedCluster: what two flows need on one cluster is said once, with both named.
func TestSharedCluster(t *testing.T) {
	r := of(t, "from: A, to: B, topics: [orders]", "from: A, to: C, topics: [orders], sync_topic_acls: false", "from: C, to: A, topics: [x], enabled: false")
	if diff := cmp.Diff([]string{
		"cluster: DESCRIBE", "topic heartbeats: READ DESCRIBE_CONFIGS", "topic mm2-offset-syncs.B.internal: CREATE WRITE DESCRIBE_CONFIGS",
		"topic mm2-offset-syncs.C.internal: CREATE WRITE DESCRIBE_CONFIGS", "topic orders: READ DESCRIBE_CONFIGS", "every group (*): DESCRIBE",
	}, r.lines("A")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a := r.Clusters[0]
	if why := a.Rules[4].Rights[0].Reasons[0]; !slices.Equal(why.Flows, []string{"A->B", "A->C"}) {
		t.Errorf("orders is needed by %v", why.Flows)
	}
	if why := a.Rules[0].Rights[0].Reasons[0]; !slices.Equal(why.Flows, []string{"A->B"}) || why.Unless != "sync_topic_acls: false" {
		t.Errorf("access rules: %+v", why)
	}
	if a.Principal != "" || r.Clusters[1].Principal != "User:mirror" {
		t.Errorf("principals %q and %q", a.Principal, r.Clusters[1].Principal)
	}
}

// TestHeartbeatsTravel: a copy of a heartbeats topic that one flow makes is a heartbeats topic for the next.
func TestHeartbeatsTravel(t *testing.T) {
	r := of(t, "from: A, to: B, topics: []", "from: B, to: C, topics: []", "from: C, to: A, topics: []")
	for alias, want := range map[string][]string{
		"B": {"A.heartbeats", "A.C.heartbeats", "heartbeats"}, "C": {"B.heartbeats", "B.A.heartbeats", "heartbeats"}, "A": {"C.heartbeats", "C.B.heartbeats", "heartbeats"},
	} {
		var got []string
		for _, l := range r.lines(alias) {
			if name, _, _ := strings.Cut(strings.TrimPrefix(l, "topic "), ":"); strings.HasSuffix(name, "heartbeats") {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", alias, diff)
		}
	}
}

// TestKeysOfAProperties: settings are named as the file writes them.
func TestKeysOfAProperties(t *testing.T) {
	cfg, err := configfile.Parse("mm2.properties", []byte("clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\nA->B.topics = orders\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := Of(cfg, cfg.EnabledFlows(), "User:x").Text()
	for _, want := range []string{"sync.topic.acls.enabled=false", "emit.offset-syncs.enabled=false or offset-syncs.topic.location=target", "Cluster A at a:1, for User:x"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "commit positions") {
		t.Errorf("group sync is off in such a file:\n%s", text)
	}
}

// TestMergeAgainstModel: whatever is needed is allowed by the merged rules, and by no right less (AC3).
func TestMergeAgainstModel(t *testing.T) {
	kinds := []Resource{Topic, Group}
	rapid.Check(t, func(t *rapid.T) {
		k := cluster{rules: map[id]*entry{}}
		type need struct {
			at id
			op Operation
		}
		var needs []need
		for i := range rapid.IntRange(1, 12).Draw(t, "needs") {
			at := id{rapid.SampledFrom(kinds).Draw(t, "resource"), rapid.SampledFrom([]string{Literal, Prefixed}).Draw(t, "pattern"), rapid.SampledFrom([]string{"*", "a", "ab", "abc", "b"}).Draw(t, "name")}
			if at.name == "*" {
				at.pattern = Literal
			}
			if k.rules[at] == nil {
				k.rules[at] = &entry{reasons: map[Operation][]Reason{}}
			}
			op := rapid.SampledFrom(operations()).Draw(t, "operation")
			k.rules[at].add(op, Reason{Need: fmt.Sprint(i), Flows: []string{"A->B"}})
			needs = append(needs, need{at, op})
		}
		merged := k.merged()
		var rights []need
		reasons := 0
		for _, r := range merged {
			for _, right := range r.Rights {
				rights = append(rights, need{id{r.Resource, r.Pattern, r.Name}, right.Operation})
				reasons += len(right.Reasons)
			}
		}
		// The dumb way to ask an authorizer: every name that is in a pattern.
		allowed := func(rights []need, n need) bool {
			return slices.ContainsFunc(rights, func(r need) bool { return (r.at == n.at || r.at.covers(n.at)) && r.op.includes(n.op) })
		}
		for _, n := range needs {
			if !allowed(rights, n) {
				t.Fatalf("%v is not allowed by %v", n, rights)
			}
		}
		for i, r := range rights {
			if allowed(slices.Delete(slices.Clone(rights), i, i+1), r) {
				t.Fatalf("%v is allowed by the others of %v", r, rights)
			}
		}
		if reasons != len(needs) {
			t.Fatalf("%d reasons for %d needs: %+v", reasons, len(needs), merged)
		}
	})
}
