package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// aclChunk is how many access rules one request creates. A controller takes a
// request's rules in one transaction of at most 10000 records.
const aclChunk = 1000

// ErrNoAuthorizer says that a cluster has no authorizer, so that there are no
// access rules to read or write.
var ErrNoAuthorizer = errors.New("the cluster has no authorizer")

// ACL is one access rule about topics.
type ACL struct {
	Topic     string // the name, or the prefix of names
	Prefixed  bool
	Principal string // User:alice
	Host      string // * for all
	Operation kmsg.ACLOperation
	Deny      bool
}

// String is the rule in the words of kafka-acls.
func (a ACL) String() string {
	permission, pattern := "ALLOW", ""
	if a.Deny {
		permission = "DENY"
	}
	if a.Prefixed {
		pattern = "prefix "
	}
	return fmt.Sprintf("%s %s %s from %s on %s%q", permission, a.Principal, a.Operation, a.Host, pattern, a.Topic)
}

// TopicACLs reads all access rules about topics. It needs DESCRIBE on the
// cluster, otherwise the error is *ErrDenied; without an authorizer it is
// ErrNoAuthorizer. Operations that this build does not know are left out.
func (c *Client) TopicACLs(ctx context.Context) ([]ACL, error) {
	const what = "read the access rules of topics"
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType = kmsg.ACLResourceTypeTopic
	req.ResourcePatternType = kmsg.ACLResourcePatternTypeAny
	req.Operation = kmsg.ACLOperationAny
	req.PermissionType = kmsg.ACLPermissionTypeAny
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return nil, c.failed(what, err)
	}
	if err := c.aclResult(what, "DESCRIBE", resp.ErrorCode, resp.ErrorMessage); err != nil {
		return nil, err
	}
	var out []ACL
	for _, r := range resp.Resources {
		for _, a := range r.ACLs {
			if a.Operation == kmsg.ACLOperationUnknown || a.PermissionType == kmsg.ACLPermissionTypeUnknown {
				continue
			}
			out = append(out, ACL{
				Topic: r.ResourceName, Prefixed: r.ResourcePatternType == kmsg.ACLResourcePatternTypePrefixed,
				Principal: a.Principal, Host: a.Host, Operation: a.Operation, Deny: a.PermissionType == kmsg.ACLPermissionTypeDeny,
			})
		}
	}
	return out, nil
}

// CreateTopicACLs creates access rules; one that exists is no error. The map
// holds the rules that were refused: *ErrDenied (ALTER on the cluster is
// missing), ErrNoAuthorizer, or the broker's reason.
func (c *Client) CreateTopicACLs(ctx context.Context, rules []ACL) (map[ACL]error, error) {
	failed := map[ACL]error{}
	for chunk := range slices.Chunk(rules, aclChunk) {
		what := fmt.Sprintf("create %d access rules", len(rules))
		req := kmsg.NewPtrCreateACLsRequest()
		for _, a := range chunk {
			r := kmsg.NewCreateACLsRequestCreation()
			r.ResourceType = kmsg.ACLResourceTypeTopic
			r.ResourceName = a.Topic
			r.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
			if a.Prefixed {
				r.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
			}
			r.Principal, r.Host, r.Operation = a.Principal, a.Host, a.Operation
			r.PermissionType = kmsg.ACLPermissionTypeAllow
			if a.Deny {
				r.PermissionType = kmsg.ACLPermissionTypeDeny
			}
			req.Creations = append(req.Creations, r)
		}
		resp, err := req.RequestWith(ctx, asks{c})
		if err != nil {
			return failed, c.failed(what, err)
		}
		if len(resp.Results) != len(chunk) {
			return failed, c.failed(what, fmt.Errorf("the broker answered for %d of %d", len(resp.Results), len(chunk)))
		}
		for i, r := range resp.Results {
			if err := c.aclResult("create access rule "+chunk[i].String(), "ALTER", r.ErrorCode, r.ErrorMessage); err != nil {
				failed[chunk[i]] = err
			}
		}
	}
	return failed, nil
}

// aclResult is the error of a call about access rules that needs operation on
// the cluster; nil for code 0.
func (c *Client) aclResult(what, operation string, code int16, message *string) error {
	if code == kerr.SecurityDisabled.Code {
		return c.failed(what, ErrNoAuthorizer)
	}
	return c.adminResult(what, operation, "", code, message)
}
