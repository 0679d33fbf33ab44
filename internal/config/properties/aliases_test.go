package properties

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
)

// named says how the first enabled flow of a file names things, and which topics it leaves out.
func named(t *testing.T, lines string) string {
	t.Helper()
	got := Examine("x.properties", []byte(lines), provider.Outside{})
	if len(got.Problems) > 0 {
		t.Fatal(got.Problems)
	}
	for _, r := range got.Remarks {
		if r.Warn {
			t.Errorf("a warning: %s", r)
		}
	}
	f := got.Config.EnabledFlows()[0]
	p := got.Config.Policy(f)
	return fmt.Sprintf("%s %s %s %s", p.RemoteTopic(f.SourceAlias, "orders"), p.CheckpointsTopic(f.SourceAlias), p.OffsetSyncsTopic(f.TargetAlias), p.RemoteTopic(f.SourceAlias, "heartbeats"))
}

// TestAliases: remote and internal topics are named by the aliases that MirrorMaker 2 4.3.0 takes: the flow's key before
// the one at top level before what the clusters are called; a key at top level counts whatever the clusters are called.
func TestAliases(t *testing.T) {
	const ab = "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n"
	const st = "clusters = source, target\nsource.bootstrap.servers = x:1\ntarget.bootstrap.servers = y:1\nsource->target.enabled = true\n"
	const usdf = "usdf.orders usdf.checkpoints.internal mm2-offset-syncs.ukdf.internal usdf.heartbeats"
	for _, tc := range []struct{ lines, want string }{
		{ab, "A.orders A.checkpoints.internal mm2-offset-syncs.B.internal A.heartbeats"},
		{ab + "source.cluster.alias = usdf\ntarget.cluster.alias = ukdf", usdf},
		{ab + "A->B.source.cluster.alias = usdf\nA->B.target.cluster.alias = ukdf", usdf},
		{ab + "A->B.source.cluster.alias = usdf\nA->B.target.cluster.alias = ukdf\nsource.cluster.alias = x\ntarget.cluster.alias = y", usdf},
		{ab + "B->A.source.cluster.alias = usdf", "A.orders A.checkpoints.internal mm2-offset-syncs.B.internal A.heartbeats"},
		{st, "source.orders source.checkpoints.internal mm2-offset-syncs.target.internal source.heartbeats"},
		{st + "source.cluster.alias = usdf\ntarget.cluster.alias = ukdf", usdf},
		{st + "source->target.source.cluster.alias = usdf\nsource->target.target.cluster.alias = ukdf", usdf},
		{ab + "source.cluster.alias =", ".orders .checkpoints.internal mm2-offset-syncs.B.internal .heartbeats"},
		{ab + "source.cluster.alias =\ntarget.cluster.alias =", ".orders .checkpoints.internal mm2-offset-syncs..internal .heartbeats"},

		// The trick to keep names before there was a policy for it.
		{ab + "source.cluster.alias =\ntarget.cluster.alias =\nreplication.policy.separator =", "orders checkpointsinternal mm2-offset-syncsinternal heartbeats"},
		{ab + "source.cluster.alias =\nreplication.policy.separator =", "orders checkpointsinternal mm2-offset-syncsBinternal heartbeats"},
		{ab + "source.cluster.alias =\nreplication.policy.separator =\nreplication.policy.internal.topic.separator.enabled = false", "orders .checkpoints.internal mm2-offset-syncs.B.internal heartbeats"},
		{ab + "replication.policy.separator =\nreplication.policy.class = IdentityReplicationPolicy", "orders Acheckpointsinternal mm2-offset-syncsBinternal Aheartbeats"},

		// A target's alias that is in no name of a topic may be anything.
		{strings.ReplaceAll(ab, "B", "b~/?#") + "A->b~/?#.offset-syncs.topic.location = target", "A.orders A.checkpoints.internal mm2-offset-syncs.b~/?#.internal A.heartbeats"},
		{strings.ReplaceAll(ab, "B", "b~/?#") + "target.cluster.alias = b", "A.orders A.checkpoints.internal mm2-offset-syncs.b.internal A.heartbeats"},
	} {
		if got := named(t, tc.lines); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.lines, got, tc.want)
		}
	}
}

