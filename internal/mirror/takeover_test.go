package mirror

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// A remote partition without a leader cannot be fenced when a dead owner's lane is taken over. The lane is not released then.
func TestUnfencedPartition(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.kill()
	run.wg.Wait()
	named := r.partitions("orders")
	r.leaderless("A.orders", 0)
	r.settings.Owner = "second"
	run = r.start(named)
	r.until("the second's claim", func() (bool, string) { c := r.ledgerOf().Claim; return c.Owner == "second", c.Owner })
	run.stop()
	run.wg.Wait()
	if err := run.errs[0]; !errors.Is(err, ErrUnreleased) {
		t.Errorf("the lane ended with %v: the next owner would not fence that partition", err)
	}
}

// Which partitions could not be fenced is known by their names on the source.
func TestUnfencedIsOfTheSource(t *testing.T) {
	r, _, l := bareLane(t)
	r.both("orders", 2)
	l.txid = "txid"
	id, err := r.dst.InitProducer(t.Context(), l.txid, txnTimeout)
	if err != nil {
		t.Fatal(err)
	}
	l.coord.set(id)
	c := ledger.NewContents()
	for n := range int32(2) {
		m := offsetmap.New(offsetmap.Origin{})
		c.Heads[partition.ID{Topic: "orders", Partition: n}] = ledger.Head{Topic: "orders", Partition: n, RemoteTopic: "A.orders", ProducerID: 77, Epoch: 8, Map: m.AppendTail(nil)}
	}
	r.leaderless("A.orders", 1)
	if err := l.fenceHeads(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if why := l.unfenced[partition.ID{Topic: "orders", Partition: 1}]; len(l.unfenced) != 1 || !errors.Is(why, kafka.ErrNoLeader) {
		t.Errorf("%v", l.unfenced)
	}
}

// A former owner whose identity expired has written in another producer id. What it wrote beyond its last head is ours.
func TestFormerOwnersTail(t *testing.T) {
	r := newRig(t, 1)
	r.settings.SessionTimeout = 100 * time.Millisecond
	r.die()
	was := r.kept(ledger.Key{Kind: ledger.KindClaim})
	claim := *r.ledgerOf().Claim
	claim.TransactionalID = nextIdentity(claim.TransactionalID, r.settings.TransactionalID(0))
	r.overwrite(was, claim.Encode())
	r.start(r.partitions("orders"))
	r.same("orders")
}

// A worker whose lease ran out asks for no identity: that alone would stop the rightful owner.
func TestTakeOverWithoutALease(t *testing.T) {
	r, f, l := bareLane(t)
	f.lease = &flip{}
	var asked atomic.Int32
	r.target.ControlKey(int16(kmsg.InitProducerID), func(kmsg.Request) (kmsg.Response, error, bool) {
		r.target.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	if _, _, err := l.takeOver(t.Context()); err == nil || asked.Load() > 0 {
		t.Errorf("%v, %d asked", err, asked.Load())
	}
}

// A ledger that was made for another spread of partitions over lanes is refused.
func TestLayout(t *testing.T) {
	f := &Flow{Settings: Settings{Lanes: 4}}
	for _, c := range []struct {
		meta *ledger.Meta
		ok   bool
	}{{nil, true}, {&ledger.Meta{Lanes: 4, Hash: ledger.HashName}, true}, {&ledger.Meta{Lanes: 8, Hash: ledger.HashName}, false}, {&ledger.Meta{Lanes: 4, Hash: "other"}, false}} {
		if err := f.layout(&ledger.Contents{Meta: c.meta}); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.meta, err)
		}
	}
}
