package lintfile_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/configfile"
	"tidemark/internal/lintfile"
)

// two is a YAML file with clusters A, B and C, and what follows.
func two(rest string) string {
	return "clusters: {A: {bootstrap: 'a:1'}, B: {bootstrap: 'b:1'}, C: {bootstrap: 'c:1'}}\n" + rest
}

const props = "clusters = A, B, C\nbootstrap.servers = x:1\n"

func look(name, text string, brokers map[string]lintfile.Brokers) lintfile.Report {
	return lintfile.Look(name, configfile.Examine(name, []byte(text), provider.Outside{}), brokers)
}

// lines are the findings as "severity line key flow: text; do".
func lines(r lintfile.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %d %s %s: %s; %s", f.Severity, f.Line, f.Key, f.Flow, f.Text, f.Do))
	}
	return out
}

// there is what is known of clusters A and B: whether a topic of offset syncs exists, and the ledger of A.
func there(place, syncs string, exists bool, target string, ledger bool) map[string]lintfile.Brokers {
	out := map[string]lintfile.Brokers{"A": {Count: 3, Topics: map[string]bool{}}, "B": {Count: 3, Topics: map[string]bool{}}}
	out[place].Topics[syncs], out[target].Topics["tidemark-ledger.A.internal"] = exists, ledger
	return out
}

// deleting is what is known of cluster A and B where a topic's old records are deleted.
func deleting(at, topic string) map[string]lintfile.Brokers {
	out := there("B", topic, true, "B", true)
	b := out[at]
	b.Deleting = map[string]bool{topic: true}
	out[at] = b
	return out
}

