package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
)

// TestTrap05MarkersComeLater: EndTxn answers before the markers of many partitions are written, and a stale owner can
// write until then. When Fence returns they are all written: nothing of the old epoch is accepted any more.
func TestTrap05MarkersComeLater(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tps := k.topic("trap05", 300, nil)
	const txid = "trap05"
	id := k.init(txid)
	late := false // seen that a transaction was not over when EndTxn had answered
	for i := 0; i < 10 && !late; i++ {
		id = k.init(txid)
		for tp, code := range k.add(txid, id, tps...) {
			if code != 0 {
				t.Fatalf("add %v: %v", tp, kerr.ErrorForCode(code))
			}
		}
		if resp := k.endTxn(k.lane, txid, id, false); resp.ErrorCode != 0 {
			t.Fatal(kerr.ErrorForCode(resp.ErrorCode))
		}
		d, err := k.txn(t.Context(), txid)
		late = err == nil && d.State == "PrepareAbort"
		k.until(20*time.Second, "the markers", func(ctx context.Context) (bool, string) {
			d, err := k.txn(ctx, txid)
			return err == nil && d.State == "CompleteAbort", fmt.Sprint(d.State, err)
		})
	}
	if !late {
		t.Error("ten times EndTxn answered only when the markers of 300 partitions were written: this broker has no need of waiting")
	}

	// A stale owner keeps writing to the last partitions while a successor fences all of them.
	stale := id
	next := k.init(txid)
	ctx, cancel := context.WithCancel(t.Context())
	var zombies sync.WaitGroup
	for _, tp := range tps[290:] {
		z := newRaw(t, suite.target)
		zombies.Go(func() {
			for seq := int32(0); ctx.Err() == nil; seq++ {
				z.send(tp, z.bytes(stale, seq, time.Now(), "stale"))
			}
		})
	}
	k.fence(txid, next, tps...)
	ends := map[partition.ID]int64{}
	for _, tp := range tps[290:] {
		ends[tp] = k.end(tp)
	}
	for _, tp := range tps {
		k.refused("the stale owner after the fence", tp, k.bytes(stale, 0, time.Now(), "stale"), kerr.InvalidProducerEpoch)
	}
	cancel()
	zombies.Wait()
	for tp, was := range ends {
		if now := k.end(tp); now != was {
			t.Errorf("%v grew from %d to %d after it was fenced", tp, was, now)
		}
	}
}

// TestTrap06StaleLedgerBlock: InitProducerID alone does not keep a stale owner from writing to the ledger behind the new
// owner's claim, and the last record of a key is the one that counts. With the ledger and the verdicts in the fencing set
// it is refused, as at every partition with data; and a worker whose own ledger is fenced gives the lane up.
func TestTrap06StaleLedgerBlock(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tp := k.topic("trap06", 1, map[string]string{"cleanup.policy": "compact"})[0]
	const txid = "trap06"
	id := k.init(txid)
	k.append(tp, k.bytes(id, 0, time.Now(), "head 100"))
	next := k.init(txid)
	k.append(tp, k.bytes(next, 0, time.Now(), "head 100, of the new owner"))
	k.refused("the stale owner once the partition knows the new epoch", tp, k.bytes(id, 1, time.Now(), "head 90"), kerr.InvalidProducerEpoch)
	third := k.init(txid)
	k.append(tp, k.bytes(next, 1, time.Now(), "head 200, of a stale owner")) // the third has not written here
	k.fence(txid, third, tp)
	k.refused("the stale owner after the fence", tp, k.bytes(next, 2, time.Now(), "head 300"), kerr.InvalidProducerEpoch)
	k.append(tp, k.bytes(third, 0, time.Now(), "head 210"))

	f := newFlow(t, "trap06", `t06-.*`, `trap06g.*`, "").onto(suite.target)
	f.createLoadTopics("t06-")
	stop := f.load("t06-")
	w := f.process("--instance-id", "one")
	f.remoteGrows("t06-plain", 500)
	f.claimed(make([]*ledger.Contents, 4))
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	was := f.ledgers(suite.target)
	w = f.process("--instance-id", "one")
	f.claimed(was)
	f.remoteGrows("t06-plain", 500)
	f.staleEverywhere(k, was)

	// A usurper takes the lanes from the running worker, as one would that the lane group has given them to by mistake.
	now := f.ledgers(suite.target)
	var usurpers []kafka.Identity
	for n := range now {
		u := k.init(f.transactional(n))
		k.fence(f.transactional(n), u, partition.ID{Topic: ledger.TopicName(f.alias), Partition: int32(n)})
		usurpers = append(usurpers, u)
	}
	w.says(f, "is lost", len(now), 30*time.Second)
	f.claimed(now)
	f.remoteGrows("t06-plain", 500)
	f.staleEverywhere(k, now)
	for n, u := range usurpers {
		now[n].Claim.ProducerID, now[n].Claim.Epoch = u.ProducerID, u.Epoch
	}
	f.staleEverywhere(k, now)
	stop()
	f.wellAtLast("t06-", w)
}

