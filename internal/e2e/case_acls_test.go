package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/configfile"
	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/topics"
	"tidemark/mm2"
)

// newUser makes a user of the secured cluster, for a test that needs one of its own.
func newUser(t *testing.T, name string) {
	t.Helper()
	got, err := kadm.NewClient(secured(t).Client(t)).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{
		{User: name, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: name + "-secret"},
	})
	if err == nil {
		err = got.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// connect opens a cluster of a flow's file as the engine does.
func connect(t *testing.T, alias, yaml string) *kafka.Client {
	t.Helper()
	cfg, err := configfile.Parse("test.yaml", []byte(fmt.Sprintf("clusters:\n  %s: %s\n  other: {bootstrap: \"127.0.0.1:1\"}\nflows:\n  - {from: %s, to: other}\n", alias, yaml, alias)))
	if err != nil {
		t.Fatal(err)
	}
	kc, err := cfg.Clusters[alias].Kafka()
	if err != nil {
		t.Fatal(err)
	}
	c, err := kafka.Open(kc, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func aclRules(t *testing.T, include string) topics.Rules {
	t.Helper()
	f, err := mm2.NewFilter([]string{include}, mm2.DefaultTopicsExclude())
	if err != nil {
		t.Fatal(err)
	}
	return topics.Rules{Selection: mm2.Selection{Policy: mm2.DefaultPolicy{Aliases: []string{"A", "B"}}, Source: "A", Target: "B", Topics: f}}
}

// TestCase77ACLsOnRealBrokers: which access rules arrive, what is needed to copy them (DESCRIBE on the source's cluster,
// ALTER on the target's, granted one by one), and that a rule revoked on the source stays. One cluster plays both sides.
func TestCase77ACLsOnRealBrokers(t *testing.T) {
	t.Parallel()
	r := secured(t)
	newUser(t, "aclreader")
	newUser(t, "aclwriter")
	login := func(alias, user string) *kafka.Client {
		return connect(t, alias, cluster(r.BootstrapString(), login(r, user)))
	}
	log := &heard{next: &testLog{t: t}}
	s := topics.NewACLs(login("A", "aclreader"), login("B", "aclwriter"), aclRules(t, "c77-.*"), events.From(slog.New(slog.NewTextHandler(log, nil))))
	rounds := func(says ...string) {
		t.Helper()
		f := &flow{tb: t}
		f.until(30*time.Second, "a word in the log", func(ctx context.Context) (bool, string) {
			s.Round(ctx)
			return log.line(says...), strings.Join(says, " ")
		})
	}
	admin := kadm.NewClient(r.Client(t))
	app := rights{t: t, user: "c77-app", admin: admin}
	app.on(topicACL, "c77-t", read, write, alter)
	app.on(topicACL, "c77-u", kmsg.ACLOperationAll)
	app.on(topicACL, "c77-not.internal", read)
	app.under(topicACL, "c77-", read)
	app.on(groupACL, "c77-group", read)
	rounds("level=WARN", "DESCRIBE on the cluster is missing on cluster A")
	rights{t: t, user: "aclreader", admin: admin}.on(clusterACL, "kafka-cluster", describe)
	rounds("level=WARN", "DESCRIBE on the cluster is missing on cluster B")
	rights{t: t, user: "aclwriter", admin: admin}.on(clusterACL, "kafka-cluster", alter)
	rounds("access rule copied", "A.c77-u")
	rounds("about a prefix", "topics=\"", "c77-")
	rounds("the right to write", "topics=c77-t")
	all := login("ALL", "aclreader")
	copies := func() (out []string) {
		got, err := all.TopicACLs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got {
			if strings.Contains(a.Topic, "A.c77-") || a.Topic == "A.*" {
				out = append(out, a.String())
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{`ALLOW User:c77-app ALTER from * on "A.c77-t"`, `ALLOW User:c77-app READ from * on "A.c77-t"`, `ALLOW User:c77-app READ from * on "A.c77-u"`}
	if diff := cmp.Diff(want, copies()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b := kadm.NewACLs().Topics("c77-t").Allow("User:c77-app").AllowHosts("*").Operations(kadm.OpAlter).ResourcePatternType(kadm.ACLPatternLiteral)
	if got, err := admin.DeleteACLs(t.Context(), b); err != nil || len(got) != 1 || len(got[0].Deleted) != 1 {
		t.Fatal(got, err)
	}
	s.Round(t.Context())
	if diff := cmp.Diff(want, copies()); diff != "" {
		t.Errorf("after a rule was revoked on the source (-want +got):\n%s", diff)
	}
}

// TestCase76NoAuthorizerOnRealBrokers: brokers without an authorizer are one note, no matter on which side or how often.
func TestCase76NoAuthorizerOnRealBrokers(t *testing.T) {
	t.Parallel()
	log := &heard{next: &testLog{t: t}}
	a := connect(t, "A", cluster(suite.source.BootstrapString(), nil))
	b := connect(t, "B", cluster(suite.target.BootstrapString(), nil))
	s := topics.NewACLs(a, b, aclRules(t, ".*"), events.From(slog.New(slog.NewTextHandler(log, nil))))
	for range 3 {
		s.Round(t.Context())
	}
	if len(log.lines) != 1 || !log.line("level=INFO", "not copied", "no authorizer", "cluster A") {
		t.Errorf("log: %q", log.lines)
	}
}
