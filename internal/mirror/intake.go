package mirror

import (
	"errors"
	"fmt"

	"tidemark/internal/batch"
	"tidemark/internal/lane"
)

// intake turns a fetch answer into pieces. Damage and what must not be guessed stops the partition at its offset.
func (l *Lane) intake(e fetched) {
	p := l.parts[e.TP]
	// Only what was asked for last and continues exactly where the core stands counts: an answer from before a restart, a
	// look or a drain would make it skip what lies between, or have it twice and wait for ever for what follows.
	switch {
	case p == nil || p.step != live || p.feed != e.feed || l.draining || !e.feed.current(e.turn):
		l.giveBack(e)
		return
	case e.Offset != p.core.Next():
		// Nobody would ask for what lies between.
		l.giveBack(e)
		l.readAgain(p, "the answer does not follow what was taken before")
		return
	}
	p.heardAt, p.unreadable = now(), nil
	p.heard = e.Code == 0 && e.Err == nil
	l.observe(p, e)
	if e.Diverging != nil {
		l.diverged(p, e.Diverging.Epoch, e.Diverging.End)
	}
	if e.Code != 0 || e.Err != nil {
		l.fetchFailed(p, e)
	}
	if len(e.Records) == 0 {
		return
	}
	buf := &buffer{feed: e.feed, free: e.Release, size: int64(len(e.Records)), refs: 1}
	defer buf.drop(l.flow)
	if p.step != live {
		return
	}
	filter := batch.NewAbortFilter(e.Aborted)
	records, at := e.Records, e.Offset
	for len(records) > 0 && p.step == live && !p.again {
		v, rest, err := batch.Next(records)
		if err != nil {
			l.odd(p, records, buf, err)
			break
		}
		if misplaced(v, at, at == p.edge || at != e.Offset, e.HighWatermark) {
			l.bad(p, fmt.Sprintf("damaged batch on the source at offset %d: it says that it holds offsets %d to %d", at, v.BaseOffset(), v.LastOffset()))
			break
		}
		records, at = rest, v.NextOffset()
		p.edge = at
		l.admit(p, v, filter.Drop(v), buf)
	}
	l.advance(p)
}

// misplaced says whether a batch cannot be what stands at an offset. Base offsets are outside the checksum, so a damaged
// one would make us skip a part of the batch as known, or all that follows it as mirrored. Only where we did not see the
// batch before it end (edge) may one begin below the offset, as log starts and positions can be inside a batch; none
// ends there. Holes are what compaction leaves, never up to the high watermark: the last segment is not cleaned.
func misplaced(v batch.View, at int64, edge bool, highWatermark int64) bool {
	switch {
	case v.BaseOffset() < at && edge, v.NextOffset() <= at:
		return true
	}
	return v.BaseOffset() > at && highWatermark >= 0 && v.BaseOffset() >= highWatermark
}

// bad stops the partition at what cannot be mirrored, once what stands in front of that is on the target.
func (l *Lane) bad(p *part, reason string) {
	if !l.frontFirst(p) {
		l.halt(p, reason, true)
	}
}

// frontFirst has what is queued go to the target before the partition is read again from there: a stop would throw it away,
// and so would each later try, whose answer brings both again. It is false where nothing is queued or on its way.
func (l *Lane) frontFirst(p *part) bool {
	if p.core.Idle() {
		return false
	}
	p.feed.stop(l.flow)
	p.again = true
	return true
}

func (l *Lane) giveBack(e fetched) {
	if len(e.Records) == 0 {
		return
	}
	release(e.Fetched)
	e.feed.free(l.flow, int64(len(e.Records)))
}

// admit decides about one batch and queues it.
func (l *Lane) admit(p *part, v batch.View, aborted bool, buf *buffer) {
	position := p.core.Next()
	if v.NextOffset() <= position {
		return
	}
	action, reason := batch.Decide(v, aborted, batch.Case{
		Position: position, MaxBytes: p.MaxBytes, KeepAppendTime: !p.AppendTime,
	})
	if action == batch.Halt {
		text := fmt.Sprintf("source batch at offset %d cannot be mirrored: %v", v.BaseOffset(), reason)
		if reason == batch.ReasonTooLarge {
			text += fmt.Sprintf(": it has %d bytes, %s takes %d", len(v), p.Remote, p.MaxBytes)
		}
		l.bad(p, text)
		return
	}
	pc := lane.Piece{
		ID: l.nextID(), First: position, Next: v.NextOffset(), Size: len(v), Count: v.Count(),
		MaxTimestamp: v.MaxTimestamp(), Kind: uint8(v.Codec()) & 7, Skip: action == batch.Skip,
	}
	pc.Alone = action != batch.Raw || len(v) >= lane.MergeBelow(pc.Kind)
	// What goes as it is the target checks. Damage that only shows when records are packed anew would hold back what they are
	// packed with too.
	if !pc.Skip && (action != batch.Raw || !pc.Alone) {
		if err := v.CheckCRC(); err != nil {
			l.bad(p, fmt.Sprintf("damaged batch on the source at offset %d: %v", v.BaseOffset(), err))
			return
		}
	}
	p.core.Map().NoteEpoch(v.LeaderEpoch(), sourceOffset(max(position, v.BaseOffset())))
	if !p.core.Accept(pc) {
		return
	}
	if pc.Skip {
		l.flow.counters.Skipped.Add(1)
		return
	}
	buf.refs++
	p.pieces[pc.ID] = &piece{view: v, buf: buf, raw: action == batch.Raw, crop: position}
}

