package kafka

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// lane opens a client as a lane does and takes an identity.
func lane(t *testing.T, c Cluster) (*Client, Identity) {
	t.Helper()
	cl := open(t, c, LaneVersions())
	id, err := cl.InitProducer(deadline(t), "lane", time.Minute)
	noError(t, err)
	return cl, id
}

// plainProduce sends one plain batch of an identity and returns the broker's answer.
func plainProduce(t *testing.T, cl *Client, tp partition.ID, id Identity) int16 {
	t.Helper()
	md := NewMetadata(cl)
	noError(t, md.Refresh(deadline(t), tp.Topic))
	l, err := md.Leader(tp)
	noError(t, err)
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	req.TimeoutMillis = 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = tp.Topic, l.TopicID
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition = tp.Partition
	rp.Records = plainBatch(id)
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := cl.Kgo().Broker(int(l.Broker)).RetriableRequest(deadline(t), req)
	noError(t, err)
	return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
}

func TestFenceStopsTheOldOwner(t *testing.T) {
	fc, c := fake(t, kfake.SeedTopics(3, "t", "u"))
	cl, old := lane(t, c)
	tps := []partition.ID{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 2}, {Topic: "u", Partition: 1}}
	if code := plainProduce(t, cl, tps[0], old); code != 0 {
		t.Fatalf("the owner's batch: %v", kerr.ErrorForCode(code))
	}
	id, err := cl.InitProducer(deadline(t), "lane", time.Minute)
	noError(t, err)
	fenced, refused, err := cl.Fence(deadline(t), "lane", id, tps)
	noError(t, err)
	if !slices.Equal(fenced, tps) || len(refused) != 0 {
		t.Errorf("fenced %v, refused %v", fenced, refused)
	}
	for _, tp := range tps {
		if code := plainProduce(t, cl, tp, old); code != kerr.InvalidProducerEpoch.Code {
			t.Errorf("%v takes the old owner's batch: %v", tp, kerr.ErrorForCode(code))
		}
		if code := plainProduce(t, cl, tp, id); code != 0 {
			t.Errorf("%v refuses the new owner: %v", tp, kerr.ErrorForCode(code))
		}
	}
	// The marker is on the log of each fenced partition.
	if hw := fc.PartitionInfo("u", 1).HighWatermark; hw != 2 {
		t.Errorf("marker and one record end at %d, want 2", hw)
	}
}

func TestFenceLeavesOutWhatCannotBeFenced(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(2, "t"), kfake.SeedTopics(1, "leaderless", "denied"))
	cl, id := lane(t, c)
	fc.ControlKey(int16(kmsg.Metadata), leaderless(fc, t, "leaderless"))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "denied", Err: kerr.TopicAuthorizationFailed, Count: -1})
	all := []partition.ID{{Topic: "t", Partition: 1}, {Topic: "gone", Partition: 0}, {Topic: "leaderless", Partition: 0}, {Topic: "t", Partition: 0}, {Topic: "denied", Partition: 0}, {Topic: "t", Partition: 7}, {Topic: "t", Partition: 1}}
	fenced, refused, err := cl.Fence(deadline(t), "lane", id, all)
	noError(t, err)
	if !slices.Equal(fenced, []partition.ID{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 1}}) {
		t.Errorf("fenced %v", fenced)
	}
	for tp, want := range map[partition.ID]error{{Topic: "gone", Partition: 0}: ErrNoTopic, {Topic: "t", Partition: 7}: ErrNoTopic, {Topic: "leaderless", Partition: 0}: ErrNoLeader} {
		if !errors.Is(refused[tp], want) {
			t.Errorf("%v: %v", tp, refused[tp])
		}
	}
	as[*ErrDenied](t, refused[partition.ID{Topic: "denied", Partition: 0}])
	if len(refused) != 4 {
		t.Errorf("refused %v", refused)
	}
}

