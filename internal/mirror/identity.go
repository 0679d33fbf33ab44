package mirror

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
)

// txnTimeout is the transaction time-out of a lane's identity. Its transactions are empty and end at once; the
// time-out only matters when we die between AddPartitionsToTxn and EndTxn.
const txnTimeout = 10 * time.Second

// TransactionalID names a lane's identity on the target. A lane whose identity hung goes on under the same name with a
// number behind it (nextIdentity); the claim says which.
func (s Settings) TransactionalID(n int32) string {
	return fmt.Sprintf("tidemark.%s->%s.lane.%d", s.Source, s.Target, n)
}

// identityOf is the transactional id that a claim's owner writes under: base, or base with a number.
func identityOf(c *ledger.Claim, base string) string {
	if c != nil && numberOf(c.TransactionalID, base) > 0 {
		return c.TransactionalID
	}
	return base
}

// nextIdentity is the one to go on under when id hangs.
func nextIdentity(id, base string) string { return fmt.Sprintf("%s.%d", base, numberOf(id, base)+1) }

// numberOf is the number behind base, 0 where there is none.
func numberOf(id, base string) int {
	number, ok := strings.CutPrefix(id, base+".")
	if n, err := strconv.Atoi(number); ok && err == nil && n > 0 {
		return n
	}
	return 0
}

// hangs says that a transaction of an identity does not end: a marker of it cannot be written. That is so while a partition
// in it has no leader, and for good where a partition has seen a higher epoch than the coordinator knows; the coordinator
// answers CONCURRENT_TRANSACTIONS all the time, and no fence of that identity reaches anything. A coordinator that is away
// or moves is waited for in the same way, but is no reason to give the identity up.
func hangs(err error) bool {
	if _, pending := errors.AsType[*kafka.ErrTxnPending](err); !pending || errors.Is(err, context.Canceled) {
		return false
	}
	_, coded := errors.AsType[*kerr.Error](err)
	return !coded || errors.Is(err, kerr.ConcurrentTransactions)
}

// identify takes the lane's identity, that of the last claim, or the next one where that hangs. Waiting for it was
// rejected: it can take until an operator finds out which partition it is, and all of the lane stands still. The former
// owner is not fenced then, so its lease is waited out, as with one whose identity expired.
func (l *Lane) identify(ctx context.Context, t *lane.Takeover) error {
	l.txid = t.Under()
	got, err := l.flow.target.InitProducer(ctx, l.txid, txnTimeout)
	if err != nil && hangs(err) && ctx.Err() == nil {
		l.txid = nextIdentity(t.Under(), l.flow.TransactionalID(l.n))
		l.say(events.LaneIdentity, "transactional_id", t.Under(), "next", l.txid, "error", err)
		got, err = l.flow.target.InitProducer(ctx, l.txid, txnTimeout)
	}
	if err != nil {
		return err
	}
	l.id = lane.Identity(got)
	l.coord.set(got)
	t.Identified(l.id, l.txid)
	how, tone := t.How(), events.ByKind
	if how == lane.First || how == lane.Clean {
		tone = events.Quiet // the normal case of every lane at every start
	}
	l.flow.events.Publish(events.Event{
		Kind: events.LaneTaken, Lane: l.n, Tone: tone,
		Details: events.Details("how", how.String(), "producer_id", got.ProducerID, "epoch", got.Epoch),
	})
	return nil
}
