package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// A transaction of a producer that is gone, which its coordinator does not end either, holds a partition for good: readers of
// committed records, the mirror among them, wait in front of it.

const (
	maxTimeout = 15 * time.Minute // Kafka's default of transaction.max.timeout.ms
	// slack is how long after its time-out a coordinator may take to end a transaction.
	slack = time.Minute
)

// transactions names the oldest open transaction of each partition. That it cannot be told is a note; what is known of it then is
// that it is open.
func (r *Reader) transactions(ctx context.Context, h *status.Header, tps []partition.ID) map[partition.ID]*status.Transaction {
	out := map[partition.ID]*status.Transaction{}
	if len(tps) == 0 {
		return out
	}
	err := r.askSource(ctx, func(ctx context.Context) error {
		of := kadm.TopicsSet{}
		for _, tp := range tps {
			of.Add(tp.Topic, tp.Partition)
		}
		got, err := r.source.Admin().DescribeProducers(ctx, of)
		got.EachProducer(func(p kadm.DescribedProducer) {
			tp := partition.ID{Topic: p.Topic, Partition: p.Partition}
			if was := out[tp]; p.CurrentTxnStartOffset >= 0 && (was == nil || p.CurrentTxnStartOffset < was.StartOffset) {
				out[tp] = &status.Transaction{ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, StartOffset: p.CurrentTxnStartOffset, Since: time.UnixMilli(p.LastTimestamp).UTC()}
			}
		})
		if err != nil || len(out) == 0 {
			return err
		}
		r.begun(ctx, out)
		limit := r.longest(ctx)
		for _, t := range out {
			t.Hangs = h.At.Sub(t.Since) > limit+slack
		}
		return nil
	})
	if err != nil {
		h.Notes = append(h.Notes, fmt.Sprintf("whose transaction is open on %s is not known: %v", r.flow.Source, err))
	}
	return out
}

// begun completes transactions with what their coordinators say: the transactional id, and when it began. Both need DESCRIBE on the
// id, and a transaction that hangs can be unknown to every coordinator: then only the time of its last record is known.
func (r *Reader) begun(ctx context.Context, open map[partition.ID]*status.Transaction) {
	var ids []int64
	for _, t := range open {
		ids = append(ids, t.ProducerID)
	}
	slices.Sort(ids)
	listed, _ := r.source.Admin().ListTransactions(ctx, slices.Compact(ids), nil)
	names := map[int64]string{}
	for _, t := range listed {
		names[t.ProducerID] = t.TxnID
	}
	if len(names) == 0 {
		return
	}
	described, _ := r.source.Admin().DescribeTransactions(ctx, listed.TransactionalIDs()...)
	for _, t := range open {
		t.ID = names[t.ProducerID]
		if d, ok := described[t.ID]; ok && t.ID != "" && d.Err == nil && d.ProducerID == t.ProducerID && d.StartTimestamp > 0 {
			t.Since = time.UnixMilli(d.StartTimestamp).UTC()
		}
	}
}

// longest is how long a transaction can be open before its coordinator ends it.
func (r *Reader) longest(ctx context.Context) time.Duration {
	const key = "transaction.max.timeout.ms"
	got, _ := r.source.BrokerConfigs(ctx, key) // where it may not be read, Kafka's default
	longest := time.Duration(0)
	for _, value := range got[key] {
		if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
			longest = max(longest, time.Duration(ms)*time.Millisecond)
		}
	}
	if longest == 0 {
		return maxTimeout
	}
	return longest
}
