package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/consumer"
)

// Group is one group as its coordinator lists it.
type Group struct {
	ID string
	// Type is classic, consumer (KIP-848), share or streams; empty from
	// brokers before 3.8.
	Type string
	// State is Empty, Stable, PreparingRebalance, CompletingRebalance,
	// Assigning, Reconciling, NotReady or Dead; empty from brokers before 2.6,
	// and for a group that does not exist.
	State string
	// ProtocolType is "consumer" for consumers, "connect" for Connect, and
	// empty for groups that only store offsets.
	ProtocolType string
	// Coordinator is the broker that answered for the group; -1 if none did.
	Coordinator int32
}

// Listed is what decides whether the group has positions.
func (g Group) Listed() consumer.Group {
	return consumer.Group{ID: g.ID, Type: g.Type, Protocol: g.ProtocolType}
}

// Groups lists the groups of the cluster, ordered by id. Every broker answers
// for the groups that it coordinates; if some do not, the others' groups are
// returned together with an *ErrBrokers, and the list must not be taken for
// complete.
//
// It shows only groups that we may see: without DESCRIBE on the cluster,
// groups without DESCRIBE are left out silently.
func (c *Client) Groups(ctx context.Context) ([]Group, error) {
	const what = "list groups"
	shards := c.sharded(ctx, kmsg.NewPtrListGroupsRequest())
	missing := map[int32]error{}
	found := map[string]Group{}
	for _, shard := range shards {
		resp, err := listed(shard)
		if err != nil {
			missing[shard.Meta.NodeID] = c.listError(err)
			continue
		}
		for _, g := range resp.Groups {
			// While a coordinator moves, both brokers list the group for a
			// moment; the first one stays.
			if _, ok := found[g.Group]; !ok {
				found[g.Group] = Group{
					ID: g.Group, Type: g.GroupType, State: g.GroupState,
					ProtocolType: g.ProtocolType, Coordinator: shard.Meta.NodeID,
				}
			}
		}
	}
	groups := slices.SortedFunc(maps.Values(found), func(a, b Group) int { return cmp.Compare(a.ID, b.ID) })
	switch {
	case len(missing) == 0:
		return groups, nil
	case len(missing) == len(shards) && len(shards) == 1:
		return nil, c.failed(what, missing[shards[0].Meta.NodeID])
	}
	return groups, &ErrBrokers{What: what, Cluster: c.cluster.Alias, Brokers: missing}
}

// rightsNotTold is answered by clusters that know no rights.
const rightsNotTold = math.MinInt32

// SeesAllGroups says whether Groups can be complete: whether we have DESCRIBE on the cluster. Without it some groups may
// still be seen, or all, by rights on groups; nobody tells us which are not.
func (c *Client) SeesAllGroups(ctx context.Context) (bool, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeClusterAuthorizedOperations = true
	resp, err := req.RequestWith(ctx, asks{c})
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return false, c.failed("ask for our rights", err)
	}
	ops := resp.ClusterAuthorizedOperations
	return ops == rightsNotTold || ops&(1<<kmsg.ACLOperationDescribe) != 0, nil
}

func listed(shard kgo.ResponseShard) (*kmsg.ListGroupsResponse, error) {
	if shard.Err != nil {
		return nil, shard.Err
	}
	resp, ok := shard.Resp.(*kmsg.ListGroupsResponse)
	if !ok {
		return nil, fmt.Errorf("the answer is a %T", shard.Resp)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	return resp, nil
}

func (c *Client) listError(err error) error {
	if errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return &ErrDenied{Operation: "DESCRIBE", Resource: "cluster", Cluster: c.cluster.Alias}
	}
	return c.cause(err)
}

// GroupStates says how the named groups stand right now. A group that does not
// exist has an empty State. The second result holds the groups that nothing
// can be said about; without DESCRIBE on a group that is *ErrDenied.
//
// The list of groups decides, because DescribeGroups calls a live KIP-848,
// share or streams group dead. It is asked only for groups that the list does
// not show, to tell a missing right from a missing group, and for the states
// that brokers before 2.6 do not list.
func (c *Client) GroupStates(ctx context.Context, ids ...string) (map[string]Group, map[string]error, error) {
	all, err := c.Groups(ctx)
	_, partial := errors.AsType[*ErrBrokers](err)
	if err != nil && !partial {
		return nil, nil, err
	}
	states := make(map[string]Group, len(ids))
	failed := map[string]error{}
	byID := make(map[string]Group, len(all))
	for _, g := range all {
		byID[g.ID] = g
	}
	var ask []string
	for _, id := range ids {
		if g, ok := byID[id]; ok && g.State != "" {
			states[id] = g
		} else if partial && !ok {
			// Its coordinator may be the one that did not answer.
			failed[id] = err
		} else {
			ask = append(ask, id)
		}
	}
	if len(ask) > 0 {
		c.describeUnlisted(ctx, ask, byID, states, failed)
	}
	return states, failed, nil
}

// describeUnlisted fills states and failed for groups that the list does not
// answer for.
func (c *Client) describeUnlisted(ctx context.Context, ids []string, listed, states map[string]Group, failed map[string]error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = ids
	for _, shard := range c.sharded(ctx, req) {
		resp, ok := shard.Resp.(*kmsg.DescribeGroupsResponse)
		if shard.Err != nil || !ok {
			asked, _ := shard.Req.(*kmsg.DescribeGroupsRequest)
			for _, id := range asked.Groups {
				failed[id] = c.coordinatorError(id, "DESCRIBE", shard.Err)
			}
			continue
		}
		for _, g := range resp.Groups {
			was, exists := listed[g.Group]
			switch {
			case exists && g.ErrorCode == 0:
				was.State = g.State
				states[g.Group] = was
			case g.ErrorCode == kerr.GroupIDNotFound.Code || g.ErrorCode == 0 && consumer.Dead(g.State):
				states[g.Group] = Group{ID: g.Group, Coordinator: shard.Meta.NodeID}
			case g.ErrorCode == 0:
				// Created since the list was made.
				states[g.Group] = Group{ID: g.Group, State: g.State, ProtocolType: g.ProtocolType, Coordinator: shard.Meta.NodeID}
			default:
				failed[g.Group] = c.groupError(g.Group, "DESCRIBE", g.ErrorCode)
			}
		}
	}
	for _, id := range ids {
		if _, ok := states[id]; !ok && failed[id] == nil {
			failed[id] = fmt.Errorf("group %q on cluster %s: its coordinator's answer left it out", id, c.cluster.Alias)
		}
	}
}