// leaderless answers metadata of one topic as if its partition had no leader.
func leaderless(fc *kfake.Cluster, t *testing.T, topic string) func(kmsg.Request) (kmsg.Response, error, bool) {
	host, port := hostPort(t, fc.ListenAddrs()[0])
	return func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		req := r.(*kmsg.MetadataRequest)
		if !slices.ContainsFunc(req.Topics, func(rt kmsg.MetadataRequestTopic) bool { return rt.Topic != nil && *rt.Topic == topic }) {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 0, host, port
		resp.Brokers = append(resp.Brokers, b)
		for _, rt := range req.Topics {
			mt := kmsg.NewMetadataResponseTopic()
			mt.Topic = rt.Topic
			info := fc.TopicInfo(*rt.Topic)
			switch {
			case *rt.Topic == "denied":
				mt.ErrorCode = kerr.TopicAuthorizationFailed.Code
			case info == nil:
				mt.ErrorCode = kerr.UnknownTopicOrPartition.Code
			default:
				mt.TopicID = info.TopicID
				for p := range int32(len(fc.PartitionInfos(*rt.Topic))) {
					mp := kmsg.NewMetadataResponseTopicPartition()
					mp.Partition, mp.Leader, mp.LeaderEpoch = p, 0, 1
					if *rt.Topic == topic {
						mp.Leader, mp.ErrorCode = -1, kerr.LeaderNotAvailable.Code
					}
					mt.Partitions = append(mt.Partitions, mp)
				}
			}
			resp.Topics = append(resp.Topics, mt)
		}
		return resp, nil, true
	}
}

// A real broker refuses a whole request for one bad partition; the others say
// that they were not attempted.
func TestFenceAgainWithoutTheOffender(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(4, "t"), kfake.SeedTopics(1, "bad"))
	cl, id := lane(t, c)
	var asked []int
	fc.ControlKey(int16(kmsg.AddPartitionsToTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		req := r.(*kmsg.AddPartitionsToTxnRequest)
		n, offends := 0, false
		for _, rt := range req.Topics {
			n += len(rt.Partitions)
			offends = offends || rt.Topic == "bad"
		}
		asked = append(asked, n)
		if !offends {
			return nil, nil, false
		}
		return addAnswer(req, func(tp partition.ID) int16 {
			if tp.Topic == "bad" {
				return kerr.TopicAuthorizationFailed.Code
			}
			return kerr.OperationNotAttempted.Code
		}), nil, true
	})
	fenced, refused, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}, {Topic: "bad", Partition: 0}, {Topic: "t", Partition: 3}})
	noError(t, err)
	if !slices.Equal(fenced, []partition.ID{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 3}}) || !slices.Equal(asked, []int{3, 2}) {
		t.Errorf("fenced %v by requests of %v partitions", fenced, asked)
	}
	if got := *as[*ErrDenied](t, refused[partition.ID{Topic: "bad", Partition: 0}]); got != (ErrDenied{"WRITE", "topic", "bad", "A"}) {
		t.Errorf("denied: %+v", got)
	}
}

func addAnswer(req *kmsg.AddPartitionsToTxnRequest, code func(partition.ID) int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	for _, rt := range req.Topics {
		at := kmsg.NewAddPartitionsToTxnResponseTopic()
		at.Topic = rt.Topic
		for _, p := range rt.Partitions {
			ap := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			ap.Partition, ap.ErrorCode = p, code(partition.ID{Topic: rt.Topic, Partition: p})
			at.Partitions = append(at.Partitions, ap)
		}
		resp.Topics = append(resp.Topics, at)
	}
	return resp
}

func TestFenceGoesInChunks(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1100, "t"))
	cl, id := lane(t, c)
	adds, ends := observe(fc, kmsg.AddPartitionsToTxn), observe(fc, kmsg.EndTxn)
	tps := make([]partition.ID, 1100)
	for p := range tps {
		tps[p] = partition.ID{Topic: "t", Partition: int32(p)}
	}
	fenced, _, err := cl.Fence(deadline(t), "lane", id, tps)
	noError(t, err)
	if len(fenced) != 1100 || adds.Hits() != 3 || ends.Hits() != 3 {
		t.Errorf("fenced %d by %d additions and %d ends", len(fenced), adds.Hits(), ends.Hits())
	}
}

