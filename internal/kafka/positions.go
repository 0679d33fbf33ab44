package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// fetchGroups is how many groups one round of OffsetFetch asks for; each
// coordinator gets its share of them in one request. 1,000 groups with 10
// partitions each take a broker about 20 ms.
const fetchGroups = 500

// Committed is one committed position.
type Committed struct {
	Offset      int64  // the next record to read
	LeaderEpoch int32  // epoch of the record before it; -1 if not known
	Metadata    string // free text of the committer; Kafka Streams keeps state in it
}

// FetchPositions reads all committed positions of the groups, in batches per
// coordinator. The first result has an entry for every group that answered,
// empty for a group that is not known or has committed nothing. The second
// holds the groups that could not be read: *ErrDenied (DESCRIBE on the group
// is missing), or *ErrPartitions if only some partitions could not be read, in
// which case the others are in the first result. The third is set if no group
// could be read.
//
// With requireStable a position that a pending transaction is about to
// overwrite is an error of class Retry (UNSTABLE_OFFSET_COMMIT, KIP-447), not
// the old value.
//
// Where DESCRIBE on a topic is missing, brokers drop its positions from the
// answer silently: an absent position is not a proof that there is none. Ask
// DescribeTopics for the topics to know.
func (c *Client) FetchPositions(ctx context.Context, groups []string, requireStable bool) (map[string]map[partition.ID]Committed, map[string]error, error) {
	all := make(map[string][]partition.ID, len(groups))
	for _, g := range groups {
		all[g] = nil
	}
	return c.FetchPositionsOf(ctx, all, requireStable)
}

// FetchPositionsOf is FetchPositions for named partitions of each group; all of
// them where a group names none. Whoever is going to write a position must name
// it: of a partition without any commit yet brokers tell that a transaction is
// about to bring the first one only if they are asked for it by name. Named
// partitions whose topic we may not see are errors too, and not left out.
func (c *Client) FetchPositionsOf(ctx context.Context, wanted map[string][]partition.ID, requireStable bool) (map[string]map[partition.ID]Committed, map[string]error, error) {
	positions := make(map[string]map[partition.ID]Committed, len(wanted))
	failed := map[string]error{}
	groups := sortedKeys(wanted)
	for chunk := range slices.Chunk(groups, fetchGroups) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.RequireStable = requireStable
		for _, g := range chunk {
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group = g
			named := byTopic(wanted[g])
			for _, topic := range sortedKeys(named) {
				rt := kmsg.NewOffsetFetchRequestGroupTopic()
				rt.Topic, rt.Partitions = topic, named[topic]
				rg.Topics = append(rg.Topics, rt)
			}
			req.Groups = append(req.Groups, rg)
		}
		for _, shard := range c.sharded(ctx, req) {
			c.takePositions(shard, positions, failed)
		}
		for _, g := range chunk {
			if positions[g] == nil && failed[g] == nil {
				failed[g] = fmt.Errorf("group %q on cluster %s: its coordinator's answer left it out", g, c.cluster.Alias)
			}
		}
	}
	if len(groups) > 0 && len(positions) == 0 && c.unanswered(failed) {
		return nil, nil, c.failed(fmt.Sprintf("read positions of %d groups", len(groups)), failed[groups[0]])
	}
	return positions, failed, nil
}

// unanswered says whether no coordinator gave an answer for any group, which
// is the cluster's trouble and not the groups'.
func (c *Client) unanswered(failed map[string]error) bool {
	for _, err := range failed {
		_, denied := errors.AsType[*ErrDenied](err)
		_, code := errors.AsType[*kerr.Error](err)
		if denied || code {
			return false
		}
	}
	return true
}

// takePositions files one coordinator's answer.
func (c *Client) takePositions(shard kgo.ResponseShard, positions map[string]map[partition.ID]Committed, failed map[string]error) {
	resp, ok := shard.Resp.(*kmsg.OffsetFetchResponse)
	if shard.Err != nil || !ok {
		req, _ := shard.Req.(*kmsg.OffsetFetchRequest)
		for _, g := range requestGroups(req) {
			failed[g] = c.coordinatorError(g, "DESCRIBE", shard.Err)
		}
		return
	}
	for _, g := range resp.Groups {
		// A group that nobody has joined or committed to has no positions;
		// some brokers say so by an error.
		if g.ErrorCode != 0 && g.ErrorCode != kerr.GroupIDNotFound.Code {
			failed[g.Group] = c.groupError(g.Group, "DESCRIBE", g.ErrorCode)
			continue
		}
		got, bad := c.groupPositions(g)
		positions[g.Group] = got
		if len(bad) > 0 {
			failed[g.Group] = &ErrPartitions{
				What:    fmt.Sprintf("read positions of group %q", g.Group),
				Cluster: c.cluster.Alias, Partitions: bad,
			}
		}
	}
}

