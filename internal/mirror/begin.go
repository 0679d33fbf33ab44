package mirror

import (
	"context"
	"slices"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
)

// begin decides where the partitions of a lane begin whose flow was told to begin at the end (Settings.FromEnd), at the
// lane's first take-over: every partition that the source has now begins at its end, those that the flow does not select
// too, so that they do when it selects them later. What appears after that is newer than the flow and is mirrored whole.
//
// The offsets are written before the claim (writeBegins): a crash before the claim's acknowledgement leaves a lane that was
// never taken over, and offsets that stand in the ledger by then are kept; after it, nothing that is produced can be passed
// over. So a flow has started when each of its lanes was owned once; until then lanes that wait begin later than others. One
// record for all lanes was put off: it needs a place that no lane's fence guards. Deciding at a partition's first head
// instead was rejected: a partition without a head can be new as well as old.
func (l *Lane) begin(ctx context.Context, c *ledger.Contents) {
	if !l.flow.FromEnd {
		return
	}
	l.flow.mu.Lock()
	existing, selected := l.flow.existing, l.flow.partitions
	l.flow.mu.Unlock()
	var tps []kafka.TP
	for tp := range existing {
		if ledger.LaneOf(tp.Topic, tp.Partition, l.flow.Lanes) == l.n {
			tps = append(tps, tp)
		}
	}
	asked := slices.DeleteFunc(slices.Clone(tps), func(tp kafka.TP) bool { _, ok := selected[tp]; return !ok })
	// What cannot be asked now has its end taken when it is first looked at.
	start, _ := offsets(ctx, l.flow.source, asked, -2, false)
	end, _ := offsets(ctx, l.flow.source, asked, -1, l.flow.Committed)
	for _, tp := range tps {
		key := ledger.Partition{Topic: tp.Topic, Partition: tp.Partition}
		if b, ok := c.Begins[key]; ok && b.TopicID == existing[tp] {
			continue
		}
		from, knowsStart := start[tp]
		to, knowsEnd := end[tp]
		switch {
		case !knowsStart || !knowsEnd:
			c.SetBegin(key, ledger.Begin{TopicID: existing[tp], Offset: ledger.AtEnd})
		case from < to:
			c.SetBegin(key, ledger.Begin{TopicID: existing[tp], Offset: to})
		}
	}
}

// writeBegins queues what begin decided; it belongs in front of the lane's first claim.
func (l *Lane) writeBegins(c *ledger.Contents) {
	for p, b := range c.Begins {
		l.writeBegin(p, b)
	}
}

func (l *Lane) writeBegin(p ledger.Partition, b ledger.Begin) {
	k := ledger.Key{Kind: ledger.KindBegin, Topic: p.Topic, Partition: p.Partition}
	l.ledger.add([]byte(k.String()), b.Encode(), nil)
}

// settleBegin writes down where mirroring begins of a partition whose begin was "at the end", as soon as a look has seen
// the end, also where the partition is stopped for another reason: each later look would see a later one, and pass over
// what came between. The record is ahead of the partition's first head.
func (l *Lane) settleBegin(p *part, at *int64) {
	if at == nil || p.begin == nil || p.begin.Offset != ledger.AtEnd {
		return
	}
	p.begin = &ledger.Begin{TopicID: p.begin.TopicID, Offset: *at}
	key := ledger.Partition{Topic: p.TP.Topic, Partition: p.TP.Partition}
	l.contents.SetBegin(key, *p.begin)
	l.writeBegin(key, *p.begin)
}

// beginsAt is the first source offset that is mirrored of a partition of which nothing is yet.
func beginsAt(h head, e ends) int64 {
	switch b := h.begin; {
	case b == nil || b.TopicID != h.info.SourceTopicID:
		return e.sourceStart
	case b.Offset == ledger.AtEnd:
		return e.sourceEnd
	default:
		// Below the log's start if retention overtook it: reading then says what was lost. Above its end if the source lost
		// records since: what comes there now is new.
		return min(b.Offset, e.sourceEnd)
	}
}