// TestWanted: the topics that are asked for, cluster by cluster.
func TestWanted(t *testing.T) {
	cfg := configfile.Examine("x.yaml", []byte(two("flows: [{from: A, to: B}, {from: C, to: B, offset_syncs_location: target}, {from: B, to: C, emit_offset_syncs: false}, {from: C, to: A, enabled: false}]")), provider.Outside{}).Config
	want := map[string][]string{
		"A": {"mm2-offset-syncs.B.internal"},
		"B": {
			"A.checkpoints.internal", "C.checkpoints.internal", "heartbeats", "mm2-offset-syncs.C.internal", "mm2-offsets.A.internal", "mm2-offsets.C.internal",
			"tidemark-controls.A.internal", "tidemark-controls.C.internal", "tidemark-ledger.A.internal", "tidemark-ledger.C.internal", "tidemark-verdicts.A.internal", "tidemark-verdicts.C.internal",
		},
		"C": {"B.checkpoints.internal", "heartbeats", "mm2-offsets.B.internal", "tidemark-controls.B.internal", "tidemark-ledger.B.internal", "tidemark-verdicts.B.internal"},
	}
	if got := lintfile.Wanted(cfg); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRisks: each case has exactly one finding that holds the text, with severity, line, key and flow as given; a case
// with "none" has no finding that holds it.
func TestRisks(t *testing.T) {
	enough := map[string]lintfile.Brokers{"A": {Count: 3}, "B": {Count: 3}, "C": {Count: 3}}
	for _, tc := range []struct {
		name, file, text string
		brokers          map[string]lintfile.Brokers
		head, holds      string
	}{
		{"group sync by default", "x.properties", props + "A->B.enabled = true\n", nil, "risk 0 sync.group.offsets.enabled A->B", "not committed on B, which is MirrorMaker 2's default"},
		{"group sync off", "x.properties", props + "A->B.enabled = true\nsync.group.offsets.enabled = false", nil, "risk 4 sync.group.offsets.enabled A->B", "not committed on B, as the file says"},
		{"group sync off in YAML", "x.yaml", two("flows:\n- {from: A, to: B, sync_groups: false}"), nil, "risk 3 flows[0].sync_groups A->B", "set sync_groups: true"},
		{"group sync on", "x.yaml", two("flows: [{from: A, to: B}]"), nil, "none", "not committed"},
		{"of a flow that is off", "x.properties", props + "A->B.enabled = true\nA->B.sync.group.offsets.enabled = true\nB->A.enabled = false", nil, "none", "not committed"},

		{"checkpoints off", "x.yaml", two("flows: [{from: A, to: B, emit_checkpoints: false}]"), nil, "risk 2 flows[0].emit_checkpoints A->B", "find no positions of A on B"},
		{"offset syncs off", "x.yaml", two("flows: [{from: A, to: B, emit_offset_syncs: false}]"), nil, "note 2 flows[0].emit_offset_syncs A->B", "no offset syncs are written"},
		{"heartbeats off", "x.yaml", two("flows: [{from: A, to: B, emit_heartbeats: false}]"), nil, "risk 2 flows[0].emit_heartbeats A->B", "takes this flow for dead"},
		{"heartbeats not mirrored", "x.yaml", two("flows: [{from: A, to: B, replicate_heartbeats: false}]"), nil, "risk 2 flows[0].replicate_heartbeats A->B", "without A.heartbeats"},
		{"heartbeats from nowhere", "x.yaml", two("flows: [{from: A, to: B}]"), nil, "note 0  A->B", "no flow of this file writes heartbeats to A, so B gets no A.heartbeats, by which MirrorClient finds upstream clusters and measures lag; "},
		{"heartbeats of MirrorMaker 2", "x.properties", props + "A->B.enabled = true\n", nil, "note 0  A->B", "MirrorMaker 2 writes them for B->A even while that flow is not enabled"},
		{"heartbeats from C", "x.yaml", two("flows: [{from: A, to: B}, {from: C, to: A, emit_heartbeats: true}]"), nil, "note 0  C->A", "writes heartbeats to C, so A"},
		{"heartbeats all round", "x.yaml", two("flows: [{from: A, to: B}, {from: B, to: A}]"), nil, "none", "writes heartbeats to"},
		{"no refresh", "x.yaml", two("flows: [{from: A, to: B, refresh_topics: false}]"), nil, "risk 2 flows[0].refresh_topics A->B", "added on A are not mirrored"},
		{"no topics", "x.yaml", two("flows: [{from: A, to: B, topics: []}]"), nil, "risk 2 flows[0].topics A->B", "no topic"},
		{"uncommitted", "x.properties", props + "A->B.enabled=true\nA.consumer.isolation.level=read_uncommitted", nil, "risk 4 A.consumer.isolation.level A->B", "records of aborted transactions"},

		{"sync both ways", "x.yaml", two("flows: [{from: A, to: B}, {from: B, to: A}]"), nil, "risk 0 sync_groups A->B", "A->B and B->A both commit group positions"},
		{"sync both ways, identity", "x.yaml", two("defaults: {policy: identity}\nflows: [{from: A, to: B, topics: [a]}, {from: B, to: A, topics: [b]}]"), nil, "risk 0 sync_groups A->B", "on the same topic names"},
		{"sync one way", "x.yaml", two("flows: [{from: A, to: B}, {from: B, to: A, sync_groups: false}]"), nil, "none", "both commit"},
		{"no groups one way", "x.yaml", two("flows: [{from: A, to: B}, {from: B, to: A, groups: []}]"), nil, "none", "both commit"},
		{"round and round", "x.yaml", two("defaults: {policy: identity}\nflows: [{from: A, to: B}, {from: B, to: A}]"), nil, "error 2 defaults.policy ", "copied round and round"},
		{"perhaps round and round", "x.yaml", two("defaults: {policy: identity}\nflows: [{from: A, to: B, topics: [a.*]}, {from: B, to: A, topics: [b.*]}]"), nil, "risk 2 defaults.policy A->B", "copied round and round"},
		{"two into one", "x.yaml", two("defaults: {policy: identity}\nflows: [{from: A, to: C}, {from: B, to: C}]"), nil, "risk 2 defaults.policy A->C", "A->C and B->C both keep topic names"},
		{"two into one with prefixes", "x.yaml", two("flows: [{from: A, to: C}, {from: B, to: C}]"), nil, "none", "both keep"},

		{"brokers not known", "x.yaml", two("flows: [{from: A, to: B, heartbeats_replication_factor: 5}]"), nil, "note 0  ", "whether cluster B has the 5 brokers"},
		{"too few brokers", "x.yaml", two("flows: [{from: A, to: B, heartbeats_replication_factor: 4}]"), enough, "risk 0  ", "cluster B has 3 brokers, and more replicas are asked for: 4 for heartbeats (flows[0].heartbeats_replication_factor, line 2); those that are not there yet are made with 3"},
		{"too few brokers for topics", "x.yaml", two("flows: [{from: A, to: B, replication_factor: 4}]"), enough, "error 0  ", "cluster B has 3 brokers, and more replicas are asked for: 4 for remote topics (flows[0].replication_factor, line 2); remote topics that are not there yet cannot be created"},
		{"no transactions", "x.yaml", two("flows: [{from: A, to: B}]"), map[string]lintfile.Brokers{"A": {Count: 3}, "B": {Count: 3, NoTransactions: "it can do none"}}, "error 0  ", "cluster B: it can do none"},
		{"no transactions on the source", "x.yaml", two("flows: [{from: A, to: B}]"), map[string]lintfile.Brokers{"A": {Count: 3, NoTransactions: "it can do none"}, "B": {Count: 3}}, "none", "it can do none"},
		{"too few on the source", "x.yaml", two("flows: [{from: A, to: B, offset_syncs_location: source}]"), map[string]lintfile.Brokers{"A": {Count: 2}, "B": {Count: 3}}, "risk 0  ", "cluster A has 2 brokers, and more replicas are asked for: 3 for offset syncs (offset_syncs_replication_factor, the default); those that are not there yet are made with 2"},
		{"syncs on the target", "x.yaml", two("flows: [{from: A, to: B, offset_syncs_location: target}]"), map[string]lintfile.Brokers{"A": {Count: 2}, "B": {Count: 3}}, "none", "replicas are asked for"},
		{"enough brokers", "x.yaml", two("flows: [{from: A, to: B}]"), enough, "none", "broker"},
		{"the broker's default", "x.yaml", two("flows: [{from: A, to: B, replication_factor: -1}]"), nil, "none", "broker"},
		{"no answer", "x.properties", props + "A->B.enabled = true", map[string]lintfile.Brokers{"A": {Count: 3}, "B": {Trouble: "refused"}}, "error 0 B.bootstrap.servers ", "cluster B cannot be asked: refused"},

		{"another mirror's syncs", "x.yaml", two("flows: [{from: A, to: B}]"), there("A", "mm2-offset-syncs.B.internal", true, "B", false), "risk 0 emit_offset_syncs A->B", "mm2-offset-syncs.B.internal on A is there already and tidemark-ledger.A.internal on B is not, so most likely another mirror writes there, such as a MirrorMaker 2: while that runs it takes what this flow writes for its own, and its checkpoints can lie beyond the end of its copies; set emit_offset_syncs: false while both run, or stop the other one for good first (docs/from-mirrormaker.md)"},
		{"another mirror's syncs on the target", "x.properties", props + "A->B.enabled = true\noffset-syncs.topic.location = target", there("B", "mm2-offset-syncs.A.internal", true, "B", false), "risk 0 emit.offset-syncs.enabled A->B", "set emit.offset-syncs.enabled = false"},
		{"syncs on, as the file says", "x.properties", props + "A->B.enabled = true\nA->B.emit.offset-syncs.enabled = true", there("A", "mm2-offset-syncs.B.internal", true, "B", false), "risk 4 A->B.emit.offset-syncs.enabled A->B", "is there already"},
		{"own syncs", "x.yaml", two("flows: [{from: A, to: B}]"), there("A", "mm2-offset-syncs.B.internal", true, "B", true), "none", "is there already"},
		{"no syncs yet", "x.yaml", two("flows: [{from: A, to: B}]"), there("A", "mm2-offset-syncs.B.internal", false, "B", false), "none", "is there already"},
		{"no syncs wanted", "x.yaml", two("flows: [{from: A, to: B, emit_offset_syncs: false}]"), there("A", "mm2-offset-syncs.B.internal", true, "B", false), "none", "is there already"},
		{"topics not known", "x.yaml", two("flows: [{from: A, to: B}]"), enough, "none", "is there already"},
		{"ledger not known", "x.yaml", two("flows: [{from: A, to: B}]"), map[string]lintfile.Brokers{"A": {Count: 3, Topics: map[string]bool{"mm2-offset-syncs.B.internal": true}}, "B": {Count: 3}}, "none", "is there already"},

		{"after MirrorMaker 2", "x.yaml", two("flows: [{from: A, to: B}]"), there("B", "mm2-offsets.A.internal", true, "B", false), "risk 0  A->B", "mm2-offsets.A.internal on B is there and tidemark-ledger.A.internal is not, so most likely a MirrorMaker 2 has run this flow: the next run copies nothing into remote topics that hold records already, and stops each of their partitions; docs/from-mirrormaker.md says how to run beside it under another alias, or in its place"},
		{"after MirrorMaker 2, names kept, no syncs", "x.properties", props + "A->B.enabled = true\nreplication.policy.class = IdentityReplicationPolicy\nemit.offset-syncs.enabled = false", there("B", "mm2-offsets.A.internal", true, "B", false), "risk 0  A->B", "a MirrorMaker 2 has run this flow"},
		{"after MirrorMaker 2's connectors on a Connect cluster", "x.yaml", two("flows: [{from: A, to: B}]"), there("B", "A.checkpoints.internal", true, "B", false), "risk 0  A->B", "A.checkpoints.internal on B is there and tidemark-ledger.A.internal is not, so most likely a MirrorMaker 2 has run this flow"},
		{"after MirrorMaker 2, started", "x.yaml", two("flows: [{from: A, to: B}]"), there("B", "mm2-offsets.A.internal", true, "B", true), "none", "has run this flow"},
		{"no MirrorMaker 2", "x.yaml", two("flows: [{from: A, to: B}]"), there("B", "mm2-offsets.A.internal", false, "B", false), "none", "has run this flow"},
		{"after MirrorMaker 2, ledger not known", "x.yaml", two("flows: [{from: A, to: B}]"), map[string]lintfile.Brokers{"A": {Count: 3}, "B": {Count: 3, Topics: map[string]bool{"mm2-offsets.A.internal": true}}}, "none", "has run this flow"},
		{"not known although asked", "x.yaml", two("flows: [{from: A, to: B}]"), map[string]lintfile.Brokers{"A": {Count: 3}}, "note 0  ", "whether cluster B has the 3 brokers that replication factors ask for is not known; "},

		{"deleted checkpoints", "x.yaml", two("flows: [{from: A, to: B}]"), deleting("B", "A.checkpoints.internal"), "risk 0  A->B", "the cleanup.policy of A.checkpoints.internal on B deletes old records: whoever translates by checkpoints misses the positions of groups that have not moved since; set its cleanup.policy to compact"},
		{"deleted syncs", "x.yaml", two("flows: [{from: A, to: B}]"), deleting("A", "mm2-offset-syncs.B.internal"), "risk 0  A->B", "whoever translates by offset syncs finds none"},
		{"deleted heartbeats", "x.yaml", two("flows: [{from: A, to: B}]"), deleting("B", "heartbeats"), "risk 0  A->B", "the cleanup.policy of heartbeats on B deletes"},
		{"deleted heartbeats of others", "x.yaml", two("flows: [{from: A, to: B, emit_heartbeats: false}]"), deleting("B", "heartbeats"), "none", "deletes"},
		{"deleted ledger", "x.yaml", two("flows: [{from: A, to: B}]"), deleting("B", "tidemark-ledger.A.internal"), "error 0  A->B", "the cleanup.policy of tidemark-ledger.A.internal on B deletes old records, which the flow must remember: a run is refused"},

		{"clear password", "x.yaml", "clusters: {A: {bootstrap: 'a:1', security: {protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: secretuser, password: secretword}}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B}]", nil, "risk 0  ", "the password for cluster A crosses the network in the clear"},
		{"no host names", "x.yaml", "clusters: {A: {bootstrap: 'a:1', security: {protocol: SSL, verify_hostname: false}}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B}]", nil, "risk 0  ", "host names of cluster A are not checked"},
		{"idle cluster", "x.yaml", two("flows: [{from: A, to: B}]"), nil, "note 0  ", "cluster C takes part in no enabled flow"},
		{"misspelt key", "x.properties", props + "A->B.enabled = true\nA->B.topcis = x", nil, "risk 4  ", "A->B.topcis has no effect: unknown key, did you mean A->B.topics?"},
		{"a problem", "x.properties", props + "A->B.enabled = yes", nil, "error 3 A->B.enabled ", `"yes" is neither true nor false; write true or false`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := look(tc.file, tc.text, tc.brokers)
			var found []string
			for _, line := range lines(r) {
				if strings.Contains(line, tc.holds) {
					found = append(found, line)
				}
			}
			if tc.head == "none" {
				if len(found) > 0 {
					t.Errorf("found %q", found)
				}
			} else if len(found) != 1 || !strings.HasPrefix(found[0], tc.head+": ") {
				t.Errorf("want one finding %q with %q, got\n%s", tc.head, tc.holds, strings.Join(lines(r), "\n"))
			}
			if text := r.Text() + fmt.Sprint(r); strings.Contains(text, "secretuser") || strings.Contains(text, "secretword") {
				t.Errorf("a login shows: %s", text)
			}
		})
	}
}