func (c *Client) groupPositions(g kmsg.OffsetFetchResponseGroup) (map[partition.ID]Committed, map[partition.ID]error) {
	got := map[partition.ID]Committed{}
	bad := map[partition.ID]error{}
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			tp := partition.ID{Topic: t.Topic, Partition: p.Partition}
			switch {
			case p.ErrorCode != 0:
				bad[tp] = c.partitionError(tp, "DESCRIBE", p.ErrorCode)
			case p.Offset < 0:
				// -1 means that nothing is committed.
			default:
				pos := Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}
				if p.Metadata != nil {
					pos.Metadata = *p.Metadata
				}
				got[tp] = pos
			}
		}
	}
	return got, bad
}

// requestGroups lists the groups of a request in either of its two forms: one
// group at the top (before 3.0), or many.
func requestGroups(req *kmsg.OffsetFetchRequest) []string {
	if req == nil {
		return nil
	}
	if len(req.Groups) == 0 {
		return []string{req.Group}
	}
	groups := make([]string, 0, len(req.Groups))
	for _, g := range req.Groups {
		groups = append(groups, g.Group)
	}
	return groups
}

// CommitPositions writes a group's positions from outside of the group: no
// member, no generation. The broker takes that only for groups without live
// members; otherwise err is *ErrGroupLive and nothing was written. err is
// *ErrDenied if READ on the group is missing. The map holds the partitions
// that were refused for reasons of their own (*ErrDenied for READ on the
// topic, ErrNoTopic, metadata too large); the others are committed.
//
// All positions go in one request: a group written in halves would start its
// second half by its reset rule if a consumer joined in between. About 16,000
// partitions fit. The leader epoch of the positions is not sent, it is always
// -1: epochs of another cluster mean nothing here.
//
// Brokers accept positions that go backwards or lie past the end: what to
// commit is the caller's to judge. Only a negative offset and an empty group
// name are refused here.
func (c *Client) CommitPositions(ctx context.Context, group string, pos map[partition.ID]Committed) (map[partition.ID]error, error) {
	return c.commit(ctx, group, Member{Generation: -1}, pos)
}

// Member is a member of a group at one time.
type Member struct {
	ID         string
	Instance   string // of a static member; empty: none
	Generation int32
}

// CommitAsMember is CommitPositions by a member of the group, which brokers take
// while the group lives. A member that the group does not count any more, or
// that has to join again first, gets *ErrGroupLive.
func (c *Client) CommitAsMember(ctx context.Context, group string, by Member, pos map[partition.ID]Committed) (map[partition.ID]error, error) {
	return c.commit(ctx, group, by, pos)
}

func (c *Client) commit(ctx context.Context, group string, by Member, pos map[partition.ID]Committed) (map[partition.ID]error, error) {
	what := fmt.Sprintf("commit %d positions of group %q", len(pos), group)
	if group == "" {
		return nil, fmt.Errorf("%s on cluster %s: the group has no name", what, c.cluster.Alias)
	}
	if len(pos) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, by.ID, by.Generation
	if by.Instance != "" {
		req.InstanceID = &by.Instance
	}
	tps := sortedTPs(pos)
	for _, tp := range tps {
		p := pos[tp]
		if p.Offset < 0 {
			return nil, fmt.Errorf("%s on cluster %s: %v has the offset %d", what, c.cluster.Alias, tp, p.Offset)
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition = tp.Partition
		rp.Offset = p.Offset
		rp.LeaderEpoch = -1
		rp.Metadata = new(p.Metadata)
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, rp)
	}
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return nil, c.failed(what, c.coordinatorError(group, "READ", err))
	}
	return c.commitResult(what, group, tps, resp)
}

// commitResult separates what is wrong with the group, which the broker repeats
// for each partition, from what is wrong with single partitions.
func (c *Client) commitResult(what, group string, tps []partition.ID, resp *kmsg.OffsetCommitResponse) (map[partition.ID]error, error) {
	answered := make(map[partition.ID]int16, len(tps))
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			answered[partition.ID{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	refused := map[partition.ID]error{}
	for _, tp := range tps {
		code, ok := answered[tp]
		switch {
		case !ok:
			refused[tp] = fmt.Errorf("%v on cluster %s: the coordinator's answer left it out", tp, c.cluster.Alias)
		case groupCode(code):
			return nil, c.failed(what, c.groupError(group, "READ", code))
		case code != 0:
			refused[tp] = c.partitionError(tp, "READ", code)
		}
	}
	return refused, nil
}

// groupCode says whether a partition's code is about the whole group.
func groupCode(code int16) bool {
	switch code {
	case kerr.GroupAuthorizationFailed.Code, kerr.GroupIDNotFound.Code, kerr.InvalidGroupID.Code,
		kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code:
		return true
	}
	return Classify(code) == Live
}
