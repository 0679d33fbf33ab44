package mirror

import (
	"time"

	"tidemark/internal/failpoint"
	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// Head pacing. A head costs some hundred bytes and a record in a compacted topic; the ledger should stay near 1 % of the
// mirrored bytes, so a partition that trickles waits longer between heads. Resume copes with any tail.
const (
	headEvery  = int64(time.Second / time.Millisecond)
	headAtMost = 10 * headEvery
	headShare  = 100      // mirrored bytes per head byte
	sealAt     = 16 << 10 // open runs beyond this become a block
	syncEvery  = headEvery
)

// flushIfDue writes a head when one is due.
func (l *Lane) flushIfDue(p *part, t int64) {
	if p.step != live || !p.dirty || p.headFlight > 0 {
		return
	}
	since := t - p.headAt
	quiet := p.core.Idle()
	if since < headEvery || !quiet && since < headAtMost && p.sinceHead < headShare*int64(p.core.Map().OpenSize()+200) {
		return
	}
	l.writeHead(p, nil)
}

// writeHead queues blocks that are due and the partition's head; acked runs once the head is in the ledger. A
// partition that never got as far as a map has no head to write.
func (l *Lane) writeHead(p *part, acked func()) {
	if p.core == nil {
		l.writeStop(p)
		return
	}
	m := p.core.Map()
	l.tellOthers(p)
	l.seal(p)
	h := ledger.Head{
		Topic: p.TP.Topic, Partition: p.TP.Partition, RemoteTopic: p.Remote,
		ProducerID: l.id.ProducerID, Map: m.AppendTail(nil), SourceEnd: p.sourceEnd, At: time.UnixMilli(now()),
	}
	h.Epoch, h.Sequence = p.core.Anchor()
	switch was := p.was(); {
	case p.step == halted:
		h.State, h.Reason = ledger.Stopped, p.reason
	case was != "": // a try; whoever looks meanwhile would see that it runs
		h.State, h.Reason = ledger.Stopped, was
	}
	l.putHead(p, h, acked)
}

// tellOthers says that somebody else writes to a remote partition. It is mirrored all the same: what others write is read,
// not skipped, and may be meant. Where it is another mirror of the same topic, consumers read those records twice. It goes
// on for as long as the other one does, so it is said once a minute.
func (l *Lane) tellOthers(p *part) {
	if n := p.core.Map().Others(); n > p.others && now()-p.othersAt >= tellEvery {
		p.othersAt = now()
		l.log.Warn("another producer writes to the remote topic: if that is a mirror too, such as a MirrorMaker 2 under the same alias, its records stand there twice",
			"partition", p.TP.String(), "remote", p.remoteTP().String(), "offsets", n-p.others)
		p.others = n
	}
}

// writeStop says in the ledger why a partition is stopped that was not opened. Everything else of the former owner's
// head stays: its anchor is what the tail on the target is settled by, and a new epoch over it would make that tail
// unexplained.
func (l *Lane) writeStop(p *part) {
	h := ledger.Head{Topic: p.TP.Topic, Partition: p.TP.Partition, RemoteTopic: p.Remote, ProducerID: -1, Epoch: -1, SourceEnd: -1}
	switch {
	case p.damaged != "":
		return // what it was must stay to be found out
	case p.head != nil:
		h = *p.head
	}
	h.State, h.Reason, h.At = ledger.Stopped, p.reason, time.UnixMilli(now())
	l.putHead(p, h, nil)
}

func (l *Lane) putHead(p *part, h ledger.Head, acked func()) {
	p.dirty, p.sinceHead, p.headAt = false, 0, now()
	p.headFlight++
	key := ledger.Key{Kind: ledger.KindHead, Topic: p.TP.Topic, Partition: p.TP.Partition}
	l.ledger.add([]byte(key.String()), h.Encode(), func() {
		p.headFlight--
		failpoint.Hit("after-ledger")
		if acked != nil {
			acked()
		}
	})
}

// seal turns full open runs into blocks. It is called as runs are added, not only with heads, so that no block outgrows
// what the ledger topic takes while heads wait.
func (l *Lane) seal(p *part) {
	for m := p.core.Map(); m.OpenSize() >= sealAt; {
		b, ok := m.Seal()
		if !ok {
			return
		}
		l.ledger.add(l.blockKey(p, m, b.Number), ledger.EncodeBlock(b.Data), nil)
	}
}

func (l *Lane) blockKey(p *part, m *offsetmap.Map, number uint32) []byte {
	k := ledger.Key{Kind: ledger.KindBlock, Topic: p.TP.Topic, Partition: p.TP.Partition, Incarnation: m.Origin().Incarnation, Block: number}
	return []byte(k.String())
}

// trim drops what the map holds about target records that retention removed, and deletes its blocks from the ledger.
func (l *Lane) trim(p *part) {
	if p.core == nil || p.targetStart <= p.trimmedTo {
		return
	}
	p.trimmedTo = p.targetStart
	l.translatePart(p)
	m := p.core.Map()
	dropped := m.TrimTarget(offsetmap.TargetOffset(p.targetStart))
	if len(dropped) == 0 {
		return
	}
	// The head that no longer names the blocks goes first: a block missing under an old head would make its answers
	// bounded for no reason.
	l.writeHead(p, func() {
		for _, n := range dropped {
			l.ledger.add(l.blockKey(p, m, n), nil, nil)
		}
	})
}

// syncIfDue emits an offset sync for the newest mirrored record, at most once a second and only when there is news.
func (l *Lane) syncIfDue(p *part, t int64) {
	if l.flow.syncs == nil || p.lastUp < 0 || p.lastUp == p.syncedUp || t-p.syncedAt < syncEvery {
		return
	}
	p.syncedAt, p.syncedUp = t, p.lastUp
	l.flow.syncs(p.TP.Topic, p.TP.Partition, p.lastUp, p.lastDown)
}
