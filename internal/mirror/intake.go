package mirror

import (
	"errors"
	"fmt"

	"tidemark/internal/batch"
	"tidemark/internal/events"
	"tidemark/internal/lane"
	"tidemark/offsetmap"
)

// intake turns a fetch answer into pieces, for the core to decide about. Damage and what must not be guessed ends them.
func (l *Lane) intake(e fetched) {
	p := l.parts[e.TP]
	if !e.feed.current(e.turn) || !p.core.Reads() {
		l.giveBack(e)
		return
	}
	from := offsetmap.SourceOffset(e.Offset)
	if from != p.core.Next() {
		l.giveBack(e)
		l.step(p, lane.Fetched{Offset: from}) // nobody would ask for what lies between: the core reads on
		return
	}
	p.unreadable = nil
	switch {
	case e.Diverging != nil:
		l.giveBack(e)
		l.sayOf(p, events.SourceTruncated, "leader_epoch", e.Diverging.Epoch, "end", e.Diverging.End, "mirrored_to", int64(p.core.Map().Through()))
		l.step(p, lane.Stop{Final: true, Reason: fmt.Sprintf(
			"the source log was truncated to offset %d (unclean leader election): records up to %d exist on the target only; decide which side is right", e.Diverging.End, p.core.Map().Through())})
		return
	case e.Code != 0:
		l.giveBack(e)
		l.step(p, refusal(p.TP, from, e.Code))
		return
	case e.Err != nil:
		l.giveBack(e)
		p.unreadable = e.Err
		l.step(p, lane.Unheard{})
		return
	}
	got := lane.Fetched{Offset: from, Source: lane.Seen{
		SourceStart: offsetmap.SourceOffset(e.LogStart), SourceEnd: offsetmap.SourceOffset(e.HighWatermark), SourceStable: offsetmap.SourceOffset(e.LastStable), TargetStart: -1,
	}}
	if len(e.Records) > 0 {
		buf := &buffer{feed: e.feed, free: e.Release, size: int64(len(e.Records)), refs: 1}
		defer buf.drop(l.flow)
		l.cut(p, e, buf, &got)
	}
	l.step(p, got)
}

// cut makes pieces of the records of an answer.
func (l *Lane) cut(p *part, e fetched, buf *buffer, got *lane.Fetched) {
	filter := batch.NewAbortFilter(e.Aborted)
	position := got.Offset // of the core, once it has taken the pieces so far
	until, limited := p.core.Controls().Until(position)
	records, at := e.Records, got.Offset
	for len(records) > 0 && got.Bad == "" {
		v, rest, err := batch.Next(records)
		if err != nil {
			l.odd(p, records, position, buf, err, got)
			return
		}
		if misplaced(v, at, at == p.edge || at != got.Offset, got.Source.SourceEnd) {
			got.Bad = fmt.Sprintf("damaged batch on the source at offset %d: it says that it holds offsets %d to %d", at, v.BaseOffset(), v.LastOffset())
			return
		}
		records, at = rest, offsetmap.SourceOffset(v.NextOffset())
		p.edge = at
		if at <= position {
			continue
		}
		if limited && position >= until {
			return // what is skipped by choice ends the pieces
		}
		pc, bad := l.admit(p, v, position, until, filter.Drop(v), buf)
		if bad != "" {
			got.Bad = bad
			return
		}
		got.Pieces = append(got.Pieces, pc)
		position = pc.Next
	}
}

// misplaced says whether a batch cannot be what stands at an offset. Base offsets are outside the checksum, so a damaged
// one would make us skip a part of the batch as known, or all that follows it as mirrored. Only where we did not see the
// batch before it end (edge) may one begin below the offset, as log starts and positions can be inside a batch; none
// ends there. Holes are what compaction leaves, never up to the high watermark: the last segment is not cleaned.
func misplaced(v batch.View, at offsetmap.SourceOffset, edge bool, highWatermark offsetmap.SourceOffset) bool {
	base, next := offsetmap.SourceOffset(v.BaseOffset()), offsetmap.SourceOffset(v.NextOffset())
	switch {
	case base < at && edge, next <= at:
		return true
	}
	return base > at && highWatermark >= 0 && base >= highWatermark
}

func (l *Lane) giveBack(e fetched) {
	if len(e.Records) == 0 {
		return
	}
	release(e.Fetched)
	e.feed.free(l.flow, int64(len(e.Records)))
}

