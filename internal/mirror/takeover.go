package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/batch"
	"tidemark/internal/events"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
)

// takeOver does the steps of a take-over up to the point where partitions can be opened one by one.
//
// The claim is written before partitions are settled, not after: a crash in between leaves the heads and their anchors
// as they were, so that the next owner settles the same tails. Partition by partition, a head in the new epoch follows
// before anything is written (MR1).
func (l *Lane) takeOver(ctx context.Context) (*ledger.Contents, lane.Handover, error) {
	t := lane.Takeover{Reads: l.flow.reads()}
	var contents *ledger.Contents
	tp := partition.ID{Topic: l.flow.Ledger, Partition: l.n}
	for {
		err := l.leased()
		if err != nil {
			return nil, 0, err
		}
		l.report("taking over: "+t.Next().String(), "")
		switch t.Next() {
		case lane.ReadLedger:
			if contents, err = l.flow.readLedger(ctx, tp); err == nil {
				err = cmp.Or(l.flow.layout(contents), t.Read(l.claimedBy(contents)))
			}
		case lane.ReadTails:
			if err = l.flow.readTails(ctx, contents, &t); err == nil {
				t.Done()
			}
		case lane.Identify:
			err = l.identify(ctx, &t)
		case lane.WaitLease:
			l.say(events.LaneUnfenced, "former", l.unreached(&t, contents), "wait", l.flow.SessionTimeout)
			if !pause.For(ctx, l.flow.SessionTimeout) {
				return nil, 0, ctx.Err()
			}
			t.Done()
		case lane.FenceOwn:
			if err = l.fenceOwn(ctx, tp); err == nil {
				t.Done()
			}
		case lane.FenceHeads:
			if err = l.fenceHeads(ctx, contents); err == nil {
				t.Done()
			}
		case lane.ReadControls:
			if err = l.readControls(ctx); err == nil {
				t.Done()
			}
		case lane.Adopt:
			if err = l.begin(ctx, contents, t.How()); err == nil {
				return contents, t.How(), l.leased()
			}
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// claimedBy is what a ledger says about who has the lane.
func (l *Lane) claimedBy(c *ledger.Contents) lane.Claimed {
	got := lane.Claimed{Lost: c.ClaimLost(), Under: identityOf(c.Claim, l.flow.TransactionalID(l.n)), Reads: c.Reads()}
	if c.Claim != nil {
		got.Former = &lane.Former{Identity: lane.Identity{ProducerID: c.Claim.ProducerID, Epoch: c.Claim.Epoch}, Released: c.Claim.Released}
	}
	return got
}

// unreached says for people who may hold an identity that no fence of ours reaches.
func (l *Lane) unreached(t *lane.Takeover, c *ledger.Contents) string {
	switch {
	case c.ClaimLost():
		return "not known: the claim is damaged or gone"
	case l.txid != t.Under():
		return "whoever has " + t.Under()
	}
	return c.Claim.Owner
}

// leased is asked between the steps of a take-over: a fence by a process that the group has given up already would stop
// the rightful owner.
func (l *Lane) leased() error {
	if l.flow.lease.Valid() {
		return nil
	}
	return errors.New("the lease of this process ran out")
}

// layout refuses a ledger that was made for another spread of partitions over lanes.
func (f *Flow) layout(c *ledger.Contents) error {
	m := c.Meta
	if m == nil {
		return nil // the lane was never owned
	}
	if m.Lanes != f.Lanes || m.Hash != ledger.HashName {
		return fmt.Errorf("ledger %s was made for %d lanes by %s, this process would use %d by %s", f.Ledger, m.Lanes, m.Hash, f.Lanes, ledger.HashName)
	}
	return nil
}

// readLedger reads a ledger partition to its end.
func (f *Flow) readLedger(ctx context.Context, tp partition.ID) (*ledger.Contents, error) {
	end, failed := offsets[int64](ctx, f.target, []partition.ID{tp}, -1, false)
	start, failedStart := offsets[int64](ctx, f.target, []partition.ID{tp}, -2, false)
	if err := cmp.Or(failed[tp], failedStart[tp]); err != nil { // both fail alike
		return nil, err
	}
	c := ledger.NewContents()
	if start[tp] >= end[tp] {
		return c, nil
	}
	err := f.targetNet.Scan(ctx, tp, start[tp], end[tp], 0, func(v batch.View, _ bool) error {
		if v.Control() || v.Count() == 0 {
			return nil
		}
		return f.builder.Each(v, func(r batch.Record) error { return c.Apply(r.Offset, r.Key, r.Value) })
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", tp, err)
	}
	return c, nil
}

// fenceOwn fences the ledger partition and every partition of the verdicts topic, which all lanes write. Without its
// ledger a lane can do nothing. A verdicts partition without a leader only keeps news from the groups in it, so it is
// fenced alone before its next write, as partitions with data are.
func (l *Lane) fenceOwn(ctx context.Context, tp partition.ID) error {
	own := []partition.ID{tp}
	for i := range l.flow.Lanes {
		own = append(own, partition.ID{Topic: l.flow.Verdicts, Partition: i})
	}
	_, refused, err := l.flow.target.Fence(ctx, l.txid, l.coord.get(), own)
	if err != nil {
		return err
	}
	failpoint.Hit("after-fence")
	for to, why := range refused {
		if to == tp || !errors.Is(why, kafka.ErrNoLeader) {
			return fmt.Errorf("fence %s: %w", to, why)
		}
		l.say(events.JournalUnfenced, "partition", to.String())
		j := l.newRowJournal(to.Partition)
		j.Hold()
		l.verdicts[to.Partition] = j
	}
	return nil
}

// fenceHeads fences every partition that was ever written. Those that cannot be fenced now (no leader, topic gone) are
// left stopped and are fenced alone before their next write.
func (l *Lane) fenceHeads(ctx context.Context, c *ledger.Contents) error {
	var tps []partition.ID
	of := map[partition.ID]partition.ID{}
	for p, h := range c.Heads {
		if !h.Mirrored() {
			continue // never written, so there is nothing to fence, and a marker would take offset 0 of a new topic
		}
		to := partition.ID{Topic: h.RemoteTopic, Partition: p.Partition}
		of[to] = p
		tps = append(tps, to)
	}
	if len(tps) == 0 {
		return nil
	}
	_, refused, err := l.flow.target.Fence(ctx, l.txid, l.coord.get(), tps)
	if err != nil {
		return err
	}
	failpoint.Hit("after-fence")
	for to, why := range refused {
		l.unfenced[of[to]] = why
	}
	return nil
}

// adopt takes over what the ledger says and writes the claim. Partitions are opened as the flow names them; a head of
// a partition that the flow does not name is kept in the ledger untouched.
func (l *Lane) adopt(c *ledger.Contents, how lane.Handover) {
	l.ledger = l.newJournal(partition.ID{Topic: l.flow.Ledger, Partition: l.n})
	l.upkeep = lane.NewUpkeep(l.txid, l.flow.KeepaliveEvery.Milliseconds(), l.flow.uptime())
	for _, d := range c.Other {
		l.say(events.LedgerDamaged, "key", d.Key, "offset", d.Offset, "error", d.Err)
	}
	l.writeBegins(c, how)
	reads := ledger.Reads{Isolation: l.flow.reads(), Owner: l.flow.Owner}
	l.ledger.add([]byte(ledger.Key{Kind: ledger.KindIsolation}.String()), reads.Encode(), nil)
	claim := ledger.Claim{ProducerID: l.id.ProducerID, Epoch: l.id.Epoch, TransactionalID: l.txid, Owner: l.flow.Owner, At: time.Now()}
	l.ledger.add([]byte(ledger.Key{Kind: ledger.KindClaim}.String()), claim.Encode(), func() {
		l.claimed = true
		l.report("", "")
		failpoint.Hit("after-claim")
	})
	if c.Meta == nil {
		meta := ledger.Meta{Lanes: l.flow.Lanes, Hash: ledger.HashName, SourceCluster: l.flow.SourceCluster, TargetCluster: l.flow.TargetCluster}
		l.ledger.add([]byte(ledger.Key{Kind: ledger.KindMeta}.String()), meta.Encode(), nil)
	}
	l.contents, l.obeyed = c, c.Obeys
	l.how = how
}

// fromLedger gives a new partition what the ledger knows about it.
func (l *Lane) fromLedger(p *part) lane.Past {
	nothing := lane.Past{SourceEnd: -1}
	if d, bad := l.contents.HeadDamaged(p.TP); bad {
		p.damaged = fmt.Sprintf("offset %d of %s-%d: %v", d.Offset, l.flow.Ledger, l.n, d.Err)
		return nothing
	}
	if b, ok := l.contents.Begins[p.TP]; ok {
		p.begin = &b
	}
	h, ok := l.contents.Heads[p.TP]
	if !ok || !h.Mirrored() {
		if d, bad := l.contents.BeginDamaged(p.TP); bad {
			p.damaged = fmt.Sprintf("offset %d of %s-%d: %v", d.Offset, l.flow.Ledger, l.n, d.Err)
		}
		return nothing
	}
	m, err := l.contents.Map(p.TP)
	if err != nil {
		p.damaged = err.Error()
		return nothing
	}
	if missing := m.Missing(); len(missing) > 0 {
		l.sayOf(p, events.MapIncomplete, "blocks", len(missing))
	}
	p.head = &h
	delete(l.contents.Heads, p.TP)
	was := lane.Past{Map: m, SourceEnd: h.SourceEnd}
	if _, waits := h.Waits(); h.State == ledger.Stopped && !waits {
		was.Stopped = h.Reason
	}
	return was
}

// isFenced says whether an error means that another owner has the lane.
func isFenced(err error) bool {
	return errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced)
}