func TestFenceOfNothing(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1))
	cl, id := lane(t, c)
	ends := observe(fc, kmsg.EndTxn)
	for _, tps := range [][]partition.ID{nil, {{Topic: "gone", Partition: 0}}} {
		fenced, _, err := cl.Fence(deadline(t), "lane", id, tps)
		noError(t, err)
		if len(fenced) != 0 || ends.Hits() != 0 {
			t.Errorf("fenced %v, %d ends", fenced, ends.Hits())
		}
	}
}

func TestFenceNeedsLaneVersions(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(1, "t"))
	adds := observe(fc, kmsg.AddPartitionsToTxn)
	id, err := cl.InitProducer(deadline(t), "lane", time.Minute)
	noError(t, err)
	if _, _, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}}); err == nil || !strings.Contains(err.Error(), "LaneVersions") {
		t.Errorf("fence by EndTxn v5: %v", err)
	}
	if adds.Hits() != 0 {
		t.Error("the transaction was begun all the same")
	}
}

func TestFenceByADeposedOwner(t *testing.T) {
	_, c := fake(t, kfake.SeedTopics(1, "t"))
	cl, old := lane(t, c)
	_, err := cl.InitProducer(deadline(t), "lane", time.Minute)
	noError(t, err)
	_, _, err = cl.Fence(deadline(t), "lane", old, []partition.ID{{Topic: "t", Partition: 0}})
	if ClassifyErr(err) != Fenced {
		t.Errorf("a deposed owner fenced: %v", err)
	}
}

func TestFenceWaitsAndSays(t *testing.T) {
	describe := func(state string, id Identity) func(*kmsg.DescribeTransactionsRequest, *kmsg.DescribeTransactionsResponse) {
		return func(req *kmsg.DescribeTransactionsRequest, resp *kmsg.DescribeTransactionsResponse) {
			s := kmsg.NewDescribeTransactionsResponseTransactionState()
			s.TransactionalID, s.State, s.ProducerID, s.ProducerEpoch = req.TransactionalIDs[0], state, id.ProducerID, id.Epoch
			resp.TransactionStates = append(resp.TransactionStates, s)
		}
	}
	t.Run("until the markers are written", func(t *testing.T) {
		fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		cl, id := lane(t, c)
		polls := 0
		answer(fc, func(req *kmsg.DescribeTransactionsRequest, resp *kmsg.DescribeTransactionsResponse) {
			polls++
			state := "PrepareAbort"
			if polls > 4 {
				state = "CompleteAbort"
			}
			describe(state, id)(req, resp)
		})
		fenced, _, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}})
		noError(t, err)
		if len(fenced) != 1 || polls != 5 {
			t.Errorf("fenced %v after %d looks", fenced, polls)
		}
	})
	t.Run("until ctx ends", func(t *testing.T) {
		fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		cl, id := lane(t, c)
		answer(fc, describe("PrepareAbort", id))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		fenced, _, err := cl.Fence(ctx, "lane", id, []partition.ID{{Topic: "t", Partition: 0}})
		pending := as[*ErrTxnPending](t, err)
		if len(fenced) != 0 || pending.State != "PrepareAbort" || pending.TxnID != "lane" || ClassifyErr(err) != Retry {
			t.Errorf("fenced %v: %v", fenced, err)
		}
	})
	t.Run("unless a successor took over", func(t *testing.T) {
		fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		cl, id := lane(t, c)
		answer(fc, describe("Empty", Identity{id.ProducerID, id.Epoch + 1}))
		_, _, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}})
		if ClassifyErr(err) != Fenced {
			t.Errorf("a fence under another owner: %v", err)
		}
	})
	t.Run("and names the right to describe", func(t *testing.T) {
		fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		cl, id := lane(t, c)
		fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeTransactions}, Err: kerr.TransactionalIDAuthorizationFailed, Count: -1})
		_, _, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}})
		if got := *as[*ErrDenied](t, err); got != (ErrDenied{"DESCRIBE", "transactional id", "lane", "A"}) {
			t.Errorf("denied: %+v", got)
		}
	})
}

