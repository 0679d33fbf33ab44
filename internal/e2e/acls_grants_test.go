package e2e

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/acls"
	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
)

// least is a pair of clusters that both check rights.
type least struct {
	t        *testing.T
	src, dst *testcluster.Real
}

// flow is a flow of the pair. Its users are called as the clusters are. They are two because access rules are copied: a right
// that one user has on a source topic would soon be there on the remote topic.
func (l least) flow(t *testing.T, alias, topics, groups, extra string) *flow {
	t.Helper()
	yaml := fmt.Sprintf(`
clusters:
  %[1]s: %[2]s
  %[1]st: %[3]s
flows:
  - {from: %[1]s, to: %[1]st, topics: [%[4]s], groups: [%[5]s], replication_factor: 1, offset_syncs_replication_factor: 1,
     checkpoints_replication_factor: 1, heartbeats_replication_factor: 1, lanes: 2, positions_interval: 200ms, heartbeats_interval: 500ms,
     refresh_topics_interval: 500ms, sync_topic_configs_interval: 1s, sync_topic_acls_interval: 1s%[6]s}
`, alias, cluster(l.src.BootstrapString(), login(l.src, alias)), cluster(l.dst.BootstrapString(), login(l.dst, alias+"t")), topics, groups, extra)
	cfg, err := configfile.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{tb: t, alias: alias, yaml: yaml, cfg: cfg, log: slog.New(slog.DiscardHandler)}
	f.src, f.dst = kadm.NewClient(l.src.Client(t)), kadm.NewClient(l.dst.Client(t))
	return f
}

// users makes users on both clusters.
func (l least) users(names ...string) {
	l.t.Helper()
	var all []kadm.UpsertSCRAM
	for _, name := range names {
		all = append(all, kadm.UpsertSCRAM{User: name, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: name + "-secret"})
	}
	for _, r := range []*testcluster.Real{l.src, l.dst} {
		got, err := kadm.NewClient(r.Client(l.t)).AlterUserSCRAMs(l.t.Context(), nil, slices.Clone(all)) // it writes into what it is given
		if err = errors.Join(err, got.Error()); err != nil {
			l.t.Fatal(err)
		}
	}
}

// granted is one access rule with one operation, in comparable words.
type granted struct {
	principal, resource, pattern, name, operation string
}

// rulesOf are a cluster's rules of a report, one for each operation.
func rulesOf(c acls.Cluster) (out []granted) {
	for _, r := range c.Rules {
		for _, right := range r.Rights {
			out = append(out, granted{c.Principal, string(r.Resource), r.Pattern, r.Name, string(right.Operation)})
		}
	}
	return out
}

// grant creates rules on a cluster.
func grant(t *testing.T, r *testcluster.Real, rules []granted) {
	t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	for _, g := range rules {
		c := kmsg.NewCreateACLsRequestCreation()
		var err [3]error
		c.ResourceType, err[0] = kmsg.ParseACLResourceType(g.resource)
		c.ResourcePatternType, err[1] = kmsg.ParseACLResourcePatternType(g.pattern)
		c.Operation, err[2] = kmsg.ParseACLOperation(g.operation)
		if err := errors.Join(err[:]...); err != nil {
			t.Fatal(err)
		}
		c.ResourceName, c.Principal, c.Host, c.PermissionType = g.name, g.principal, "*", kmsg.ACLPermissionTypeAllow
		req.Creations = append(req.Creations, c)
	}
	resp, err := req.RequestWith(t.Context(), r.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range resp.Results {
		if res.ErrorCode != 0 {
			t.Fatalf("%+v: %d", rules[i], res.ErrorCode)
		}
	}
}

// held are the rules of a principal on a cluster.
func held(t *testing.T, r *testcluster.Real, principal string) (out []granted) {
	t.Helper()
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	req.Operation, req.PermissionType, req.Principal = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny, &principal
	resp, err := req.RequestWith(t.Context(), r.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range resp.Resources {
		for _, a := range res.ACLs {
			resource := strings.ToLower(strings.ReplaceAll(res.ResourceType.String(), "_", "-"))
			out = append(out, granted{a.Principal, resource, strings.ToLower(res.ResourcePatternType.String()), res.ResourceName, a.Operation.String()})
		}
	}
	return out
}

func sorted(g []granted) []granted {
	return slices.SortedFunc(slices.Values(g), func(a, b granted) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// commands: what --commands prints does with Kafka's own tool what the report says.
func (l least) commands(t *testing.T) {
	const who = "User:lr tool"                                                                   // a blank has to get through the shell
	f := l.flow(t, "lt", "lt-data, 'lt-more-.*'", "'lt group'", ", replicate_heartbeats: false") // or the other flow copies the rule on heartbeats meanwhile
	report := acls.Of(f.cfg, f.cfg.Flows, who)
	for i, c := range report.Clusters {
		r := []*testcluster.Real{l.src, l.dst}[i]
		dir := t.TempDir()
		script := filepath.Join(dir, "commands.sh")
		text := "kafka-acls.sh() { printf '%s\\0' \"$@\"; printf '\\n\\0'; }\n" + acls.Report{Clusters: []acls.Cluster{c}}.Commands().Text()
		login := filepath.Join(dir, "admin.properties")
		var props strings.Builder
		client := r.JavaProps()
		client["sasl.mechanism"] = "SCRAM-SHA-512"
		for k, v := range client {
			fmt.Fprintf(&props, "%s=%s\n", k, v)
		}
		if err := errors.Join(os.WriteFile(script, []byte(text), 0o600), os.WriteFile(login, []byte(props.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
		words, err := exec.CommandContext(t.Context(), "bash", script).Output()
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{login}, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")...)
		out, err := testcluster.RunJavaSource(t.Context(), "Acls.java", runACLTool, args...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(sorted(rulesOf(c)), sorted(held(t, r, who)), cmp.AllowUnexported(granted{})); diff != "" {
			t.Errorf("cluster %s (-report +created):\n%s", c.Alias, diff)
		}
	}
}

// runACLTool runs Kafka's tool for each line of arguments, in one JVM.
const runACLTool = `
import java.util.*;
public class Acls {
    public static void main(String[] args) throws Exception {
        List<String> one = new ArrayList<>();
        for (int i = 1; i < args.length; i++) {
            if (!args[i].equals("\n")) { one.add(args[i]); continue; }
            one.addAll(List.of("--command-config", args[0]));
            org.apache.kafka.tools.AclCommand.main(one.toArray(new String[0]));
            one.clear();
        }
    }
}
`