// odd handles bytes that are no v2 batch: a set of an older format, or damage.
func (l *Lane) odd(p *part, records []byte, buf *buffer, err error) {
	if !errors.Is(err, batch.ErrMagic) {
		l.bad(p, fmt.Sprintf("damaged batch on the source after offset %d: %v", p.core.Next(), err))
		return
	}
	// The formats before v2 are rare and always rebuilt. v2 batches behind them in the same answer (a segment in which the
	// format changed) are fetched again.
	set, _, err := batch.Legacy(records)
	if err != nil {
		l.bad(p, fmt.Sprintf("messages of an old format on the source after offset %d: %v", p.core.Next(), err))
		return
	}
	outs, next, err := l.flow.builder.RebuildLegacy(set, batch.RebuildOptions{Position: p.core.Next(), MaxBytes: p.MaxBytes})
	if err != nil {
		l.bad(p, fmt.Sprintf("messages of an old format on the source after offset %d: %v", p.core.Next(), err))
		return
	}
	position := p.core.Next()
	for i := range outs {
		pc := lane.Piece{
			ID: l.nextID(), First: position, Next: outs[i].Last, Size: len(outs[i].Bytes), Count: outs[i].Count,
			MaxTimestamp: outs[i].MaxTimestamp, Alone: true,
		}
		if i == len(outs)-1 {
			pc.Next = next
		}
		position = pc.Next
		if p.core.Accept(pc) {
			buf.refs++
			p.pieces[pc.ID] = &piece{legacy: &outs[i], buf: buf}
		}
	}
	if len(outs) == 0 && next > position {
		p.core.Accept(lane.Piece{ID: l.nextID(), First: position, Next: next, Skip: true})
	}
	p.feed.start(l.flow, p.core.Next(), -1)
}

func (l *Lane) nextID() uint64 {
	l.ids++
	return l.ids
}

// prepare makes the outputs of the pieces that go as one.
func (l *Lane) prepare(p *part, ids []uint64) {
	var data []*piece
	for _, id := range ids {
		if pc := p.pieces[id]; pc != nil {
			data = append(data, pc)
			delete(p.pieces, id)
		}
	}
	next := p.core.QueuedNext(len(ids))
	outs, err := l.outputs(p, data)
	if err != nil {
		for _, pc := range data {
			pc.buf.drop(l.flow)
		}
		l.halt(p, fmt.Sprintf("prepare source records before offset %d: %v", next, err), true)
		return
	}
	outs[len(outs)-1].Next = next
	l.act(p, p.core.Prepared(len(ids), outs, now()))
}

// outputs gives the raw batch itself, or what it takes to rebuild or merge. Every output refers to all buffers of the
// group: they are few, and the bytes count against the budget until the group is settled.
func (l *Lane) outputs(p *part, data []*piece) ([]lane.Output, error) {
	f := l.flow
	bufs := make([]*buffer, len(data))
	for i, pc := range data {
		bufs[i] = pc.buf
	}
	if len(data) == 1 && data[0].raw {
		v := data[0].view
		f.counters.Raw.Add(1)
		return []lane.Output{l.keep(p, &out{bytes: v, bufs: bufs}, v.Count(), v.MaxTimestamp(), []batch.Span{{Offset: v.BaseOffset(), Count: v.Count()}}, v.NextOffset())}, nil
	}
	f.counters.Rebuilt.Add(1)
	var made []batch.Output
	if data[0].legacy != nil {
		made = []batch.Output{*data[0].legacy}
	} else {
		views := make([]batch.View, len(data))
		for i, pc := range data {
			views[i] = pc.view
		}
		var err error
		made, err = f.builder.Rebuild(views, batch.RebuildOptions{Position: data[0].crop, MaxBytes: p.MaxBytes, KeepAppendTime: !p.AppendTime})
		if err != nil {
			return nil, err
		}
		if len(made) == 0 {
			return nil, errors.New("nothing is left of a batch that holds records")
		}
	}
	outs := make([]lane.Output, len(made))
	for i := range made {
		o := &out{bytes: made[i].Bytes, rebuilt: &made[i]}
		if i == len(made)-1 {
			o.bufs = bufs
		}
		outs[i] = l.keep(p, o, made[i].Count, made[i].MaxTimestamp, made[i].Spans, made[i].Last)
	}
	return outs, nil
}

func (l *Lane) keep(p *part, o *out, count int32, maxTimestamp int64, spans []batch.Span, next int64) lane.Output {
	id := l.nextID()
	p.outs[id] = o
	return lane.Output{ID: id, Count: count, Size: len(o.bytes), Spans: spans, Next: next, MaxTimestamp: maxTimestamp}
}
