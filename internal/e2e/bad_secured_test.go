package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/testcluster"
)

// securedOptions are those of the cluster with TLS, one SASL mechanism and an authorizer. Each test has a user of its own.
func securedOptions() testcluster.RealOptions {
	o := testcluster.RealOptions{
		Name: "secured", Security: testcluster.SASLSSL, Authorizer: true, HeapMB: 512,
		Props: map[string]string{"listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512"},
	}
	for _, name := range []string{"reader", "writer", "creator", "joiner"} {
		o.Users = append(o.Users, testcluster.User{Name: name, Password: name + "-secret"})
	}
	return o
}

func secured(t *testing.T) *testcluster.Real {
	t.Helper()
	r, err := suite.secured()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// security is the security part of a cluster in a flow's file.
type security map[string]string

func (s security) with(key, value string) security {
	s = maps.Clone(s)
	if s[key] = value; value == "" {
		delete(s, key)
	}
	return s
}

// cluster is a cluster of a flow's file as YAML.
func cluster(bootstrap string, s security) string {
	if s == nil {
		return fmt.Sprintf("{bootstrap: %q}", bootstrap)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s: %q", k, s[k]))
	}
	return fmt.Sprintf("{bootstrap: %q, security: {%s}}", bootstrap, strings.Join(parts, ", "))
}

// login is how a user connects to the secured cluster.
func login(r *testcluster.Real, user string) security {
	return security{"protocol": "SASL_SSL", "ca": r.Certificates().CA, "mechanism": "SCRAM-SHA-512", "username": user, "password": user + "-secret"}
}

// TestWrongCredentials: whatever is wrong about the way to a secured cluster is said with its alias and in words that
// lead to the line to change, soon, and the process ends with code 1.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	r := secured(t)
	good := login(r, "reader")
	where := r.BootstrapString()
	plain := suite.target.BootstrapString()
	for _, c := range []struct {
		name string
		sec  string
		says []string
	}{
		{"wrong password", cluster(where, good.with("password", "letmein")), []string{`authenticate to cluster SEC as user "reader" with SCRAM-SHA-512`}},
		{"unknown user", cluster(where, good.with("username", "nobody")), []string{`authenticate to cluster SEC as user "nobody"`}},
		{"wrong mechanism", cluster(where, good.with("mechanism", "PLAIN")), []string{`as user "reader" with PLAIN`, "does not support the requested SASL mechanism"}},
		{"wrong authority", cluster(where, good.with("ca", r.Certificates().ClientCert)), []string{"cluster SEC at " + where, "certificate", "not signed by a trusted authority"}},
		{"no authority", cluster(where, good.with("ca", "")), []string{"cluster SEC at " + where, "not signed by a trusted authority"}},
		{"plaintext to a TLS port", cluster(where, nil), []string{"cluster SEC at " + where, "turn TLS on"}},
		{"SASL without TLS to a TLS port", cluster(where, good.with("protocol", "SASL_PLAINTEXT").with("ca", "")), []string{"cluster SEC at " + where, "turn TLS on"}},
		{"TLS without SASL", cluster(where, security{"protocol": "SSL", "ca": r.Certificates().CA}), []string{"cluster SEC", "no sasl is configured"}},
		{"TLS to a plaintext port", cluster(plain, good), []string{"cluster SEC at " + plain, "speaks no TLS"}},
		{"SASL to a port without", cluster(plain, good.with("protocol", "SASL_PLAINTEXT").with("ca", "")), []string{`authenticate to cluster SEC as user "reader"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, flow := range []string{"{from: SEC, to: OTHER}", "{from: OTHER, to: SEC}"} {
				out := refused(t, fmt.Sprintf("clusters:\n  SEC: %s\n  OTHER: {bootstrap: %q}\nflows:\n  - %s\n", c.sec, suite.source.BootstrapString(), flow), 1)
				says(t, out, c.says...)
				if strings.Contains(out, "-secret") || strings.Contains(out, "letmein") {
					t.Errorf("the password is in the output:\n%s", out)
				}
			}
		})
	}
}

// rights are the access rights of one user, changed while a flow runs.
type rights struct {
	t     *testing.T
	user  string
	admin *kadm.Client
}

func (r rights) change(allow bool, resource kmsg.ACLResourceType, pattern kmsg.ACLResourcePatternType, name string, ops ...kmsg.ACLOperation) {
	r.t.Helper()
	if allow {
		req := kmsg.NewPtrCreateACLsRequest()
		for _, op := range ops {
			c := kmsg.NewCreateACLsRequestCreation()
			c.ResourceType, c.ResourcePatternType, c.ResourceName = resource, pattern, name
			c.Principal, c.Host, c.Operation, c.PermissionType = "User:"+r.user, "*", op, kmsg.ACLPermissionTypeAllow
			req.Creations = append(req.Creations, c)
		}
		resp, err := req.RequestWith(r.t.Context(), secured(r.t).Client(r.t))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, res := range resp.Results {
			if err := kerr.ErrorForCode(res.ErrorCode); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// on allows operations on one named resource.
func (r rights) on(resource kmsg.ACLResourceType, name string, ops ...kmsg.ACLOperation) {
	r.t.Helper()
	r.change(true, resource, kmsg.ACLResourcePatternTypeLiteral, name, ops...)
}

// under allows operations on all resources whose names begin with a prefix.
func (r rights) under(resource kmsg.ACLResourceType, prefix string, ops ...kmsg.ACLOperation) {
	r.t.Helper()
	r.change(true, resource, kmsg.ACLResourcePatternTypePrefixed, prefix, ops...)
}

const (
	topicACL   = kmsg.ACLResourceTypeTopic
	groupACL   = kmsg.ACLResourceTypeGroup
	clusterACL = kmsg.ACLResourceTypeCluster
	txnACL     = kmsg.ACLResourceTypeTransactionalId

	read     = kmsg.ACLOperationRead
	write    = kmsg.ACLOperationWrite
	create   = kmsg.ACLOperationCreate
	alter    = kmsg.ACLOperationAlter
	describe = kmsg.ACLOperationDescribe
	configs  = kmsg.ACLOperationDescribeConfigs
)

// securedFlow is a flow with the secured cluster at one end, by a user.
func securedFlow(t *testing.T, alias, topics, groups, user string, fromSecured bool, extra string) (*flow, rights) {
	t.Helper()
	r := secured(t)
	f := newFlow(t, alias, topics, groups, ", refresh_topics_interval: 500ms"+extra)
	end := suite.source
	if !fromSecured {
		end = suite.target
	}
	f.rewrite(fmt.Sprintf("{bootstrap: %q}", end.BootstrapString()), cluster(r.BootstrapString(), login(r, user)))
	admin := kadm.NewClient(r.Client(t))
	if fromSecured {
		f.src = admin
	} else {
		f.dst = admin
	}
	return f, rights{t: t, user: user, admin: admin}
}

// holds waits until a topic's first partition holds n records.
func (f *flow) holds(r *testcluster.Real, topic string, n int) {
	f.tb.Helper()
	cl := r.Client(f.tb)
	f.until(60*time.Second, fmt.Sprintf("%d records in %s", n, topic), func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, topic, testcluster.ReadCommitted)
		if err == nil && len(recs) > n {
			f.tb.Fatalf("%d records in %s, want %d", len(recs), topic, n)
		}
		return err == nil && len(recs) == n, fmt.Sprint(len(recs), err)
	})
}

// fill makes a topic on a cluster and gives it records.
func fill(t *testing.T, r *testcluster.Real, topic string, n int64) {
	t.Helper()
	if err := testcluster.CreateTopic(t.Context(), r.ClientOpts(), topic, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Produce(t.Context(), r.ClientOpts(), testcluster.Load{Topic: topic, Count: n}); err != nil {
		t.Fatal(err)
	}
}

// TestSourceRights: what the mirror may not do on the source is named right by right; the topics and groups that it may
// read are carried meanwhile, and a right that is granted later needs no restart.
func TestSourceRights(t *testing.T) {
	t.Parallel()
	r := secured(t)
	for _, topic := range []string{"sr-full", "sr-noread", "sr-hidden", "sr-noconfigs"} {
		fill(t, r, topic, 50)
	}
	f, may := securedFlow(t, "sr", "sr-.*", "sr-.*", "reader", true, ", offset_syncs_location: target")
	f.rewrite(`topics: ["sr-.*"]`, `topics: ["sr-full", "sr-no.*", "sr-hidden"]`)
	log := f.listen()
	may.on(topicACL, "sr-full", read, describe, configs)
	may.on(topicACL, "sr-noread", describe, configs)
	may.on(topicACL, "sr-noconfigs", read, describe)
	may.on(groupACL, "sr-seen", describe)
	for _, group := range []string{"sr-seen", "sr-unseen"} {
		f.commit(group, map[string]map[int32]int64{"sr-full": {0: 20}})
	}
	for _, topic := range []string{"sr-noread", "sr-noconfigs"} {
		may.on(groupACL, "sr-of-"+topic, describe)
		f.commit("sr-of-"+topic, map[string]map[int32]int64{topic: {0: 10}})
	}
	stop := f.start()
	f.holds(suite.target, "sr.sr-full", 50)
	f.reaches("sr-seen", "sr-full", 0, 20)
	tcl := suite.target.Client(t)
	f.stopped(tcl, spot{"sr-of-sr-noread", "sr-noread", 0}, "READ", `"sr-noread"`, "source")
	f.stopped(tcl, spot{"sr-of-sr-noconfigs", "sr-noconfigs", 0}, "DESCRIBE_CONFIGS", `"sr-noconfigs"`, "cluster sr")
	if !log.line("groups may be hidden", "DESCRIBE on the cluster is missing on the source", "cluster=sr") {
		t.Error("the log does not say that groups may be hidden")
	}
	if !log.line("level=WARN", "no topic of the source is selected", "DESCRIBE", "pattern=sr-hidden") || log.line("no topic of the source", "pattern=sr-full") {
		t.Error("the log does not say that one of the patterns selects nothing")
	}
	for group := range map[string]bool{"sr-unseen": true, "sr-of-sr-noread": true} {
		if at, err := f.position(t.Context(), group, "sr-full", 0); err != nil || at >= 0 {
			t.Errorf("%s is at %d, %v", group, at, err)
		}
	}
	if names, err := topicNames(t.Context(), f.dst); err != nil || slices.Contains(names, "sr.sr-hidden") {
		t.Errorf("topics %v, %v", names, err)
	}

	may.on(topicACL, "sr-noread", read)
	may.on(topicACL, "sr-noconfigs", configs)
	may.on(topicACL, "sr-hidden", read, describe, configs)
	may.on(groupACL, "sr-unseen", describe)
	for _, topic := range []string{"sr-noread", "sr-hidden", "sr-noconfigs"} {
		f.holds(suite.target, "sr."+topic, 50)
	}
	f.reaches("sr-unseen", "sr-full", 0, 20)
	f.reaches("sr-of-sr-noread", "sr-noread", 0, 10)
	f.reaches("sr-of-sr-noconfigs", "sr-noconfigs", 0, 10)
	if err := stop(); err != nil {
		t.Error(err)
	}
}
