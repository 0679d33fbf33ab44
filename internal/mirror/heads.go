package mirror

import (
	"time"

	"tidemark/internal/failpoint"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
)

const syncEvery = 1000 // ms between offset syncs of a partition

// writeHead queues the head that the core asks for. Of a partition that was not opened everything else of the former owner's
// head stays: its anchor is what the tail on the target is settled by, and a new epoch over it would make that tail
// unexplained.
func (l *Lane) writeHead(p *part, w lane.WriteHead) {
	h := ledger.Head{Topic: p.TP.Topic, Partition: p.TP.Partition, RemoteTopic: p.Remote, ProducerID: -1, Epoch: -1, SourceEnd: -1}
	switch {
	case w.Opened:
		h.ProducerID, h.Epoch, h.Sequence = l.id.ProducerID, w.Epoch, w.Seq
		h.Map, h.SourceEnd = p.core.Map().AppendTail(nil), p.core.Seen().SourceEnd
	case p.damaged != "":
		return // what it was must stay to be found out
	case p.head != nil:
		h = *p.head
	}
	h.State, h.Reason, h.At = ledger.Running, "", time.UnixMilli(now())
	switch {
	case w.Looking:
		h.State, h.Reason = ledger.Stopped, ledger.Waits(w.Reason)
	case w.Reason != "":
		h.State, h.Reason = ledger.Stopped, w.Reason
	}
	key := ledger.Key{Kind: ledger.KindHead, Topic: p.TP.Topic, Partition: p.TP.Partition}
	l.ledger.add([]byte(key.String()), h.Encode(), func() {
		failpoint.Hit("after-ledger")
		l.step(p, lane.HeadAcked{N: w.N})
	})
}

func (l *Lane) blockKey(p *part, incarnation, number uint32) []byte {
	k := ledger.Key{Kind: ledger.KindBlock, Topic: p.TP.Topic, Partition: p.TP.Partition, Incarnation: incarnation, Block: number}
	return []byte(k.String())
}

// syncIfDue emits an offset sync for the newest mirrored record, at most once a second and only when there is news.
func (l *Lane) syncIfDue(p *part, t int64) {
	if l.flow.syncs == nil || p.lastUp == p.syncedUp || t-p.syncedAt < syncEvery {
		return
	}
	p.syncedAt, p.syncedUp = t, p.lastUp
	l.flow.syncs(p.TP.Topic, p.TP.Partition, p.lastUp, p.lastDown)
}