// claimed waits until every lane has another claim than it had.
func (f *flow) claimed(was []*ledger.Contents) {
	f.tb.Helper()
	f.until(60*time.Second, "new claims of all lanes", func(context.Context) (bool, string) {
		for n, c := range f.ledgers(f.to) {
			if c.Claim == nil || was[n] != nil && was[n].Claim != nil && c.Claim.ProducerID == was[n].Claim.ProducerID && c.Claim.Epoch == was[n].Claim.Epoch {
				return false, fmt.Sprintf("lane %d has %+v", n, c.Claim)
			}
		}
		return true, ""
	})
}

// staleEverywhere writes as the owner that a ledger names to everything that this owner could write. Nothing may be
// accepted.
func (f *flow) staleEverywhere(k *raw, was []*ledger.Contents) {
	f.tb.Helper()
	for n, c := range was {
		id := kafka.Identity{ProducerID: c.Claim.ProducerID, Epoch: c.Claim.Epoch}
		to := []partition.ID{{Topic: ledger.TopicName(f.alias), Partition: int32(n)}}
		for p := range was {
			to = append(to, partition.ID{Topic: ledger.VerdictsName(f.alias), Partition: int32(p)})
		}
		for p, h := range c.Heads {
			// A partition with old data may forget its producers at any time; there it is the lease that keeps a stale
			// owner away, see TestFrozenWorker.
			if h.Mirrored() && !strings.HasSuffix(h.RemoteTopic, "old") {
				to = append(to, partition.ID{Topic: h.RemoteTopic, Partition: p.Partition})
			}
		}
		for _, tp := range to {
			seq := int32(0)
			if s, ok, err := k.state(f.tb.Context(), tp, id); err != nil {
				f.tb.Fatal(err)
			} else if ok {
				seq = s.LastSequence + 1
			}
			k.refused(fmt.Sprintf("the stale owner %v at %v", id, tp), tp, k.bytes(id, seq, time.Now(), "stale"), kerr.InvalidProducerEpoch)
		}
	}
}

