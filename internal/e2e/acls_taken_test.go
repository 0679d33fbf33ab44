package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/acls"
	"tidemark/internal/testcluster"
)

// takenAway: rights that are taken away from a worker while it runs, on settings of the source topic, on those of the remote one
// (of which nothing is to be changed), and on a group, are named in its log, and by `status --check`. Data goes on, after a restart too, and the group is not taken for deleted; all is
// over when the rights are given back.
func (l least) takenAway(t *testing.T) {
	l.users("lw", "lwt")
	f := l.flow(t, "lw", "lw-data", "lw-group", ", replicate_heartbeats: false, sync_topic_acls: false")
	report := acls.Of(f.cfg, f.cfg.Flows, "")
	for i, c := range report.Clusters {
		grant(t, []*testcluster.Real{l.src, l.dst}[i], rulesOf(c))
	}
	who := report.Clusters[0].Principal
	taken := []granted{{who, "topic", "literal", "lw-data", "DESCRIBE_CONFIGS"}, {who, "group", "literal", "lw-group", "DESCRIBE"}}
	remote := granted{report.Clusters[1].Principal, "topic", "literal", "lw.lw-data", "ALTER_CONFIGS"}
	fill(t, l.src, "lw-data", 50)
	f.commit("lw-group", map[string]map[int32]int64{"lw-data": {0: 20}})
	log := f.listen()
	stop := f.start()
	f.holds(l.dst, "lw.lw-data", 50)
	f.reaches("lw-group", "lw-data", 0, 20)
	// The right to change settings has the right to read them in it, which stays here.
	grant(t, l.dst, []granted{{remote.principal, "topic", "literal", "lw.lw-data", "DESCRIBE_CONFIGS"}})
	revoke(t, l.dst, []granted{remote})
	f.until(60*time.Second, "the right on the remote topic in the log", func(context.Context) (bool, string) {
		return log.line("ALTER_CONFIGS on topic", "lw.lw-data", "is missing"), "not yet"
	})
	f.red("settings of remote topics do not follow the source: lw.lw-data")
	grant(t, l.dst, []granted{remote})
	f.until(60*time.Second, "the end of it in the log", func(context.Context) (bool, string) {
		return log.line("settings of a remote topic follow the source again"), "not yet"
	})
	revoke(t, l.src, taken)
	took := timed(t, "both rights are named")
	f.until(60*time.Second, "both rights in the log", func(context.Context) (bool, string) {
		// In quotes in quotes, as a log line has an error with names.
		return log.line("DESCRIBE_CONFIGS on topic", "lw-data", "is missing") && log.line("DESCRIBE on group", "lw-group", "is missing"), "not both"
	})
	if d := took(); d > 30*time.Second {
		t.Errorf("it took %v", d)
	}
	f.red(`settings of topics cannot be read: lw-data`, `positions of groups cannot be read`, `DESCRIBE on group`)
	if err := stop(); err != nil {
		t.Error(err)
	}
	log = f.listen()
	stop = f.start()
	load := testcluster.Load{Topic: "lw-data", First: 50, Count: 50}
	if err := testcluster.Produce(t.Context(), l.src.ClientOpts(), load); err != nil {
		t.Fatal(err)
	}
	f.holds(l.dst, "lw.lw-data", 100)
	f.reaches("lw-group", "lw-data", 0, 20) // as it was
	f.until(60*time.Second, "the missing right in the log of the next start", func(context.Context) (bool, string) {
		return log.line("settings of topics cannot be read", "DESCRIBE_CONFIGS on topic", "lw-data"), "not yet"
	})
	grant(t, l.src, taken)
	f.commit("lw-group", map[string]map[int32]int64{"lw-data": {0: 70}})
	f.reaches("lw-group", "lw-data", 0, 70)
	f.until(60*time.Second, "the end of it in the log", func(context.Context) (bool, string) {
		return log.line("settings of topics can be read again", "lw-data"), "not yet"
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// revoke removes access rules from a cluster.
func revoke(t *testing.T, r *testcluster.Real, rules []granted) {
	t.Helper()
	req := kmsg.NewPtrDeleteACLsRequest()
	for _, g := range rules {
		f := kmsg.NewDeleteACLsRequestFilter()
		var err error
		if f.ResourceType, err = kmsg.ParseACLResourceType(g.resource); err != nil {
			t.Fatal(err)
		}
		if f.Operation, err = kmsg.ParseACLOperation(g.operation); err != nil {
			t.Fatal(err)
		}
		f.ResourcePatternType, f.ResourceName, f.Principal, f.PermissionType = kmsg.ACLResourcePatternTypeLiteral, &g.name, &g.principal, kmsg.ACLPermissionTypeAllow
		req.Filters = append(req.Filters, f)
	}
	resp, err := req.RequestWith(t.Context(), r.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range resp.Results {
		if res.ErrorCode != 0 || len(res.MatchingACLs) != 1 {
			t.Fatalf("%+v: %d, %d rules", rules[i], res.ErrorCode, len(res.MatchingACLs))
		}
	}
}
