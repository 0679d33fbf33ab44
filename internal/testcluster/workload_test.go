//go:build unix

package testcluster

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRefusedTransactionIsWrittenAgain: the third batch of a load is refused, as kfake did it on a busy machine. A reader of
// committed records finds those of every transaction that was meant to be committed, once.
func TestRefusedTransactionIsWrittenAgain(t *testing.T) {
	ctx := within(t)
	source, _ := NewPair(t)
	l := Load{Topic: "orders", Count: 60}
	must(t, CreateTopic(ctx, source.ClientOpts(), l.Topic, 1, nil))
	var seen atomic.Int32
	source.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		source.KeepControl()
		if seen.Add(1) != 3 {
			return nil, nil, false
		}
		req := kreq.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range req.Topics {
			st := kmsg.NewProduceResponseTopic()
			st.Topic, st.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				sp := kmsg.NewProduceResponseTopicPartition()
				sp.Partition, sp.ErrorCode = rp.Partition, kerr.OutOfOrderSequenceNumber.Code
				st.Partitions = append(st.Partitions, sp)
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp, nil, true
	})
	committed, aborted, err := ProduceTransactions(ctx, source.ClientOpts(), l, Transactions{Seed: 7})
	must(t, err)
	if len(committed)+len(aborted) != 60 {
		t.Fatalf("%d committed and %d aborted, want 60 in all", len(committed), len(aborted))
	}
	got, err := Read(ctx, source.Client(t), l.Topic, ReadCommitted)
	must(t, err)
	if len(got) != len(committed) {
		t.Errorf("read %d records, want %d", len(got), len(committed))
	}
}
