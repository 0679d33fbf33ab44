package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

func TestInitAndBump(t *testing.T) {
	_, cl := fakeClient(t)
	ctx := deadline(t)
	first, err := cl.InitProducer(ctx, "txn", time.Minute)
	noError(t, err)
	second, err := cl.InitProducer(ctx, "txn", time.Minute)
	noError(t, err)
	if second.ProducerID != first.ProducerID || second.Epoch != first.Epoch+1 {
		t.Errorf("took over %v and got %v", first, second)
	}
	third, err := cl.BumpProducer(ctx, "txn", time.Minute, second)
	noError(t, err)
	if third.ProducerID != first.ProducerID || third.Epoch != second.Epoch+1 {
		t.Errorf("raised %v and got %v", second, third)
	}
	// The embedded cluster raises a deposed owner's epoch as well, Kafka does
	// not; both refuse an epoch that is not theirs.
	if _, err := cl.BumpProducer(ctx, "txn", time.Minute, Identity{first.ProducerID, third.Epoch + 1}); ClassifyErr(err) != Fenced {
		t.Errorf("a foreign epoch was raised: %v", err)
	}
	if _, err := cl.BumpProducer(ctx, "txn", time.Minute, Identity{-1, -1}); err == nil {
		t.Error("an empty identity would take the id over, not raise it")
	}
	if _, err := cl.InitProducer(ctx, "", time.Minute); err == nil {
		t.Error("an empty transactional id was accepted")
	}
}

func TestInitWaitsForTheOldTransaction(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	busy := fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ConcurrentTransactions, TopLevel: true, Count: 5})
	id, err := cl.InitProducer(deadline(t), "txn", time.Minute)
	noError(t, err)
	if busy.Hits() != 5 || id.ProducerID < 0 {
		t.Errorf("%d refusals, identity %v", busy.Hits(), id)
	}
}

func TestInitGivesUp(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	busy := fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ConcurrentTransactions, TopLevel: true, Count: -1})
	var err error
	for within, had := 100*time.Millisecond, 0; busy.Hits()-had < 2; within *= 2 { // until one was answered in time
		had = busy.Hits()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		_, err = cl.InitProducer(ctx, "txn", time.Minute)
		cancel()
	}
	pending := as[*ErrTxnPending](t, err)
	if pending.TxnID != "txn" || pending.Cluster != "A" || !errors.Is(err, kerr.ConcurrentTransactions) ||
		!errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error says %q", err)
	}
}

func TestInitErrors(t *testing.T) {
	for _, c := range []struct {
		code  *kerr.Error
		class Class
		deny  *ErrDenied
	}{
		{kerr.TransactionalIDAuthorizationFailed, Denied, &ErrDenied{"WRITE", "transactional id", "txn", "A"}},
		{kerr.ClusterAuthorizationFailed, Denied, &ErrDenied{"IDEMPOTENT_WRITE", "cluster", "", "A"}},
		{kerr.InvalidTransactionTimeout, Stop, nil},
		{kerr.ProducerFenced, Fenced, nil},
		{kerr.InvalidProducerEpoch, Fenced, nil},
	} {
		t.Run(c.code.Message, func(t *testing.T) {
			fc, cl := fakeClient(t, kfake.NumBrokers(1))
			fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: c.code, TopLevel: true, Count: -1})
			_, err := cl.InitProducer(deadline(t), "txn", time.Minute)
			if got := ClassifyErr(err); got != c.class {
				t.Errorf("class %v: %v", got, err)
			}
			if c.deny != nil && *as[*ErrDenied](t, err) != *c.deny {
				t.Errorf("denied: %v", err)
			}
			if err == nil || !strings.Contains(err.Error(), `take over producer "txn" on cluster A`) {
				t.Errorf("the error says %q", err)
			}
		})
	}
}

// A right that is missing at the coordinator's discovery is the same right.
func TestDeniedAtFindCoordinator(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, TxnID: "txn", Err: kerr.TransactionalIDAuthorizationFailed, Count: -1})
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, Group: "g", Err: kerr.GroupAuthorizationFailed, Count: -1})
	_, err := cl.InitProducer(deadline(t), "txn", time.Minute)
	as[*ErrDenied](t, err)
	_, err = cl.CommitPositions(deadline(t), "g", map[partition.ID]Committed{{Topic: "t", Partition: 0}: {Offset: 1}})
	if got := *as[*ErrDenied](t, err); got != (ErrDenied{"READ", "group", "g", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	_, failed, err := cl.FetchPositions(deadline(t), []string{"g", "h"}, false)
	noError(t, err)
	if got := *as[*ErrDenied](t, failed["g"]); got != (ErrDenied{"DESCRIBE", "group", "g", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	if failed["h"] != nil {
		t.Errorf("the neighbour failed: %v", failed["h"])
	}
}
