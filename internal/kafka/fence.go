package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
	"tidemark/internal/pause"
)

// fenceChunk is how many partitions one transaction fences. Markers of one
// transaction complete together, so one slow partition holds up its chunk
// only.
const fenceChunk = 500

// Fence makes every named partition refuse older epochs of id's producer id,
// by an empty transaction that is aborted: AddPartitionsToTxn, EndTxn v4, then
// waiting until the coordinator says that all markers are written. Until then a
// deposed owner can still append, so nothing may be read as final before Fence
// returns. Each fenced partition holds one more record, the marker. id must be
// what InitProducer or BumpProducer returned last; it stays valid.
//
// fenced lists the partitions that are done, refused those left out and why:
// no such topic or partition (ErrNoTopic), no leader (ErrNoLeader: its marker
// could not be written and would hold up all others), or *ErrDenied. Fence
// those alone, before their next write. err ends the whole call: class Fenced
// if somebody else has taken the identity, *ErrTxnPending if the markers are
// not written by the end of ctx, or within a minute. What is in fenced then is fenced all the
// same, and the call may be repeated.
//
// The client must have been opened with LaneVersions.
func (c *Client) Fence(ctx context.Context, txid string, id Identity, tps []partition.ID) (fenced []partition.ID, refused map[partition.ID]error, err error) {
	what := fmt.Sprintf("fence %d partitions with %q", len(tps), txid)
	if !c.lane() {
		return nil, nil, fmt.Errorf("%s on cluster %s: the client may send EndTxn v5, which would raise the epoch: open it with LaneVersions",
			what, c.cluster.Alias)
	}
	tps = slices.Clone(tps)
	slices.SortFunc(tps, partition.ID.Compare)
	tps = slices.Compact(tps)
	refused, err = c.unfit(ctx, tps)
	if err != nil {
		return nil, nil, c.failed(what, err)
	}
	fit := slices.DeleteFunc(tps, func(tp partition.ID) bool { return refused[tp] != nil })
	for chunk := range slices.Chunk(fit, fenceChunk) {
		added, denied, err := c.addPartitions(ctx, txid, id, chunk)
		maps.Copy(refused, denied)
		if err != nil {
			return fenced, refused, c.failed(what, err)
		}
		if len(added) == 0 {
			continue // no transaction was begun, so there is none to end
		}
		if err := c.abort(ctx, txid, id); err != nil {
			return fenced, refused, c.failed(what, err)
		}
		fenced = append(fenced, added...)
	}
	return fenced, refused, nil
}

// Fenceable says why a partition cannot be fenced now: ErrNoTopic, ErrNoLeader,
// or that the cluster does not answer. Ask before BumpProducer, which takes one
// of 32,767 epochs whether the fence succeeds or not.
func (c *Client) Fenceable(ctx context.Context, tp partition.ID) error {
	refused, err := c.unfit(ctx, []partition.ID{tp})
	if err != nil {
		return c.failed(fmt.Sprintf("find the leader of %v", tp), err)
	}
	return refused[tp]
}

// Keepalive runs an empty aborted transaction on tp, the lane's ledger
// partition. It renews the coordinator's memory of the transactional id
// (transactional.id.expiration.ms) and that partition's memory of the producer
// (producer.id.expiration.ms), and leaves epoch and sequences as they are.
// Errors as for Fence, a refused partition among them.
func (c *Client) Keepalive(ctx context.Context, txid string, id Identity, tp partition.ID) error {
	_, refused, err := c.Fence(ctx, txid, id, []partition.ID{tp})
	if err != nil {
		return fmt.Errorf("keep producer %q alive: %w", txid, err)
	}
	if err := refused[tp]; err != nil {
		return c.failed(fmt.Sprintf("keep producer %q alive", txid), err)
	}
	return nil
}

// unfit finds the partitions that must not enter a transaction: one that does
// not exist makes the broker refuse all the others (OPERATION_NOT_ATTEMPTED),
// one without a leader would never get its marker.
func (c *Client) unfit(ctx context.Context, tps []partition.ID) (map[partition.ID]error, error) {
	md := NewMetadata(c)
	topics := make([]string, 0, len(tps))
	for _, tp := range tps {
		topics = append(topics, tp.Topic)
	}
	refused := map[partition.ID]error{}
	if len(topics) == 0 {
		return refused, nil
	}
	if err := md.Refresh(ctx, slices.Compact(topics)...); err != nil {
		return nil, err
	}
	for _, tp := range tps {
		if _, err := md.Leader(tp); err != nil {
			refused[tp] = err
		}
	}
	return refused, nil
}

