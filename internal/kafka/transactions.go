package kafka

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/partition"
)

const (
	maxTxnTimeout = 15 * time.Minute // Kafka's default of transaction.max.timeout.ms
	// txnSlack is how long after its time-out a coordinator may take to end a transaction.
	txnSlack = time.Minute
)

// OpenTransaction is the oldest open transaction of a partition.
type OpenTransaction struct {
	ProducerID    int64
	ProducerEpoch int16
	ID            string    // empty where no coordinator tells it; that needs DESCRIBE on it
	StartOffset   int64     // nothing from there on is read as committed
	Since         time.Time // when it began; where no coordinator tells, when its last record was written
	// Hangs: it is older than coordinators let any become, so nothing ends it by itself. Its producer is gone, and the partition
	// knows of a transaction that its coordinator has forgotten.
	Hangs bool
}

// OpenTransactions names the oldest open transaction of each of the partitions that have one. READ on the topics is needed. The error
// is of partitions that did not tell; what the others said is there beside it.
func (c *Client) OpenTransactions(ctx context.Context, tps []partition.ID, now time.Time) (map[partition.ID]OpenTransaction, error) {
	out := map[partition.ID]OpenTransaction{}
	if len(tps) == 0 {
		return out, nil
	}
	of := kadm.TopicsSet{}
	for _, tp := range tps {
		of.Add(tp.Topic, tp.Partition)
	}
	got, err := c.admin.DescribeProducers(ctx, of)
	got.EachProducer(func(p kadm.DescribedProducer) {
		tp := partition.ID{Topic: p.Topic, Partition: p.Partition}
		if was, ok := out[tp]; p.CurrentTxnStartOffset >= 0 && (!ok || p.CurrentTxnStartOffset < was.StartOffset) {
			out[tp] = OpenTransaction{ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, StartOffset: p.CurrentTxnStartOffset, Since: time.UnixMilli(p.LastTimestamp).UTC()}
		}
	})
	if err != nil {
		err = c.failed("describe producers", err)
	}
	if len(out) == 0 {
		return out, err
	}
	names, begun := c.transactionsOf(ctx, out)
	limit := c.longestTransaction(ctx) + txnSlack
	for tp, t := range out {
		t.ID = names[t.ProducerID]
		if at, ok := begun[t.ProducerID]; ok {
			t.Since = at
		}
		t.Hangs = now.Sub(t.Since) > limit
		out[tp] = t
	}
	return out, err
}

// transactionsOf asks the coordinators for the transactional ids of producers, and when their transactions began. One that hangs can be
// unknown to all of them, and ids without DESCRIBE are not told.
func (c *Client) transactionsOf(ctx context.Context, open map[partition.ID]OpenTransaction) (names map[int64]string, begun map[int64]time.Time) {
	var producers []int64
	for _, t := range open {
		producers = append(producers, t.ProducerID)
	}
	slices.Sort(producers)
	listed, _ := c.admin.ListTransactions(ctx, slices.Compact(producers), nil)
	names, begun = map[int64]string{}, map[int64]time.Time{}
	for _, t := range listed {
		names[t.ProducerID] = t.TxnID
	}
	if len(names) == 0 {
		return names, begun
	}
	described, _ := c.admin.DescribeTransactions(ctx, listed.TransactionalIDs()...)
	for _, t := range described {
		if t.Err == nil && t.StartTimestamp > 0 && names[t.ProducerID] == t.TxnID {
			begun[t.ProducerID] = time.UnixMilli(t.StartTimestamp).UTC()
		}
	}
	return names, begun
}

// longestTransaction is how long a transaction can be open before its coordinator ends it. Where the brokers do not tell it is
// Kafka's default.
func (c *Client) longestTransaction(ctx context.Context) time.Duration {
	const key = "transaction.max.timeout.ms"
	got, _ := c.BrokerConfigs(ctx, key)
	longest := time.Duration(0)
	for _, value := range got[key] {
		if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
			longest = max(longest, time.Duration(ms)*time.Millisecond)
		}
	}
	if longest == 0 {
		return maxTxnTimeout
	}
	return longest
}
