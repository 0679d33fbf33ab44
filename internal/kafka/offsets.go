package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// What ListOffsets can be asked for besides a timestamp in milliseconds.
const (
	// Latest is the end of the log: the offset after the last record that
	// consumers of the asked isolation can see.
	Latest int64 = -1
	// Earliest is the start of the log.
	Earliest int64 = -2
)

// ListOffsets asks the leaders for an offset of each partition: Latest,
// Earliest, or the first record at or after spec milliseconds since 1970 (-1
// if there is none). With committed the log ends at the last stable offset, not
// at the high watermark. The second result holds the partitions that could not
// be asked: *ErrDenied (DESCRIBE on the topic is missing), ErrNoTopic, or why
// their leader did not answer. The third is set if no partition was answered
// for at all because ctx ended.
func (c *Client) ListOffsets(ctx context.Context, tps []partition.ID, spec int64, committed bool) (map[partition.ID]int64, map[partition.ID]error, error) {
	offsets := make(map[partition.ID]int64, len(tps))
	failed := map[partition.ID]error{}
	if len(tps) == 0 {
		return offsets, failed, nil
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if committed {
		req.IsolationLevel = 1
	}
	unique := slices.Clone(tps)
	slices.SortFunc(unique, partition.ID.Compare)
	topics := byTopic(slices.Compact(unique))
	for _, topic := range sortedKeys(topics) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, p := range topics[topic] {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition = p
			rp.Timestamp = spec
			t.Partitions = append(t.Partitions, rp)
		}
		req.Topics = append(req.Topics, t)
	}
	for _, shard := range c.sharded(ctx, req) {
		c.takeOffsets(shard, offsets, failed)
	}
	if err := ctx.Err(); err != nil && len(offsets) == 0 {
		return nil, nil, c.failed(fmt.Sprintf("list offsets of %d partitions", len(tps)), err)
	}
	for _, tp := range tps {
		if _, ok := offsets[tp]; !ok && failed[tp] == nil {
			failed[tp] = fmt.Errorf("%v on cluster %s: its leader's answer left it out", tp, c.cluster.Alias)
		}
	}
	return offsets, failed, nil
}

// takeOffsets files one leader's answer.
func (c *Client) takeOffsets(shard kgo.ResponseShard, offsets map[partition.ID]int64, failed map[partition.ID]error) {
	resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
	if shard.Err != nil || !ok {
		req, isList := shard.Req.(*kmsg.ListOffsetsRequest)
		if !isList {
			return // the caller finds what is missing
		}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				tp := partition.ID{Topic: t.Topic, Partition: p.Partition}
				failed[tp] = c.shardError(tp, shard.Err)
			}
		}
		return
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			tp := partition.ID{Topic: t.Topic, Partition: p.Partition}
			if p.ErrorCode != 0 {
				failed[tp] = c.partitionError(tp, "DESCRIBE", p.ErrorCode)
				continue
			}
			offsets[tp] = p.Offset
		}
	}
}

// shardError is the error of a partition that franz-go could not send: the
// metadata's error code, or the transport's.
func (c *Client) shardError(tp partition.ID, err error) error {
	if code, ok := errorCode(err); ok {
		return c.partitionError(tp, "DESCRIBE", code)
	}
	return fmt.Errorf("%v: %w", tp, c.cause(err))
}

// OffsetsForEpoch asks the leader where the log of a leader epoch ends
// (KIP-320). It returns the largest epoch that is not above the asked one and
// the offset after that epoch's last record: a reader beyond it has read
// records that were cut off. Both are -1 if the leader knows no such epoch.
// current is the leader epoch by metadata, for the leader to compare with its
// own; -1 does not compare.
func (c *Client) OffsetsForEpoch(ctx context.Context, tp partition.ID, current, epoch int32) (int32, int64, error) {
	what := fmt.Sprintf("find the end of leader epoch %d of %v", epoch, tp)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = tp.Topic
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition = tp.Partition
	p.CurrentLeaderEpoch = current
	p.LeaderEpoch = epoch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return -1, -1, c.failed(what, c.shardError(tp, err))
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return -1, -1, c.failed(what, fmt.Errorf("the leader answered for %d topics", len(resp.Topics)))
	}
	got := resp.Topics[0].Partitions[0]
	if err := c.partitionError(tp, "DESCRIBE", got.ErrorCode); err != nil {
		return -1, -1, c.failed(what, err)
	}
	return got.LeaderEpoch, got.EndOffset, nil
}
