package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
)

// hang leaves a transactional id in a transaction that the brokers cannot end: the partition has seen a higher epoch of its
// producer than the coordinator knows (docs/design.md, Traps, T9).
func (k *raw) hang(txid string, tp partition.ID) {
	k.t.Helper()
	id := k.init(txid)
	k.append(tp, k.bytes(kafka.Identity{ProducerID: id.ProducerID, Epoch: id.Epoch + 1}, 0, time.Now(), "of a later epoch"))
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Second)
	defer cancel()
	_, _, err := k.lane.Fence(ctx, txid, id, []partition.ID{tp})
	if _, ok := errors.AsType[*kafka.ErrTxnPending](err); !ok {
		k.t.Fatalf("the transaction of %s ended: %v", txid, err)
	}
}

// TestWedgedIdentity: an owner is killed, and the identities of its lanes hang in transactions that cannot be ended. The
// next owner goes on under the next identities, as does the one after it, at once; nothing is lost or there twice.
func TestWedgedIdentity(t *testing.T) {
	t.Parallel()
	const topic = "wedged-t"
	f := newFlow(t, "wedged", "wedged-.*", "wedgedg.*", "")
	f.topic(topic, 4, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 4, Count: 400})
	w := f.process()
	f.same(topic)
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	f.produce(testcluster.Load{Topic: topic, Partitions: 4, Count: 100, First: 400})

	k := newRaw(t, suite.target)
	tps := k.topic("wedge", int32(f.cfg.Flows[0].Lanes), nil)
	base := func(n int) string { return fmt.Sprintf("tidemark.wedged->T.lane.%d", n) }
	for n, tp := range tps {
		k.hang(base(n), tp)
	}
	w = f.process("--instance-id", "wedged")
	f.until(90*time.Second, "a word about the identities", func(context.Context) (bool, string) {
		out := w.output()
		return strings.Count(out, "the lane's identity on the target hangs") == len(tps), out
	})
	f.same(topic)
	at := f.anywhere(4, 5, topic)
	f.exact(at, testcluster.ReadCommitted)
	f.named(base, ".1")

	_ = w.end(syscall.SIGKILL, 10*time.Second)
	f.produce(testcluster.Load{Topic: topic, Partitions: 4, Count: 100, First: 500})
	w = f.process("--instance-id", "wedged")
	f.same(topic)
	f.exact(at, testcluster.ReadCommitted)
	f.named(base, ".1")
	if out := w.output(); strings.Contains(out, "hangs") || strings.Contains(out, "cannot be fenced") {
		t.Errorf("the second owner did not take the identity of the claim:\n%s", out)
	}
}

// named waits until every lane's claim is by the transactional id with a number behind it.
func (f *flow) named(base func(int) string, number string) {
	f.tb.Helper()
	cl := suite.target.Client(f.tb)
	f.until(60*time.Second, "claims by identities "+number, func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, ledger.TopicName(f.alias), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error()
		}
		by := map[string]bool{}
		for _, r := range recs {
			if string(r.Key) != "claim" {
				continue
			}
			c, err := ledger.DecodeClaim(r.Value)
			if err != nil {
				f.tb.Fatal(err)
			}
			by[c.TransactionalID] = true
		}
		for n := range f.cfg.Flows[0].Lanes {
			if !by[base(n)+number] {
				return false, fmt.Sprint(by)
			}
		}
		return true, ""
	})
}
