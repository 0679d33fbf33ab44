package topics

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/mm2"
)

const (
	aclRead     = kmsg.ACLOperationRead
	aclWrite    = kmsg.ACLOperationWrite
	aclAll      = kmsg.ACLOperationAll
	aclDescribe = kmsg.ACLOperationDescribe
	aclAlter    = kmsg.ACLOperationAlter
)

// TestCase77CopyACL is the whole table: permission x operation x pattern x topic.
func TestCase77CopyACL(t *testing.T) {
	byDefault := rules(t, mm2.DefaultPolicy{Aliases: []string{"A", "B"}}, "orders.*")
	identity := rules(t, mm2.IdentityPolicy{Source: "A", Aliases: []string{"A", "B"}}, ".*")
	for _, deny := range []bool{false, true} {
		for op, want := range map[kmsg.ACLOperation]Fate{
			aclRead: ACLCopied, aclDescribe: ACLCopied, aclAlter: ACLCopied, kmsg.ACLOperationDelete: ACLCopied,
			kmsg.ACLOperationDescribeConfigs: ACLCopied, kmsg.ACLOperationAlterConfigs: ACLCopied, kmsg.ACLOperationCreate: ACLCopied,
			aclWrite: ACLWrite, aclAll: ACLAsRead,
		} {
			if deny {
				want = ACLCopied
			}
			a := kafka.ACL{Topic: "orders", Principal: "User:a", Host: "10.0.0.1", Operation: op, Deny: deny}
			for _, c := range []struct {
				rules  Rules
				remote string
			}{{byDefault, "A.orders"}, {identity, "orders"}} {
				got, fate := CopyACL(a, c.rules)
				expected := a
				expected.Topic = c.remote
				if want == ACLAsRead {
					expected.Operation = aclRead
				}
				if want == ACLWrite {
					expected = kafka.ACL{}
				}
				if got != expected || fate != want {
					t.Errorf("%v: %v, %q; want %v, %q", a, got, fate, expected, want)
				}
			}
			for fate, other := range map[Fate]kafka.ACL{
				ACLPrefixed: {Topic: "orders", Prefixed: true, Principal: "User:a", Host: "*", Operation: op, Deny: deny},
				ACLWildcard: {Topic: "*", Principal: "User:a", Host: "*", Operation: op, Deny: deny},
				ACLOther:    {Topic: "else", Principal: "User:a", Host: "*", Operation: op, Deny: deny},
			} {
				if got, is := CopyACL(other, byDefault); got != (kafka.ACL{}) || is != fate {
					t.Errorf("%v: %v, %q; want none, %q", other, got, is, fate)
				}
				if got, is := CopyACL(other, identity); fate != ACLOther && (got != (kafka.ACL{}) || is != fate) {
					t.Errorf("identity: %v: %v, %q; want none, %q", other, got, is, fate)
				}
			}
		}
	}
}

