package mirror

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"tidemark/internal/batch"
	"tidemark/internal/lane"
	"tidemark/offsetmap"
)

// settle finds out how far the target's tail beyond the map reaches on the source, and what the source lost meanwhile.
// It runs in a job and owns the map until its answer is posted.
func (f *Flow) settle(ctx context.Context, h head, id lane.Identity, o opened) opened {
	if h.m == nil {
		return o
	}
	// Before the tail is aligned: that adds epochs of what it found, and a truncation below the anchor would be judged by
	// them.
	if reason, err := f.truncated(ctx, h, o); err != nil || reason != "" {
		o.reason, o.err = reason, err
		return o
	}
	if !h.reopen && o.tailEnd > int64(h.m.TargetEnd()) {
		if err := f.settleTail(ctx, h, id, &o); err != nil {
			o.err = err
			return o
		}
		if o.reason != "" {
			return o
		}
	}
	if through := int64(o.m.Through()); o.sourceStart > through {
		o.lost = o.sourceStart - through
		if err := o.m.Lose(offsetmap.SourceOffset(o.sourceStart), o.lost); err != nil {
			o.reason = err.Error()
		}
	}
	return o
}

// truncated says whether the source's log no longer holds what was mirrored from it.
func (f *Flow) truncated(ctx context.Context, h head, o opened) (string, error) {
	through := int64(o.m.Through())
	say := func(end int64) string {
		return fmt.Sprintf("the source log was truncated to offset %d (unclean leader election, or the topic was re-created): records up to %d exist on the target only; decide which side is right", end, through)
	}
	if o.sourceEnd < through && o.sourceEnd >= 0 && !f.Committed {
		return say(o.sourceEnd), nil
	}
	last := o.m.LastEpoch()
	if last < 0 {
		return "", nil
	}
	epoch, end, err := f.source.OffsetsForEpoch(ctx, h.info.TP, -1, last)
	if err != nil {
		return "", err
	}
	if epoch >= 0 && end >= 0 && end < through {
		return say(end), nil
	}
	return "", nil
}

// errEnough ends a scan that has seen what it needs.
var errEnough = errors.New("enough")

// settleTail reads the tail of the target and aligns it with the source.
func (f *Flow) settleTail(ctx context.Context, h head, id lane.Identity, o *opened) error {
	anchor := int64(h.m.TargetEnd())
	hash := newHasher()
	t := lane.NewTail(anchor, o.tailEnd, h.former.Epoch, h.former.Sequence)
	err := f.targetNet.Scan(ctx, h.info.remoteTP(), max(anchor, o.targetStart), o.tailEnd, 0, func(v batch.View, _ bool) error {
		l := landedFrom(v, v.BaseOffset(), h.former.ProducerID, id.ProducerID)
		index, err := t.Add(l)
		if err != nil || !l.Ours {
			return err
		}
		return f.builder.Each(v, func(r batch.Record) error {
			t.Record(lane.TailRecord{Target: r.Offset, Index: index + r.Offset - v.BaseOffset(), Hash: hash.record(r), Key: hash.key(r.Key), Ours: true})
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("read the tail of %s beyond offset %d: %w", h.info.remoteTP(), anchor, err)
	}
	in := t.Input(h.m, lane.Ends{
		SourceStart: o.sourceStart, SourceEnd: o.sourceEnd, TargetStart: o.targetStart, SourceCompacts: h.info.SourceCompacts, TargetCompacts: h.info.TargetCompacts,
	})
	var epochs []offsetmap.EpochStart
	if in.Count != 0 {
		for again := true; again; {
			var s *lane.Survivors
			if s, err = f.survivors(ctx, h, hash, in); err != nil {
				return err
			}
			in, again = s.Revise(in)
			in.Source, epochs = s.Records(), s.Epochs()
		}
	}
	a, err := t.Settle(o.m, in, epochs)
	switch {
	case err != nil:
		o.reason = "offset map: " + err.Error()
	case a.Mismatch != nil:
		o.reason = fmt.Sprintf("the target's tail beyond offset %d does not follow from the source beyond offset %d: %v", anchor, in.Through, a.Mismatch)
	}
	o.inexact = a.Duplicates
	return nil
}

// landedFrom is a batch of the target from one of its offsets on; pids are those that are ours.
func landedFrom(v batch.View, from int64, pids ...int64) lane.Landed {
	return lane.Landed{
		Base: from, Count: v.NextOffset() - from, Ours: slices.Contains(pids, v.ProducerID()) && !v.Control(), Marker: v.Control(),
		Epoch: v.ProducerEpoch(), Sequence: v.BaseSequence(),
	}
}

// survivors reads what the source still holds from the map's end on.
func (f *Flow) survivors(ctx context.Context, h head, hash *hasher, in lane.AlignInput) (*lane.Survivors, error) {
	s := lane.NewSurvivors(in)
	var isolation int8
	if f.Committed {
		isolation = 1
	}
	take := func(r batch.Record) error {
		s.Record(lane.SourceRecord{Offset: r.Offset, Hash: hash.record(r), Key: hash.key(r.Key), Tombstone: r.Value == nil})
		return nil
	}
	enough := func(err error) error {
		if err == nil && s.Enough() {
			return errEnough
		}
		return err
	}
	err := f.sourceNet.ScanOld(ctx, h.info.TP, s.From(), in.SourceEnd, isolation, func(v batch.View, aborted bool) error {
		b := lane.SourceBatch{Base: v.BaseOffset(), Next: v.NextOffset(), LeaderEpoch: v.LeaderEpoch(), Count: v.Count(), Blank: v.Control() || aborted}
		if !s.Batch(b) {
			return nil
		}
		return enough(f.builder.Each(v, take))
	}, func(set []byte) (int64, error) {
		next, err := f.builder.EachLegacy(set, take)
		return next, enough(err)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read %s from offset %d to find what is mirrored: %w", h.info.TP, s.From(), err)
	}
	return s, nil
}

// hasher compares records by content within one process run.
type hasher struct{ seed maphash.Seed }

func newHasher() *hasher { return &hasher{seed: maphash.MakeSeed()} }

func (h *hasher) key(k []byte) uint64 {
	if k == nil {
		return 0
	}
	return maphash.Bytes(h.seed, k) | 1
}

// record leaves the timestamp out: a target topic that stamps records itself changes it.
func (h *hasher) record(r batch.Record) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	part := func(b []byte) {
		var n [8]byte
		size := int64(len(b))
		if b == nil {
			size = -1
		}
		binary.BigEndian.PutUint64(n[:], uint64(size))
		m.Write(n[:])
		m.Write(b)
	}
	part(r.Key)
	part(r.Value)
	for _, hd := range r.Headers {
		part([]byte(hd.Key))
		part(hd.Value)
	}
	return m.Sum64()
}
