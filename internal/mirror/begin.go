package mirror

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tidemark/internal/events"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/offsetmap"
)

// begin gives the lane where its partitions begin, of a flow that was told to begin at the end (Settings.FromEnd), at the
// lane's first take-over: as the flow's first start has it, however long ago that was. What appeared since is newer than
// the flow and is mirrored whole.
//
// The flow's first start is one set of records for all lanes, in the ledger partition of lane 0, whose owner writes them
// before its claim; the other lanes wait for them. Each lane deciding at its own first take-over was tried: a flow killed
// in between began later in the lanes that were left, and took what came meanwhile for old. A place of its own for the
// records was rejected: it has no owner, so nothing fences a late writer of it.
//
// The begins are written before the claim too (writeBegins): a crash before the claim's acknowledgement leaves a lane that
// was never taken over, and offsets that stand in the ledger by then are kept; after it, nothing that is produced can be
// passed over. Deciding at a partition's first head instead was rejected: a partition without a head can be new as well as
// old.
func (l *Lane) begin(ctx context.Context, c *ledger.Contents, how lane.Handover) error {
	if !l.flow.FromEnd {
		return nil
	}
	begins, ok := c.Started()
	if l.n == 0 && !ok && len(c.StartDamage()) == 0 {
		if err := l.firstStart(ctx, c); err != nil {
			return err
		}
		begins, _ = c.Started()
	}
	if how != lane.First {
		return nil
	}
	if begins == nil {
		var err error
		if begins, err = l.flow.started(ctx); err != nil {
			return err
		}
	}
	for p, b := range begins {
		if ledger.LaneOf(p.Topic, p.Partition, l.flow.Lanes) != l.n {
			continue
		}
		if was, ok := c.Begins[p]; !ok || was.TopicID != b.TopicID {
			c.SetBegin(p, b)
		}
	}
	return nil
}

// firstStart looks at every partition that the source has now, those that the flow does not select too, so that they begin
// at their end when it selects them later.
func (l *Lane) firstStart(ctx context.Context, c *ledger.Contents) error {
	l.flow.mu.Lock()
	existing, selected := l.flow.existing, l.flow.partitions
	l.flow.mu.Unlock()
	var asked []partition.ID
	for tp := range existing {
		if _, ok := selected[tp]; ok {
			asked = append(asked, tp)
		}
	}
	start, end, err := l.firstEnds(ctx, asked)
	if err != nil {
		return err
	}
	topics := map[string]ledger.StartTopic{}
	for tp, id := range existing {
		from, knowsStart := start[tp]
		at, knowsEnd := end[tp]
		switch {
		case !knowsStart || !knowsEnd:
			at = ledger.AtEnd
		case from == at:
			at = ledger.FromOldest
		}
		t := topics[tp.Topic]
		t.TopicID = id
		for int(tp.Partition) >= len(t.Offsets) {
			t.Offsets = append(t.Offsets, ledger.AtEnd)
		}
		t.Offsets[tp.Partition] = at
		topics[tp.Topic] = t
	}
	c.SetStart(ledger.Start{ProducerID: l.id.ProducerID, Epoch: l.id.Epoch, At: time.Now()}, topics)
	l.firstStarts = true
	l.flow.say(events.FirstStart, "partitions", len(asked))
	return nil
}

// firstEnds asks for both ends of partitions until each has told them: what comes to one before that would be passed over,
// and a leader that was just elected refuses for a moment. What cannot be asked for long (no leader, access denied) has
// its end taken when it is first looked at.
func (l *Lane) firstEnds(ctx context.Context, tps []partition.ID) (start, end map[partition.ID]offsetmap.SourceOffset, err error) {
	start, end = map[partition.ID]offsetmap.SourceOffset{}, map[partition.ID]offsetmap.SourceOffset{}
	for tries := 1; len(tps) > 0; tries++ {
		from, failedFrom := offsets[offsetmap.SourceOffset](ctx, l.flow.source, tps, -2, false)
		to, failedTo := offsets[offsetmap.SourceOffset](ctx, l.flow.source, tps, -1, l.flow.Committed)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var left []partition.ID
		for _, tp := range tps {
			if failedFrom[tp] != nil || failedTo[tp] != nil {
				left = append(left, tp)
				continue
			}
			start[tp], end[tp] = from[tp], to[tp]
		}
		tps = left
		if len(tps) > 0 && tries == firstTries {
			l.say(events.FirstStartAway, "partitions", len(tps), "one", tps[0].String(), "error", cmp.Or(failedFrom[tps[0]], failedTo[tps[0]]))
			break
		}
		if len(tps) > 0 {
			if !pause.For(ctx, startEvery) {
				return nil, nil, ctx.Err()
			}
		}
	}
	return start, end, nil
}