// TestSentences: what differs from the defaults is said.
func TestSentences(t *testing.T) {
	for _, tc := range []struct{ flow, about, want string }{
		{"topics: [x, y, z], topics_exclude: []", "topics", "every topic of A that matches x, y or z is mirrored; "},
		{"topics_exclude: []", "topics", "every topic of A is mirrored; "},
		{"topics: [x], topics_exclude: [y]", "topics", "every topic of A that matches x and does not match y is mirrored; "},
		{"refresh_topics: false", "topics", "at the next start only"},
		{"refresh_topics_interval: 90m", "topics", "within 1h30m"},
		{"separator: __", "names", "orders of A is called A__orders on B"},
		{"policy: identity", "names", "topics keep their names on B (heartbeats becomes A.heartbeats)"},
		{"isolation: read_uncommitted", "records", "those of aborted transactions too"},
		{"memory: 64MiB", "records", "at most 64 MiB"},
		{"config_properties_exclude: [x]", "settings", "but for x; later changes follow within 10m"},
		{"config_properties_exclude: [], sync_topic_configs: false", "settings", "have of their own; later changes are not followed"},
		{"groups: []", "groups", "no position is translated"},
		{"groups: [g], unmirrored_positions: earliest", "groups", "every group of A that matches g and does not match console-consumer-.*, connect-.* or __.* are translated, those below the first mirrored record to the oldest record on B and, while"},
		{"positions_interval: 500ms", "groups", "read every 500ms"},
		{"start: earliest", "topics", "topics of brokers and of mirrors never are; a new topic"},
		{"start: latest", "topics", "never are; no record that A holds when the flow first starts is copied; topics and partitions that are created later are copied whole, where MirrorMaker 2 begins at their end too; a new topic"},
		{"start: latest", "groups", "read every 1s; a group that stands below the place where mirroring began has no position on B until it has read up to there"},
		{"start: latest, sync_groups: false", "groups", "sync_groups is off; a group that stands below the place where mirroring began has no position on B until it has read up to there"},
		{"start: latest, unmirrored_positions: earliest", "groups", "those below the first mirrored record to the oldest record on B and, while a group is not active there, committed on B; they are read every 1s."},
		{"sync_groups_interval: 5s", "groups", "they are read every 1s, more often than flows[0].sync_groups_interval (line 2) asks for, whose 5s is an upper limit"},
		{"sync_groups_interval: 500ms", "groups", "they are read every 500ms, as flows[0].sync_groups_interval (line 2) says"},
		{"sync_groups_interval: 5s, positions_interval: 5s", "groups", "they are read every 5s, as flows[0].sync_groups_interval (line 2) says"},
		{"sync_groups_interval: 5s, checkpoints_interval: 100ms", "groups", "they are read every 100ms, more often"},
		{"separator: _", "checkpoints", "are written to A_checkpoints_internal on B"},
		{"separator: _, internal_separator: false", "checkpoints", "are written to A.checkpoints.internal on B"},
		{"offset_syncs_location: target", "offset syncs", "are written to mm2-offset-syncs.A.internal on B; nothing is written to A"},
		{"emit_offset_syncs: false", "offset syncs", "nothing is written to A"},
		{"replicate_heartbeats: false", "heartbeats", "only where a pattern names them"},
		{"lanes: 4", "own topics", "of 4 partitions each"},
		{"replication_factor: -1, emit_checkpoints: false", "replication", "remote topics the broker's default, Tidemark's own topics the broker's default, offset syncs the broker's default, heartbeats the broker's default"},
	} {
		r := look("x.yaml", two("flows: [{from: A, to: B, "+tc.flow+"}, {from: B, to: C, enabled: false}]"), nil)
		if r.Kind != "yaml" || len(r.Flows) != 2 || r.Flows[1].Enabled || len(r.Flows[1].Sentences) > 0 {
			t.Fatalf("%s: %+v", tc.flow, r)
		}
		said := ""
		for _, s := range r.Flows[0].Sentences {
			if s.About == tc.about {
				said += s.Text + "."
			}
		}
		if !strings.Contains(said, tc.want) {
			t.Errorf("%s: %s: %q, want %q", tc.flow, tc.about, said, tc.want)
		}
	}
}