// addPartitions adds the partitions to the identity's transaction, again
// without those that the broker refuses. The broker adds all or none of a
// request.
func (c *Client) addPartitions(ctx context.Context, txid string, id Identity, tps []partition.ID) (added []partition.ID, denied map[partition.ID]error, err error) {
	denied = map[partition.ID]error{}
	pending := slices.Clone(tps)
	for len(pending) > 0 {
		var codes map[partition.ID]int16
		err := c.patiently(ctx, kmsg.AddPartitionsToTxn, txid, func() (int16, error) {
			var err error
			codes, err = c.addOnce(ctx, txid, id, pending)
			if err != nil {
				return 0, err
			}
			return wholeTxnCode(codes), nil
		})
		if err != nil {
			return nil, denied, err
		}
		before := len(pending)
		var again []partition.ID
		for _, tp := range pending {
			code, answered := codes[tp]
			switch {
			case !answered:
				denied[tp] = fmt.Errorf("%v on cluster %s: the coordinator's answer left it out", tp, c.cluster.Alias)
			case code == 0:
				added = append(added, tp)
			case code == kerr.OperationNotAttempted.Code:
				again = append(again, tp)
			default:
				denied[tp] = c.partitionError(tp, "WRITE", code)
			}
		}
		pending = again
		if len(pending) == before {
			return nil, denied, fmt.Errorf("transactional id %q: the coordinator attempted none of %d partitions and named no reason", txid, before)
		}
	}
	return added, denied, nil
}

// addOnce sends one AddPartitionsToTxn request and returns each partition's
// code.
func (c *Client) addOnce(ctx context.Context, txid string, id Identity, tps []partition.ID) (map[partition.ID]int16, error) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID = txid
	req.ProducerID = id.ProducerID
	req.ProducerEpoch = id.Epoch
	topics := byTopic(tps)
	for _, topic := range sortedKeys(topics) {
		t := kmsg.NewAddPartitionsToTxnRequestTopic()
		t.Topic = topic
		t.Partitions = topics[topic]
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	codes := make(map[partition.ID]int16, len(tps))
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[partition.ID{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	return codes, nil
}

// wholeTxnCode is the code that concerns the transaction, not a partition: the
// coordinator repeats it for every partition. 0 if there is none.
func wholeTxnCode(codes map[partition.ID]int16) int16 {
	for _, code := range codes {
		if txnWait(code) || Classify(code) == Fenced || code == kerr.InvalidTxnState.Code ||
			code == kerr.TransactionalIDAuthorizationFailed.Code || code == kerr.TransactionalIDNotFound.Code {
			return code
		}
	}
	return 0
}

// abort ends the transaction and waits until its markers are written.
func (c *Client) abort(ctx context.Context, txid string, id Identity) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID = txid
	req.ProducerID = id.ProducerID
	req.ProducerEpoch = id.Epoch
	req.Commit = false
	err := c.patiently(ctx, kmsg.EndTxn, txid, func() (int16, error) {
		resp, err := req.RequestWith(ctx, c.kgo)
		if err != nil {
			return 0, err
		}
		return resp.ErrorCode, nil
	})
	if err != nil {
		return err
	}
	return c.awaitEnd(ctx, txid, id)
}

// awaitEnd polls the coordinator until the transaction is over. EndTxn answers
// when the decision is durable; a zombie's writes are still accepted until the
// marker of the partition is written, up to seconds later. CompleteAbort is
// the real answer; Empty is what some brokers show after a completed abort.
func (c *Client) awaitEnd(ctx context.Context, txid string, id Identity) (err error) {
	w := c.begin("the markers of EndTxn", txid)
	defer func() { w.end(err) }()
	start := time.Now()
	backoff := txnBackoffMin
	state := ""
	for {
		got, err := c.describeTxn(ctx, txid)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && (got.ProducerID != id.ProducerID || got.ProducerEpoch > id.Epoch):
			return fmt.Errorf("transactional id %q now belongs to %d/%d, not to %v: %w",
				txid, got.ProducerID, got.ProducerEpoch, id, kerr.ProducerFenced)
		case err == nil && (got.State == "CompleteAbort" || got.State == "Empty"):
			return nil
		case err == nil:
			state = got.State
			w.because(fmt.Errorf("its transaction is in state %s: a partition in it has no leader, or has seen a higher epoch", state))
		}
		var end error
		if !pause.For(ctx, backoff) {
			end = ctx.Err()
		} else if time.Since(start) > markerPatience {
			end = fmt.Errorf("its markers are not written within %v", markerPatience)
		}
		if end != nil {
			return &ErrTxnPending{TxnID: txid, Cluster: c.cluster.Alias, State: state, Waited: time.Since(start), Err: end}
		}
		backoff = min(2*backoff, txnBackoffMax)
	}
}

// describeTxn asks the coordinator for the state of one transactional id
// (KIP-664), over short absences of the coordinator.
func (c *Client) describeTxn(ctx context.Context, txid string) (kmsg.DescribeTransactionsResponseTransactionState, error) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{txid}
	var state kmsg.DescribeTransactionsResponseTransactionState
	err := c.patiently(ctx, kmsg.DescribeTransactions, txid, func() (int16, error) {
		resp, err := req.RequestWith(ctx, c.kgo)
		if err != nil {
			return 0, err
		}
		if len(resp.TransactionStates) != 1 {
			return 0, fmt.Errorf("describe transaction %q: the coordinator answered %d states", txid, len(resp.TransactionStates))
		}
		state = resp.TransactionStates[0]
		return state.ErrorCode, nil
	})
	if denied, ok := errors.AsType[*ErrDenied](err); ok {
		denied.Operation = "DESCRIBE"
	}
	return state, err
}

// byTopic groups partitions by topic.
func byTopic(tps []partition.ID) map[string][]int32 {
	topics := map[string][]int32{}
	for _, tp := range tps {
		topics[tp.Topic] = append(topics[tp.Topic], tp.Partition)
	}
	return topics
}
