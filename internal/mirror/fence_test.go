package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/verdicts"
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

// A partition that could not be fenced with the others is fenced alone, and looked at behind that: in the epoch of that fence,
// with its marker. From then on it is as the others.
func TestFenceBeforeTheFirstLook(t *testing.T) {
	r, f, l := bareLane(t)
	r.both("t", 1)
	l.txid = "txid"
	id, err := r.dst.InitProducer(t.Context(), l.txid, txnTimeout)
	if err != nil {
		t.Fatal(err)
	}
	l.coord.set(id)
	l.id = lane.Identity(id)
	info := r.partitions("t")[kafka.TP{Topic: "t"}]
	p := l.newPart(info)
	l.unfenced[p.TP] = kafka.ErrNoLeader
	h := l.headOf(look{part: p})
	h.known.Map = offsetmap.New(offsetmap.Origin{SourceTopicID: info.SourceTopicID, TargetTopicID: info.TargetTopicID})
	probes, failed := f.lookAtEnds(t.Context(), []head{h})
	if failed[0] != nil {
		t.Fatal(failed[0])
	}
	e := l.lookAtOne(h, probes[0], nil, p)
	if e.part = p; e.out.Err != "" || e.out.Reason != "" {
		t.Fatalf("%+v", e.out)
	}
	if end := e.out.Map.TargetEnd(); end != 1 || e.out.Map.Others() != 0 || e.out.Epoch != id.Epoch+1 {
		t.Errorf("the target ends at %d, %d of others, epoch %d", end, e.out.Map.Others(), e.out.Epoch)
	}
	l.step(p, lane.Named{Facts: l.facts(info)})
	l.handle(e)
	if len(l.unfenced) != 0 {
		t.Error("it counts as not fenced, and the lane will not be released")
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

// A fence that is refused because the lane has another owner ends the lane.
func TestFencedAtAFence(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.InvalidProducerEpoch, kerr.ProducerFenced} {
		_, l, p := livePart(t)
		l.handle(partFenced{part: p, round: p.round + 1, err: fmt.Errorf("raise the epoch: %w", err)})
		if l.gone == "" {
			t.Errorf("%s: the lane goes on", err.Message)
		}
	}
}

// A coordinator that has forgotten the lane's identity gives another one. Nothing is fenced with that: other partitions of the
// lane are written under the first.
func TestAnotherProducerID(t *testing.T) {
	r, _, l := bareLane(t)
	r.create(r.dst, "A.t", 1, nil)
	l.txid = "txid"
	id, err := r.dst.InitProducer(t.Context(), l.txid, txnTimeout)
	if err != nil {
		t.Fatal(err)
	}
	l.coord.set(id)
	l.id = lane.Identity{ProducerID: id.ProducerID + 1, Epoch: id.Epoch}
	if _, err := l.fenceOne(t.Context(), kafka.TP{Topic: "A.t"}); err == nil || !strings.Contains(err.Error(), "must be taken over anew") {
		t.Errorf("%v", err)
	}
	if end := r.end(r.dst, kafka.TP{Topic: "A.t"}); end != 0 {
		t.Errorf("%d offsets were written", end)
	}
}

// A keepalive whose epoch is above the ledger's own fences it: the ledger goes on in that epoch when the marker is written,
// and not at all while that is not known.
func TestKept(t *testing.T) {
	_, _, l := bareLane(t)
	l.sent()
	l.ledger.Hold()
	if l.handle(kept{epoch: 9, err: context.DeadlineExceeded}); l.ledger.Held() {
		t.Error("held though its own epoch cannot be fenced by it")
	}
	l.ledger.Hold()
	if l.handle(kept{epoch: 12, err: context.DeadlineExceeded}); !l.ledger.Held() {
		t.Error("written though it may be fenced")
	}
	if l.handle(kept{epoch: 12}); l.ledger.Held() || l.ledger.Epoch() != 12 {
		t.Errorf("held %t, epoch %d", l.ledger.Held(), l.ledger.Epoch())
	}
	if l.handle(kept{epoch: 12, err: kerr.InvalidProducerEpoch}); l.gone == "" {
		t.Error("fenced, and the lane goes on")
	}
}

// An identity counts as hanging when its transaction does not end, not when its coordinator is away, and not for failures
// that lie apart.
func TestHangs(t *testing.T) {
	pending := func(err error) error { return fmt.Errorf("fence: %w", &kafka.ErrTxnPending{TxnID: "txid", Err: err}) }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("so"), false},
		{pending(context.DeadlineExceeded), true},
		{pending(kerr.ConcurrentTransactions), true},
		{pending(kerr.CoordinatorLoadInProgress), false},
		{pending(context.Canceled), false},
	} {
		if got := hangs(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
	l := (&Flow{}).newLane(0)
	hang := pending(kerr.ConcurrentTransactions)
	if l.hung(hang); l.hangsSince.IsZero() || l.gone != "" {
		t.Errorf("since %v, %q", l.hangsSince, l.gone)
	}
	if l.hung(nil); !l.hangsSince.IsZero() {
		t.Error("it works again, and hangs")
	}
	l.hangsSince = time.Now().Add(-wedgedFor - time.Second)
	if l.hung(hang); l.gone == "" {
		t.Error("it hangs for ever")
	}
}

// TestIdentityOf: under which transactional id a lane goes on.
func TestIdentityOf(t *testing.T) {
	const base = "tidemark.A->B.lane.0"
	for was, want := range map[string]string{"": base, base: base, base + ".3": base + ".3", base + ".x": base, base + "0.3": base} {
		if got := identityOf(&ledger.Claim{TransactionalID: was}, base); got != want {
			t.Errorf("%q: %q, want %q", was, got, want)
		}
	}
	if got := identityOf(nil, base); got != base {
		t.Errorf("no claim: %q", got)
	}
	if got := nextIdentity(base+".3", base); got != base+".4" {
		t.Errorf("%q", got)
	}
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

// The lane ends once the word "released" is in the ledger, not when it is on its way.
func TestReleasedWhenTheLedgerHasIt(t *testing.T) {
	_, _, l := bareLane(t)
	l.sent()
	l.drain()
	ends := func() bool {
		finished, err := l.drained(time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return finished
	}
	for range 2 {
		if ends() || l.ledger.Idle() {
			t.Fatal("it ends before the word is in the ledger")
		}
	}
	f := l.ledger.Next(now())
	if ends() {
		t.Fatal("it ends while the word is on its way")
	}
	l.ledger.Answered(f, lane.Result{Answer: lane.Acked}, now())
	if !ends() {
		t.Error("it does not end")
	}
}

// A row is written when it is news: the commit is another one, or came back after its owner deleted the row.
func TestRowsAreNews(t *testing.T) {
	_, f, l := bareLane(t)
	p := l.liven(t, "t", 0, offsetmap.New(offsetmap.Origin{}))
	tell := func(cs ...verdicts.Commit) int {
		for k, row := range l.rows { // long ago
			row.at -= restateEvery
			l.rows[k] = row
		}
		f.commits = map[kafka.TP][]verdicts.Commit{p.TP: cs}
		l.handle(commitsChanged{})
		n := 0
		for _, j := range l.verdicts {
			for fl := j.Next(now()); fl != nil; fl = j.Next(now()) {
				n += len(fl.Records)
				j.Answered(fl, lane.Result{Answer: lane.Acked}, now())
			}
		}
		return n
	}
	commit := verdicts.Commit{Group: "g", Offset: 0}
	for i, c := range []struct {
		commits []verdicts.Commit
		want    int
	}{{[]verdicts.Commit{commit}, 1}, {[]verdicts.Commit{commit}, 0}, {nil, 0}, {[]verdicts.Commit{commit}, 1}, {[]verdicts.Commit{{Group: "g", Offset: 0, Metadata: "m"}}, 1}} {
		if got := tell(c.commits...); got != c.want {
			t.Errorf("look %d: %d rows, want %d", i+1, got, c.want)
		}
	}
}
