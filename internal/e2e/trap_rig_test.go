package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/wire"
)

// raw speaks to a cluster as a lane does: the lane's client, and batches over the lane's transport.
type raw struct {
	t     *testing.T
	r     *testcluster.Real
	lane  *kafka.Client // ends transactions by EndTxn v4
	plain *kafka.Client // and by whatever the broker offers
	net   *wire.Net
	out   *wire.Producer
}

func newRaw(t *testing.T, r *testcluster.Real) *raw {
	t.Helper()
	return newRawTimeout(t, r, 0)
}

// newRawTimeout gives the brokers a time in which they are to replicate a batch.
func newRawTimeout(t *testing.T, r *testcluster.Real, timeout time.Duration) *raw {
	t.Helper()
	k := &raw{t: t, r: r}
	quiet := slog.New(slog.DiscardHandler)
	at := kafka.Cluster{Alias: "T", Bootstrap: r.Bootstrap()}
	var err error
	if k.lane, err = kafka.Open(at, quiet, kafka.LaneVersions()); err != nil {
		t.Fatal(err)
	}
	if k.plain, err = kafka.Open(at, quiet); err != nil {
		t.Fatal(err)
	}
	k.net = wire.New(at, kafka.NewMetadata(k.lane), quiet)
	k.out = k.net.NewProducer(wire.ProduceOptions{Timeout: timeout})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // it ends after the test's own clean-up
	var wg sync.WaitGroup
	wg.Go(func() { _ = k.out.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		k.net.Close()
		k.lane.Close()
		k.plain.Close()
	})
	return k
}

// topic creates a topic and gives its partitions.
func (k *raw) topic(name string, partitions int32, configs map[string]string) []partition.ID {
	k.t.Helper()
	if err := testcluster.CreateTopic(k.t.Context(), k.r.ClientOpts(), name, partitions, configs); err != nil {
		k.t.Fatal(err)
	}
	var tps []partition.ID
	for p := range partitions {
		tps = append(tps, partition.ID{Topic: name, Partition: p})
	}
	return tps
}

func (k *raw) init(txid string) kafka.Identity {
	k.t.Helper()
	id, err := k.lane.InitProducer(k.t.Context(), txid, 10*time.Second)
	if err != nil {
		k.t.Fatal(err)
	}
	return id
}

func (k *raw) fence(txid string, id kafka.Identity, tps ...partition.ID) {
	k.t.Helper()
	fenced, refused, err := k.lane.Fence(k.t.Context(), txid, id, tps)
	if err != nil || len(refused) > 0 || len(fenced) != len(tps) {
		k.t.Fatalf("fence %v: %v, refused %v, %v", tps, fenced, refused, err)
	}
}

// ownFence is what a lane does about a partition in doubt: a new epoch of its own, for that partition only.
func (k *raw) ownFence(txid string, id kafka.Identity, tp partition.ID) kafka.Identity {
	k.t.Helper()
	next, err := k.lane.BumpProducer(k.t.Context(), txid, 10*time.Second, id)
	if err != nil {
		k.t.Fatal(err)
	}
	k.fence(txid, next, tp)
	return next
}

// bytes is a batch of an identity, stamped at a time.
func (k *raw) bytes(id kafka.Identity, seq int32, at time.Time, values ...string) []byte {
	k.t.Helper()
	var recs []batch.Record
	for _, v := range values {
		recs = append(recs, batch.Record{Timestamp: at.UnixMilli(), Key: []byte("k"), Value: []byte(v)})
	}
	b, err := batch.Build(recs, batch.None, batch.Stamp{ProducerID: id.ProducerID, Epoch: id.Epoch, Sequence: seq})
	if err != nil {
		k.t.Fatal(err)
	}
	return b
}

// send sends a batch once and waits for what comes back.
func (k *raw) send(tp partition.ID, b []byte) wire.Result {
	k.t.Helper()
	done := make(chan wire.Result, 1)
	k.out.Send(wire.Batch{TP: tp, Bytes: b, Done: func(r wire.Result) { done <- r }})
	select {
	case r := <-done:
		return r
	case <-time.After(225 * time.Second):
		k.t.Fatalf("no answer about a batch for %v", tp)
		return wire.Result{}
	}
}

// append sends a batch that must be accepted, and gives its offset.
func (k *raw) append(tp partition.ID, b []byte) int64 {
	k.t.Helper()
	r := k.send(tp, b)
	for n := 0; r.Code == kerr.RequestTimedOut.Code && n < 20; n++ {
		r = k.send(tp, b) // a busy machine: identical bytes are answered with the offset where they landed
	}
	if r.Code != 0 || r.Err != nil {
		k.t.Fatalf("append to %v: %v, %v %s", tp, kerr.ErrorForCode(r.Code), r.Err, r.Message)
	}
	return r.BaseOffset
}