// admit decides about one batch from a position on, up to an offset where that is not 0; bad is why it cannot be mirrored.
func (l *Lane) admit(p *part, v batch.View, position, until offsetmap.SourceOffset, aborted bool, buf *buffer) (pc lane.Piece, bad string) {
	action, reason := batch.Decide(v, aborted, batch.Case{
		Position: int64(position), Until: int64(until), MaxBytes: p.MaxBytes, KeepAppendTime: !p.AppendTime,
	})
	if action == batch.Halt {
		text := fmt.Sprintf("source batch at offset %d cannot be mirrored: %v", v.BaseOffset(), reason)
		if reason == batch.ReasonTooLarge {
			text += fmt.Sprintf(": it has %d bytes, %s takes %d", len(v), p.Remote, p.MaxBytes)
		}
		return pc, text
	}
	pc = lane.Piece{
		ID: l.nextID(), First: position, Next: offsetmap.SourceOffset(v.NextOffset()), Size: len(v), Count: v.Count(), Base: offsetmap.SourceOffset(v.BaseOffset()),
		LeaderEpoch: v.LeaderEpoch(), MaxTimestamp: v.MaxTimestamp(), Kind: uint8(v.Codec()) & 7, Skip: action == batch.Skip,
	}
	if until > 0 && until < pc.Next {
		pc.Next = until
		if left, err := l.flow.holds(v, position, until); err != nil {
			return pc, fmt.Sprintf("damaged batch on the source at offset %d: %v", v.BaseOffset(), err)
		} else if !left {
			pc.Skip = true
		}
	}
	pc.Alone = action != batch.Raw || len(v) >= lane.MergeBelow(pc.Kind)
	if pc.Skip {
		l.flow.counters.Skipped.Add(1)
		return pc, ""
	}
	// What goes as it is the target checks. Damage that only shows when records are packed anew would hold back what they are
	// packed with too.
	if action != batch.Raw || !pc.Alone {
		if err := v.CheckCRC(); err != nil {
			return pc, fmt.Sprintf("damaged batch on the source at offset %d: %v", v.BaseOffset(), err)
		}
	}
	buf.refs++
	p.pieces[pc.ID] = &piece{view: v, buf: buf, raw: action == batch.Raw, crop: position, until: pc.Next}
	return pc, ""
}

// odd handles bytes that are no v2 batch: a set of an older format, or damage.
func (l *Lane) odd(p *part, records []byte, position offsetmap.SourceOffset, buf *buffer, err error, got *lane.Fetched) {
	if !errors.Is(err, batch.ErrMagic) {
		got.Bad = fmt.Sprintf("damaged batch on the source after offset %d: %v", position, err)
		return
	}
	// The formats before v2 are rare and always rebuilt. v2 batches behind them in the same answer (a segment in which the
	// format changed) are fetched again.
	set, _, err := batch.Legacy(records)
	if err != nil {
		got.Bad = fmt.Sprintf("messages of an old format on the source after offset %d: %v", position, err)
		return
	}
	outs, last, err := l.flow.builder.RebuildLegacy(set, batch.RebuildOptions{Position: int64(position), MaxBytes: p.MaxBytes})
	if err != nil {
		got.Bad = fmt.Sprintf("messages of an old format on the source after offset %d: %v", position, err)
		return
	}
	next := offsetmap.SourceOffset(last)
	got.Partial = true
	for i := range outs {
		pc := lane.Piece{
			ID: l.nextID(), First: position, Next: offsetmap.SourceOffset(outs[i].Last), Size: len(outs[i].Bytes), Count: outs[i].Count,
			MaxTimestamp: outs[i].MaxTimestamp, LeaderEpoch: -1, Alone: true,
		}
		if i == len(outs)-1 {
			pc.Next = next
		}
		position = pc.Next
		buf.refs++
		p.pieces[pc.ID] = &piece{legacy: &outs[i], buf: buf}
		got.Pieces = append(got.Pieces, pc)
	}
	if len(outs) == 0 && next > position {
		got.Pieces = append(got.Pieces, lane.Piece{ID: l.nextID(), First: position, Next: next, LeaderEpoch: -1, Skip: true})
	}
}

// holds says whether a batch has records within source offsets.
func (f *Flow) holds(v batch.View, from, to offsetmap.SourceOffset) (some bool, err error) {
	err = f.builder.Each(v, func(r batch.Record) error {
		at := offsetmap.SourceOffset(r.Offset)
		some = some || from <= at && at < to
		return nil
	})
	return some, err
}

func (l *Lane) nextID() uint64 {
	l.ids++
	return l.ids
}

// prepare makes the outputs of the pieces that go as one.
func (l *Lane) prepare(p *part, ask lane.Prepare) {
	var data []*piece
	for _, id := range ask.Pieces {
		if pc := p.pieces[id]; pc != nil {
			data = append(data, pc)
			delete(p.pieces, id)
		}
	}
	next := p.core.QueuedNext(ask.N)
	outs, err := l.outputs(p, data)
	if err != nil {
		for _, pc := range data {
			pc.buf.drop(l.flow)
		}
		l.step(p, lane.Unprepared{N: ask.N, Reason: fmt.Sprintf("prepare source records before offset %d: %v", next, err)})
		return
	}
	outs[len(outs)-1].Next = next
	l.step(p, lane.Prepared{N: ask.N, Outs: outs})
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
		return []lane.Output{l.keep(p, &out{bytes: v, bufs: bufs}, v.Count(), v.MaxTimestamp(), []batch.Span{{Offset: v.BaseOffset(), Count: v.Count()}}, offsetmap.SourceOffset(v.NextOffset()))}, nil
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
		made, err = f.builder.Rebuild(views, batch.RebuildOptions{Position: int64(data[0].crop), Until: int64(data[len(data)-1].until), MaxBytes: p.MaxBytes, KeepAppendTime: !p.AppendTime})
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
		outs[i] = l.keep(p, o, made[i].Count, made[i].MaxTimestamp, made[i].Spans, offsetmap.SourceOffset(made[i].Last))
	}
	return outs, nil
}

func (l *Lane) keep(p *part, o *out, count int32, maxTimestamp int64, spans []batch.Span, next offsetmap.SourceOffset) lane.Output {
	id := l.nextID()
	p.outs[id] = o
	return lane.Output{ID: id, Count: count, Size: len(o.bytes), Spans: spans, Next: next, MaxTimestamp: maxTimestamp}
}