func TestPlanACLs(t *testing.T) {
	r := rules(t, mm2.DefaultPolicy{Aliases: []string{"A", "B"}}, ".*")
	r.Owns = func(topic string) bool { return topic != "others" }
	rule := func(topic string, op kmsg.ACLOperation) kafka.ACL {
		return kafka.ACL{Topic: topic, Principal: "User:a", Host: "*", Operation: op}
	}
	source := []kafka.ACL{rule("t", aclAll), rule("t", aclRead), rule("t", aclDescribe), rule("s", aclRead), rule("others", aclRead)}
	missing, fates := PlanACLs(source, []kafka.ACL{rule("A.t", aclDescribe), rule("A.s", aclWrite)}, r)
	if diff := cmp.Diff([]kafka.ACL{rule("A.s", aclRead), rule("A.t", aclRead)}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if len(fates[ACLAsRead]) != 1 || len(fates[ACLCopied]) != 4 {
		t.Errorf("fates: %v", fates)
	}
}

func (p *pair) acls(log *bytes.Buffer) *ACLSyncer {
	r := rules(p.t, mm2.DefaultPolicy{Aliases: []string{"A", "B"}}, ".*")
	return NewACLs(p.a, p.b, r, events.From(slog.New(slog.NewTextHandler(log, nil))))
}

func (p *pair) grant(c *kafka.Client, rules ...kafka.ACL) {
	p.t.Helper()
	failed, err := c.CreateTopicACLs(p.ctx(), rules)
	if err != nil || len(failed) > 0 {
		p.t.Fatal(failed, err)
	}
}

// TestCase78OnlyDifferencesAreSent: rules that are there are not created again, and those revoked on the source stay.
func TestCase78OnlyDifferencesAreSent(t *testing.T) {
	p := newPair(t, nil)
	rule := func(topic string, op kmsg.ACLOperation) kafka.ACL {
		return kafka.ACL{Topic: topic, Principal: "User:a", Host: "*", Operation: op}
	}
	p.grant(p.a, rule("t", aclRead), rule("t", aclWrite), kafka.ACL{Topic: "pre", Prefixed: true, Principal: "User:a", Host: "*", Operation: aclRead})
	s := p.acls(p.log)
	created := p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateACLs}, Count: -1, Observe: true})
	for range 3 {
		s.Round(p.ctx())
	}
	p.grant(p.a, rule("u", aclDescribe))
	for range 3 {
		s.Round(p.ctx())
	}
	if n := created.Hits(); n != 2 {
		t.Errorf("%d requests to create rules, want 2", n)
	}
	got, err := p.b.TopicACLs(p.ctx())
	slices.SortFunc(got, func(a, b kafka.ACL) int { return strings.Compare(a.Topic, b.Topic) })
	if diff := cmp.Diff([]kafka.ACL{rule("A.t", aclRead), rule("A.u", aclDescribe)}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	log := p.log.String()
	for part, n := range map[string]int{"access rule copied": 2, "about a prefix": 1, "topics=pre": 1, "the right to write": 1, "level=WARN": 0} {
		if got := strings.Count(log, part); got != n {
			t.Errorf("%q is %d times in the log, want %d:\n%s", part, got, n, log)
		}
	}
}

// TestCase76NoAuthorizer: a cluster without authorizer is one note, a missing right one warning with its name; both heal.
func TestCase76NoAuthorizer(t *testing.T) {
	p := newPair(t, nil)
	for i, c := range []struct {
		name     string
		of       *kfake.Cluster
		key      kmsg.Key
		err      *kerr.Error
		resource string
		says     []string
	}{
		{"source without", p.source, kmsg.DescribeACLs, kerr.SecurityDisabled, "", []string{"level=INFO", "no authorizer", "cluster A"}},
		{"target without", p.target, kmsg.DescribeACLs, kerr.SecurityDisabled, "", []string{"level=INFO", "no authorizer", "cluster B"}},
		{"no DESCRIBE", p.source, kmsg.DescribeACLs, kerr.ClusterAuthorizationFailed, "", []string{"level=WARN", "DESCRIBE on the cluster is missing on cluster A"}},
		{"no ALTER", p.target, kmsg.CreateACLs, kerr.ClusterAuthorizationFailed, "A.t", []string{"level=WARN", "ALTER on the cluster is missing on cluster B", "User:u3 READ"}},
	} {
		p.grant(p.a, kafka.ACL{Topic: "t", Principal: fmt.Sprintf("User:u%d", i), Host: "*", Operation: aclRead})
		s := p.acls(p.log)
		fault := c.of.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Err: c.err, Count: -1, Resource: c.resource, TopLevel: c.resource == ""})
		for range 3 {
			s.Round(p.ctx())
		}
		lines := p.lines("not copied")
		if len(lines) != 1 {
			t.Fatalf("%s: %q", c.name, lines)
		}
		for _, part := range c.says {
			if !strings.Contains(lines[0], part) {
				t.Errorf("%s: %q does not hold %q", c.name, lines[0], part)
			}
		}
		fault.Remove()
		s.Round(p.ctx())
		if got := p.lines("copied again"); len(got) != 1 {
			t.Errorf("%s: not healed: %q", c.name, got)
		}
		if got, err := p.b.TopicACLs(p.ctx()); err != nil || len(got) != i+1 {
			t.Errorf("%s: the target has %v, %v", c.name, got, err)
		}
	}
}