// refused sends a batch that must be refused for a reason.
func (k *raw) refused(what string, tp partition.ID, b []byte, want *kerr.Error) {
	k.t.Helper()
	if r := k.send(tp, b); r.Code != want.Code || r.Err != nil {
		k.t.Errorf("%s: offset %d, %v, %v, want %s", what, r.BaseOffset, kerr.ErrorForCode(r.Code), r.Err, want.Message)
	}
}

// state is what a partition remembers of a producer.
func (k *raw) state(ctx context.Context, tp partition.ID, id kafka.Identity) (kadm.DescribedProducer, bool, error) {
	set := kadm.TopicsSet{}
	set.Add(tp.Topic, tp.Partition)
	got, err := k.lane.Admin().DescribeProducers(ctx, set)
	if err != nil {
		return kadm.DescribedProducer{}, false, err
	}
	p := got[tp.Topic].Partitions[tp.Partition]
	s, ok := p.ActiveProducers[id.ProducerID]
	return s, ok, p.Err
}

// until waits for a condition.
func (k *raw) until(d time.Duration, what string, ok func(ctx context.Context) (bool, string)) {
	k.t.Helper()
	(&flow{tb: k.t}).until(d, what, ok)
}

// forgotten waits until a partition remembers nothing of a producer.
func (k *raw) forgotten(tp partition.ID, id kafka.Identity) {
	k.t.Helper()
	k.until(20*time.Second, fmt.Sprintf("%v to forget producer %d", tp, id.ProducerID), func(ctx context.Context) (bool, string) {
		s, there, err := k.state(ctx, tp, id)
		return err == nil && !there, fmt.Sprintf("%+v, %v", s, err)
	})
}

// end is a partition's log end, markers included.
func (k *raw) end(tp partition.ID) int64 {
	k.t.Helper()
	at, failed, err := k.lane.ListOffsets(k.t.Context(), []partition.ID{tp}, -1, false)
	if err != nil || failed[tp] != nil {
		k.t.Fatal(err, failed[tp])
	}
	return at[tp]
}

// values are those of the records that a partition holds.
func (k *raw) values(tp partition.ID) []string {
	k.t.Helper()
	recs, err := testcluster.ReadPartition(k.t.Context(), k.lane.Kgo(), tp.Topic, tp.Partition, testcluster.ReadUncommitted)
	if err != nil {
		k.t.Fatal(err)
	}
	var out []string
	for _, r := range recs {
		out = append(out, string(r.Value))
	}
	return out
}

func (k *raw) holds(tp partition.ID, want ...string) {
	k.t.Helper()
	if got := k.values(tp); !slices.Equal(got, want) {
		k.t.Errorf("%v holds %q, want %q", tp, got, want)
	}
}

// add is one AddPartitionsToTxn, and end one EndTxn, without any of the care that kafka.Client takes.
func (k *raw) add(txid string, id kafka.Identity, tps ...partition.ID) map[partition.ID]int16 {
	k.t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = txid, id.ProducerID, id.Epoch
	for _, tp := range tps {
		rt := kmsg.NewAddPartitionsToTxnRequestTopic()
		rt.Topic, rt.Partitions = tp.Topic, []int32{tp.Partition}
		if i := slices.IndexFunc(req.Topics, func(t kmsg.AddPartitionsToTxnRequestTopic) bool { return t.Topic == tp.Topic }); i >= 0 {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, tp.Partition)
			continue
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, err := req.RequestWith(k.t.Context(), k.lane.Kgo())
	if err != nil {
		k.t.Fatal(err)
	}
	codes := map[partition.ID]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[partition.ID{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	return codes
}

func (k *raw) endTxn(c *kafka.Client, txid string, id kafka.Identity, commit bool) *kmsg.EndTxnResponse {
	k.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = txid, id.ProducerID, id.Epoch, commit
	resp, err := req.RequestWith(k.t.Context(), c.Kgo())
	if err != nil {
		k.t.Fatal(err)
	}
	return resp
}

// txn is a transactional id as its coordinator knows it.
func (k *raw) txn(ctx context.Context, txid string) (kadm.DescribedTransaction, error) {
	got, err := k.lane.Admin().DescribeTransactions(ctx, txid)
	if err != nil {
		return kadm.DescribedTransaction{}, err
	}
	return got[txid], got[txid].Err
}