// TestAliasesRefused: what no topic can be called by, or what cannot be taken apart again, is refused with what to write.
func TestAliasesRefused(t *testing.T) {
	const ab = "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n"
	for _, tc := range []struct{ lines, says string }{
		{ab + "replication.policy.separator =", `x.properties:4: replication.policy.separator: flow A->B: without a separator topic orders of A would be called "Aorders", and no such name can be taken apart again; to keep names write replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy`},
		{ab + "source.cluster.alias = a/b", `x.properties:4: source.cluster.alias: flow A->B: alias "a/b" cannot stand in a topic name`},
		{ab + "A->B.target.cluster.alias = a.b", `alias "a.b" contains the separator "."`},
		{strings.ReplaceAll(ab, "B", "b~/?#"), `flow A->b~/?#: alias "b~/?#" cannot stand in a topic name, as it does in the one of offset syncs, checkpoints or records; use letters, digits, dots, underscores and hyphens: target.cluster.alias gives another name`},
		{strings.ReplaceAll(ab, "A", "a~/?#"), `alias "a~/?#" cannot stand in a topic name; use letters`},
	} {
		got := Examine("x.properties", []byte(tc.lines), provider.Outside{})
		if len(got.Problems) != 1 || !strings.Contains(got.Problems.Error(), tc.says) {
			t.Errorf("%s\n got %v\nwant one with %s", tc.lines, got.Problems, tc.says)
		}
	}
}

// TestNamesOfClusters: a key that MirrorMaker 2 reads at top level is read there whatever the clusters are called, and is
// named by no remark. What begins with the name of a cluster is that cluster's as well.
func TestNamesOfClusters(t *testing.T) {
	flow := func(lines string) (config.Flow, config.Examined) {
		got := Examine("x.properties", []byte(lines), provider.Outside{})
		if len(got.Problems) > 0 {
			t.Fatalf("%s\n%v", lines, got.Problems)
		}
		return got.Config.EnabledFlows()[0], got
	}
	keys := append(slices.Clone(honoured(topScope)), "tasks.max", "offset.lag.max", "key.converter", "offset.storage.replication.factor", "config.storage.topic", "status.storage.partitions",
		"consumer.poll.timeout.ms", "admin.timeout.ms", "metric.reporters", "listeners.https.ssl.protocol", "rest.port", "group.id", "task.shutdown.graceful.timeout.ms", "topic.creation.enable")
	for _, key := range keys {
		alias, rest, dotted := strings.Cut(key, ".")
		if !dotted || strings.HasPrefix(key, "source.consumer.") || key == "config.providers" {
			continue
		}
		value := map[string]string{
			"separator": "_", "class": "", "alias": "x", "location": "target", "factor": "1", "enabled": "false", "seconds": "5", "ms": "1000", "exclude": "a", "blacklist": "a",
			"lanes": "4", "bytes": "9000000", "protocol": "PLAINTEXT", "servers": "z:1",
		}[key[strings.LastIndex(key, ".")+1:]]
		if strings.HasPrefix(key, "ssl.") || strings.HasPrefix(key, "sasl.") || strings.HasSuffix(key, ".class") || value == "" {
			continue // the same rule, with values that need others
		}
		const one = "clusters = %s, B\n%s.bootstrap.servers = x:1\nB.bootstrap.servers = y:1\n%s->B.enabled = true\n%s = %s\n"
		plain, was := flow(fmt.Sprintf(one, "A", "A", "A", key, value))
		same, is := flow(fmt.Sprintf(one, alias, alias, alias, key, value))
		same.Source = plain.Source
		if same.SourceAlias == alias {
			same.SourceAlias = plain.SourceAlias
		}
		if fmt.Sprint(same) != fmt.Sprint(plain) {
			t.Errorf("%s with a cluster %s:\n got %+v\nwant %+v", key, alias, same, plain)
		}
		a, b := strings.ReplaceAll(fmt.Sprint(was.Remarks), "A", alias), strings.ReplaceAll(fmt.Sprint(is.Remarks), "A", alias)
		if a != b {
			t.Errorf("%s with a cluster %s (%s):\n got %s\nwant %s", key, alias, rest, b, a)
		}
	}
	got := Examine("x.properties", []byte("clusters = source, target\nsource.bootstrap.servers = x:1\ntarget.bootstrap.servers = y:1\nsource->target.enabled = true\nsource.cluster.sasl.mechanism = PLAIN"), provider.Outside{})
	if w := got.Config.Warnings; len(w) != 1 || w[0] != "source.cluster.sasl.mechanism has no effect: write it as source.sasl.mechanism (line 5)" {
		t.Errorf("got %q", w)
	}
}
