package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/pause"
)

const (
	// txnPatience bounds the waits for a transaction that is being ended by
	// someone else. A healthy coordinator needs milliseconds; one whose
	// markers cannot be written answers CONCURRENT_TRANSACTIONS for ever.
	txnPatience = 30 * time.Second

	// markerPatience bounds the wait for the markers of our own transaction.
	// 300 partitions need 0.5 to 1.8 s; a marker that cannot be written keeps
	// the transaction in PrepareAbort for ever.
	markerPatience = time.Minute

	// Coordinator back-off: markers are usually written within a few
	// milliseconds, and Java waits 20 ms between tries.
	txnBackoffMin = 2 * time.Millisecond
	txnBackoffMax = 100 * time.Millisecond
)

// Identity is the producer id and epoch under which batches are written.
type Identity struct {
	ProducerID int64
	Epoch      int16
}

// String is "id/epoch".
func (id Identity) String() string { return fmt.Sprintf("%d/%d", id.ProducerID, id.Epoch) }

// InitProducer takes the transactional id over: the same producer id as before
// with a raised epoch, or a new producer id if the cluster had forgotten it
// (transactional.id.expiration.ms). The old owner is refused by the
// coordinator from then on, and at a partition only once that partition has
// seen the new epoch: see Fence. timeout is the transaction time-out, which
// must not exceed the broker's transaction.max.timeout.ms.
//
// An open transaction of the old owner is aborted first; success means that
// its markers are written. That is waited for up to 30 s, then the error is
// *ErrTxnPending. Without WRITE on the transactional id it is *ErrDenied.
func (c *Client) InitProducer(ctx context.Context, txid string, timeout time.Duration) (Identity, error) {
	return c.initProducer(ctx, txid, timeout, Identity{ProducerID: -1, Epoch: -1})
}

// BumpProducer raises the epoch of an identity that we own (KIP-360). Unlike
// InitProducer it cannot take the id from a successor: if somebody else has
// raised the epoch since, the error's class is Fenced.
func (c *Client) BumpProducer(ctx context.Context, txid string, timeout time.Duration, cur Identity) (Identity, error) {
	if cur.ProducerID < 0 || cur.Epoch < 0 {
		return Identity{}, fmt.Errorf("raise the epoch of %q on cluster %s: %v is no identity to raise", txid, c.cluster.Alias, cur)
	}
	return c.initProducer(ctx, txid, timeout, cur)
}

func (c *Client) initProducer(ctx context.Context, txid string, timeout time.Duration, cur Identity) (Identity, error) {
	what := fmt.Sprintf("take over producer %q", txid)
	if txid == "" {
		return Identity{}, fmt.Errorf("%s on cluster %s: the transactional id is empty", what, c.cluster.Alias)
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID = &txid
	req.TransactionTimeoutMillis = int32(timeout.Milliseconds())
	req.ProducerID = cur.ProducerID
	req.ProducerEpoch = cur.Epoch
	var got Identity
	err := c.patiently(ctx, kmsg.InitProducerID, txid, func() (int16, error) {
		resp, err := req.RequestWith(ctx, c.kgo)
		if err != nil {
			return 0, err
		}
		got = Identity{ProducerID: resp.ProducerID, Epoch: resp.ProducerEpoch}
		return resp.ErrorCode, nil
	})
	if err != nil {
		return Identity{}, c.failed(what, err)
	}
	return got, nil
}

// patiently asks a transaction coordinator until it gives a final answer.
// CONCURRENT_TRANSACTIONS and coordinators that move or load are waited for, up
// to txnPatience or the end of ctx. franz-go does not retry the former for raw
// requests.
func (c *Client) patiently(ctx context.Context, what kmsg.Key, txid string, ask func() (int16, error)) (err error) {
	w := c.waits.begin(what.Name(), txid, c.trouble, c.noCoordinator)
	defer func() { w.end(err) }()
	start := time.Now()
	backoff := txnBackoffMin
	for {
		code, err := ask()
		if found, ok := errorCode(err); ok {
			code = found // of FindCoordinator, inside franz-go
		} else if err != nil {
			return err
		}
		if code == 0 {
			return nil
		}
		err = c.txnError(txid, code)
		if !txnWait(code) {
			return err
		}
		w.because(kerr.ErrorForCode(code))
		waited := time.Since(start)
		if waited >= txnPatience {
			return &ErrTxnPending{TxnID: txid, Cluster: c.cluster.Alias, Waited: waited, Err: err}
		}
		if !pause.For(ctx, backoff) {
			return &ErrTxnPending{TxnID: txid, Cluster: c.cluster.Alias, Waited: waited, Err: fmt.Errorf("%w: %w", ctx.Err(), err)}
		}
		backoff = min(2*backoff, txnBackoffMax)
	}
}

// txnWait says whether a coordinator's code passes by waiting. A refused
// connection is franz-go's to retry, not ours.
func txnWait(code int16) bool {
	switch code {
	case kerr.ConcurrentTransactions.Code, kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code,
		kerr.NotCoordinator.Code, kerr.RequestTimedOut.Code:
		return true
	}
	return false
}

// txnError is a transaction coordinator's error about a transactional id.
func (c *Client) txnError(txid string, code int16) error {
	switch code {
	case 0:
		return nil
	case kerr.TransactionalIDAuthorizationFailed.Code:
		return &ErrDenied{Operation: "WRITE", Resource: "transactional id", Name: txid, Cluster: c.cluster.Alias}
	case kerr.ClusterAuthorizationFailed.Code:
		return &ErrDenied{Operation: "IDEMPOTENT_WRITE", Resource: "cluster", Cluster: c.cluster.Alias}
	}
	return fmt.Errorf("transactional id %q: %w", txid, kerr.ErrorForCode(code))
}