// firstTries is how often the source is asked for the ends of its partitions: for ten seconds, which a new leader needs at
// most, or longer where it does not answer.
const firstTries = 100

// started waits until lane 0 has written the flow's first start, by this worker or another, and gives its begins. One lane
// looks for all of this process; none waits for another's look, because a lane must be able to end at any time.
func (f *Flow) started(ctx context.Context) (map[partition.ID]ledger.Begin, error) {
	for tries := 1; ; tries++ {
		begins, err := f.lookForStart(ctx)
		if begins != nil || err != nil {
			return begins, err
		}
		if tries == startWarnAfter {
			f.say(events.FirstStartWaits)
		}
		if !pause.For(ctx, startEvery) {
			return nil, ctx.Err()
		}
	}
}

func (f *Flow) lookForStart(ctx context.Context) (map[partition.ID]ledger.Begin, error) {
	if !f.startMu.TryLock() {
		return nil, nil //nolint:nilnil // another lane is looking
	}
	defer f.startMu.Unlock()
	if f.begins != nil {
		return f.begins, nil
	}
	c, err := f.readLedger(ctx, partition.ID{Topic: f.Ledger, Partition: 0})
	if err != nil {
		return nil, fmt.Errorf("where the flow began: %w", err)
	}
	if d := c.StartDamage(); len(d) > 0 {
		return nil, fmt.Errorf("where the flow began is not known: ledger record %s at offset %d of %s-0 is damaged (%w); docs/stopped.md says what to do", d[0].Key, d[0].Offset, f.Ledger, d[0].Err)
	}
	f.begins, _ = c.Started()
	return f.begins, nil
}

// startEvery is how often lanes look for the flow's first start, which lane 0 writes within its take-over. They say that
// they wait after startWarnAfter looks.
const (
	startEvery     = 100 * time.Millisecond
	startWarnAfter = 100
)

// writeBegins queues what begin decided; it belongs in front of the lane's claim.
func (l *Lane) writeBegins(c *ledger.Contents, how lane.Handover) {
	if l.firstStarts {
		for name, t := range c.StartTopics {
			l.ledger.add([]byte(ledger.Key{Kind: ledger.KindStartTopic, Topic: name}.String()), t.Encode(), nil)
		}
		l.ledger.add([]byte(ledger.Key{Kind: ledger.KindStart}.String()), c.Start.Encode(), nil)
	}
	if how != lane.First {
		return
	}
	for p, b := range c.Begins {
		l.writeBegin(p, b)
	}
}

func (l *Lane) writeBegin(p partition.ID, b ledger.Begin) {
	k := ledger.Key{Kind: ledger.KindBegin, Topic: p.Topic, Partition: p.Partition}
	l.ledger.add([]byte(k.String()), b.Encode(), nil)
}

// settleBegin writes down where mirroring begins of a partition whose begin was "at the end", as soon as a look has seen
// the end, also where the partition is stopped for another reason: each later look would see a later one, and pass over
// what came between. The record is ahead of the partition's first head.
func (l *Lane) settleBegin(p *part, at *offsetmap.SourceOffset) {
	if at == nil || p.begin == nil || p.begin.Offset != ledger.AtEnd {
		return
	}
	p.begin = &ledger.Begin{TopicID: p.begin.TopicID, Offset: *at}
	l.contents.SetBegin(p.TP, *p.begin)
	l.writeBegin(p.TP, *p.begin)
}