func TestFenceRidesOutABusyCoordinator(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	cl, id := lane(t, c)
	busy := fc.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Err: kerr.ConcurrentTransactions, Count: 3},
		kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ConcurrentTransactions, Count: 3},
	)
	fenced, _, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}})
	noError(t, err)
	if len(fenced) != 1 || busy.Hits() != 6 {
		t.Errorf("fenced %v after %d refusals", fenced, busy.Hits())
	}
}

func TestFenceErrors(t *testing.T) {
	for _, c := range []struct {
		key   kmsg.Key
		code  *kerr.Error
		class Class
	}{
		{kmsg.AddPartitionsToTxn, kerr.InvalidProducerEpoch, Fenced},
		{kmsg.AddPartitionsToTxn, kerr.InvalidProducerIDMapping, Fenced},
		{kmsg.AddPartitionsToTxn, kerr.TransactionalIDAuthorizationFailed, Denied},
		{kmsg.AddPartitionsToTxn, kerr.InvalidTxnState, Stop},
		{kmsg.EndTxn, kerr.ProducerFenced, Fenced},
		{kmsg.EndTxn, kerr.InvalidTxnState, Stop},
		{kmsg.EndTxn, kerr.TransactionalIDAuthorizationFailed, Denied},
		{kmsg.DescribeTransactions, kerr.TransactionalIDNotFound, Stop},
	} {
		t.Run(fmt.Sprintf("%s %s", c.key.Name(), c.code.Message), func(t *testing.T) {
			fc, cluster := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
			cl, id := lane(t, cluster)
			fc.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Err: c.code, Count: -1})
			fenced, _, err := cl.Fence(deadline(t), "lane", id, []partition.ID{{Topic: "t", Partition: 0}})
			if got := ClassifyErr(err); got != c.class || len(fenced) != 0 {
				t.Errorf("class %v, fenced %v: %v", got, fenced, err)
			}
		})
	}
}

func TestKeepaliveKeepsEpochAndSequences(t *testing.T) {
	_, c := fake(t, kfake.SeedTopics(1, "ledger"))
	cl, id := lane(t, c)
	tp := partition.ID{Topic: "ledger", Partition: 0}
	for range 3 {
		noError(t, cl.Keepalive(deadline(t), "lane", id, tp))
	}
	if code := plainProduce(t, cl, tp, id); code != 0 {
		t.Errorf("the owner's batch after a keepalive: %v", kerr.ErrorForCode(code))
	}
	if err := cl.Keepalive(deadline(t), "lane", id, partition.ID{Topic: "gone", Partition: 0}); !errors.Is(err, ErrNoTopic) {
		t.Errorf("a ledger that is gone: %v", err)
	}
}

// plainBatch is a one-record batch as a lane writes it: not transactional,
// sequence 0.
func plainBatch(id Identity) []byte {
	rec := kmsg.NewRecord()
	rec.Value = []byte("v")
	rec.Length = int32(len(rec.AppendTo(nil)) - 1)
	b := kmsg.NewRecordBatch()
	b.Magic = 2
	b.PartitionLeaderEpoch = -1
	b.ProducerID, b.ProducerEpoch = id.ProducerID, id.Epoch
	b.FirstTimestamp = time.Now().UnixMilli()
	b.MaxTimestamp = b.FirstTimestamp
	b.NumRecords = 1
	b.Records = rec.AppendTo(nil)
	b.Length = int32(len(b.AppendTo(nil)) - 12)
	return checksummed(b)
}

func checksummed(b kmsg.RecordBatch) []byte {
	raw := b.AppendTo(nil)
	b.CRC = int32(crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

func hostPort(t *testing.T, addr string) (string, int32) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	noError(t, err)
	n, err := strconv.Atoi(port)
	noError(t, err)
	return host, int32(n)
}