// TestTrap07PausedPastTheTimeout: an owner pauses between AddPartitionsToTxn and EndTxn for longer than the transaction
// may take. The coordinator aborts in a raised epoch; EndTxn v5 answers the late owner as if all were well, while partitions
// outside of the transaction still take the old epoch. Fence by EndTxn v4 says that the identity is gone, before anything
// is claimed or written.
func TestTrap07PausedPastTheTimeout(t *testing.T) {
	t.Parallel()
	k := newRaw(t, forgetful(t))
	tps := k.topic("trap07", 2, nil)
	in, outside := tps[0], tps[1]
	const txid = "trap07"
	paused := func() kafka.Identity {
		id, err := k.lane.InitProducer(t.Context(), txid, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		k.append(in, k.bytes(id, 0, time.Now(), "a"))
		k.append(outside, k.bytes(id, 0, time.Now(), "a"))
		if code := k.add(txid, id, in)[in]; code != 0 {
			t.Fatal(kerr.ErrorForCode(code))
		}
		k.until(20*time.Second, "the coordinator to abort", func(ctx context.Context) (bool, string) {
			d, err := k.txn(ctx, txid)
			return err == nil && d.State == "CompleteAbort", fmt.Sprintf("%+v, %v", d, err)
		})
		return id
	}
	id := paused()
	late := k.endTxn(k.plain, txid, id, false)
	if late.ErrorCode != 0 || late.ProducerEpoch <= id.Epoch {
		t.Errorf("the late EndTxn v5 answered %v with epoch %d, it was expected to answer ok with an epoch above %d",
			kerr.ErrorForCode(late.ErrorCode), late.ProducerEpoch, id.Epoch)
	}
	k.refused("the old epoch in the transaction", in, k.bytes(id, 1, time.Now(), "late"), kerr.InvalidProducerEpoch)
	k.append(outside, k.bytes(id, 1, time.Now(), "late"))

	id = paused()
	if resp := k.endTxn(k.lane, txid, id, false); kafka.Classify(resp.ErrorCode) != kafka.Fenced {
		t.Errorf("the late EndTxn v4 answered %v, want that the owner is fenced", kerr.ErrorForCode(resp.ErrorCode))
	}
	if fenced, _, err := k.lane.Fence(t.Context(), txid, id, tps); kafka.ClassifyErr(err) != kafka.Fenced || len(fenced) > 0 {
		t.Errorf("Fence by the late owner: %v, %v, want that it is fenced itself", fenced, err)
	}
	next := k.init(txid)
	// As long as nobody has taken the identity its owner may go on in a raised epoch (KIP-360); not any more.
	if _, err := k.lane.BumpProducer(t.Context(), txid, time.Second, id); kafka.ClassifyErr(err) != kafka.Fenced {
		t.Errorf("BumpProducer by the late owner: %v, want that it is fenced", err)
	}
	k.fence(txid, next, tps...)
	for _, tp := range tps {
		k.refused("the late owner after the successor's fence", tp, k.bytes(id, 1, time.Now(), "late"), kerr.InvalidProducerEpoch)
		k.append(tp, k.bytes(next, 0, time.Now(), "b"))
	}
	k.holds(in, "a", "a", "b")
	k.holds(outside, "a", "late", "a", "b")
}

// TestTrap09OneForAll: one unknown topic keeps all other partitions of AddPartitionsToTxn out of the transaction. An epoch
// that was raised locally at one partition keeps the coordinator's marker out, so that the transaction does not end and
// everything about the identity waits. Fence leaves the offenders out, and says of a transaction that does not end that it
// did not: nothing counts as fenced then.
func TestTrap09OneForAll(t *testing.T) {
	t.Parallel()
	k := newRaw(t, forgetful(t))
	tps := k.topic("trap09", 3, nil)
	const txid = "trap09"
	id := k.init(txid)
	nowhere, beyond := partition.ID{Topic: "trap09-nowhere"}, partition.ID{Topic: "trap09", Partition: 7}
	codes := k.add(txid, id, append(slices.Clone(tps), nowhere)...)
	for _, tp := range tps {
		if codes[tp] != kerr.OperationNotAttempted.Code {
			t.Errorf("%v beside an unknown topic: %v, want OPERATION_NOT_ATTEMPTED", tp, kerr.ErrorForCode(codes[tp]))
		}
	}
	next := k.init(txid)
	fenced, refused, err := k.lane.Fence(t.Context(), txid, next, append(slices.Clone(tps), nowhere, beyond))
	if err != nil || !slices.Equal(fenced, tps) || len(refused) != 2 || !errors.Is(refused[nowhere], kafka.ErrNoTopic) || !errors.Is(refused[beyond], kafka.ErrNoTopic) {
		t.Errorf("fence with unknown partitions: %v, %v, %v", fenced, refused, err)
	}
	for _, tp := range tps {
		k.refused("the old epoch", tp, k.bytes(id, 0, time.Now(), "stale"), kerr.InvalidProducerEpoch)
		k.append(tp, k.bytes(next, 0, time.Now(), "a"))
	}

	raised := kafka.Identity{ProducerID: next.ProducerID, Epoch: next.Epoch + 1}
	k.append(tps[0], k.bytes(raised, 0, time.Now().Add(time.Minute), "raised locally")) // remembered for a minute
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if fenced, _, err := k.lane.Fence(ctx, txid, next, tps); !isPending(err) || len(fenced) > 0 {
		t.Errorf("fence with an epoch that was raised locally: %v, %v, want that the transaction is pending", fenced, err)
	}
	if d, err := k.txn(t.Context(), txid); err != nil || d.State != "PrepareAbort" {
		t.Errorf("the transaction is %+v, %v, want PrepareAbort", d, err)
	}
	again := kmsg.NewPtrInitProducerIDRequest()
	again.TransactionalID, again.TransactionTimeoutMillis, again.ProducerID, again.ProducerEpoch = new(txid), 1000, -1, -1
	if resp, err := again.RequestWith(t.Context(), k.lane.Kgo()); err != nil || resp.ErrorCode != kerr.ConcurrentTransactions.Code {
		t.Errorf("InitProducerID meanwhile: %+v, %v, it was expected to answer CONCURRENT_TRANSACTIONS", resp, err)
	}
	k.append(tps[0], k.bytes(raised, 1, time.Now(), "and on")) // the coordinator does not reach it
	// Another transactional id is another producer, which nothing holds up.
	out := k.init(txid + ".1")
	k.fence(txid+".1", out, tps...)
	k.append(tps[0], k.bytes(out, 0, time.Now(), "b"))
}

func isPending(err error) bool {
	_, pending := errors.AsType[*kafka.ErrTxnPending](err)
	return pending
}