// TestOrderAndText: errors come before risks before notes, lines break at the width, and remarks show beside errors.
func TestOrderAndText(t *testing.T) {
	r := look("x.properties", props+"topcis = x\nA->B.enabled = yes\ntasks.max = 3\ntopics = "+strings.Repeat("a-rather-long-name, ", 20), nil)
	last := 0
	rank := map[string]int{lintfile.Error: 1, lintfile.Risk: 2, lintfile.Note: 3}
	for _, f := range r.Findings {
		if rank[f.Severity] < last {
			t.Errorf("%+v comes too late", f)
		}
		last = rank[f.Severity]
	}
	if r.Count(lintfile.Error) != 1 || r.Count(lintfile.Risk) != 1 || len(r.Flows) != 0 {
		t.Errorf("%+v", r)
	}
	good := look("x.properties", props+"A->B.enabled = true\nA->B.topics = "+strings.Repeat("a-rather-long-name, ", 20), nil)
	for _, text := range []string{r.Text(), good.Text()} {
		for line := range strings.Lines(text) {
			if len(line) > 113 {
				t.Errorf("a line of %d characters: %s", len(line), line)
			}
		}
	}
	if text := r.Text(); !strings.HasPrefix(text, "Errors\n  - x.properties:4: A->B.enabled: ") || !strings.Contains(text, "\nRisks\n") || !strings.Contains(text, "\nNotes\n") {
		t.Error(text)
	}
}

// TestMissing: what a start would be refused for is an error with its line, and a note where no enabled flow needs it.
func TestMissing(t *testing.T) {
	r := look("x.yaml", two("flows: [{from: A, to: B, sync_groups: false}]"), nil).With(
		report.Problems{{File: "x.yaml", Line: 1, Key: "clusters.A.security.password_env", What: "environment variable X is not set", Do: "set it to the password"}},
		report.Problems{{File: "x.yaml", Line: 2, Key: "clusters.C.security.password_env", What: "environment variable Y is not set", Do: "set it to the password"}})
	got := lines(r)
	if got[0] != "error 1 clusters.A.security.password_env : environment variable X is not set; set it to the password" || !strings.HasPrefix(got[1], "risk ") {
		t.Errorf("%q", got)
	}
	if want := "note 2 clusters.C.security.password_env : environment variable Y is not set, and no enabled flow needs it; set it to the password"; got[2] != want || r.Count(lintfile.Error) != 1 {
		t.Errorf("got  %q\nwant %q", got[2], want)
	}
}
