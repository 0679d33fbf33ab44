package kafka

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTopicACLs(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	rules := []ACL{
		{Topic: "a", Principal: "User:x", Host: "*", Operation: kmsg.ACLOperationRead},
		{Topic: "b", Principal: "User:x", Host: "10.0.0.1", Operation: kmsg.ACLOperationAll, Deny: true},
		{Topic: "c", Prefixed: true, Principal: "User:y", Host: "*", Operation: kmsg.ACLOperationAlterConfigs},
	}
	failed, err := cl.CreateTopicACLs(deadline(t), rules)
	noError(t, err)
	if len(failed) > 0 {
		t.Error(failed)
	}
	read := func() []ACL {
		t.Helper()
		got, err := cl.TopicACLs(deadline(t))
		noError(t, err)
		slices.SortFunc(got, func(a, b ACL) int { return strings.Compare(a.Topic, b.Topic) })
		return got
	}
	if diff := cmp.Diff(rules, read()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateACLs}, Resource: "e", Err: kerr.InvalidRequest, Count: -1})
	e := ACL{Topic: "e", Principal: "User:x", Host: "*", Operation: kmsg.ACLOperationRead}
	d := ACL{Topic: "d", Principal: "User:x", Host: "*", Operation: kmsg.ACLOperationRead}
	failed, err = cl.CreateTopicACLs(deadline(t), []ACL{e, d, rules[0]})
	noError(t, err)
	if len(failed) != 1 || !errors.Is(failed[e], kerr.InvalidRequest) || !strings.Contains(failed[e].Error(), `ALLOW User:x READ from * on "e"`) {
		t.Errorf("failed: %v", failed)
	}
	if got := read(); len(got) != 4 || got[3] != d {
		t.Errorf("rules: %v", got)
	}
	if got := rules[1].String() + ", " + rules[2].String(); got != `DENY User:x ALL from 10.0.0.1 on "b", ALLOW User:y ALTER_CONFIGS from * on prefix "c"` {
		t.Errorf("in words: %s", got)
	}
}

func TestACLsThatCannotBeSeen(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	one := ACL{Topic: "a", Principal: "User:x", Host: "*", Operation: kmsg.ACLOperationRead}
	both := func() (read, create error) {
		t.Helper()
		_, read = cl.TopicACLs(deadline(t))
		failed, err := cl.CreateTopicACLs(deadline(t), []ACL{one})
		noError(t, err)
		return read, failed[one]
	}
	fault := func(err *kerr.Error) *kfake.FaultHandle {
		return fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeACLs}, TopLevel: true, Err: err, Count: -1},
			kfake.Fault{Keys: []kmsg.Key{kmsg.CreateACLs}, Resource: "a", Err: err, Count: -1})
	}
	denied := fault(kerr.ClusterAuthorizationFailed)
	read, create := both()
	if got := *as[*ErrDenied](t, read); got != (ErrDenied{"DESCRIBE", "cluster", "", "A"}) {
		t.Error(got)
	}
	if got := *as[*ErrDenied](t, create); got != (ErrDenied{"ALTER", "cluster", "", "A"}) {
		t.Error(got)
	}
	denied.Remove()
	fault(kerr.SecurityDisabled)
	if read, create = both(); !errors.Is(read, ErrNoAuthorizer) || !errors.Is(create, ErrNoAuthorizer) {
		t.Errorf("without an authorizer: %v, %v", read, create)
	}
}
