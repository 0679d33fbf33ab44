package batch

import (
	"errors"
	"fmt"
	"math"
)

// Each calls fn for every record of v, in order, with absolute offsets and the
// timestamps that consumers see. The record's slices, and Headers itself, are
// valid during the call only. An error of fn ends it and is returned as it is;
// own errors are ErrCorrupt (CRC too), ErrUnsupported, ErrTooLarge.
func (b *Builder) Each(v View, fn func(Record) error) error {
	if err := v.known(); err != nil {
		return err
	}
	if err := v.CheckCRC(); err != nil {
		return err
	}
	plain, buf, err := b.plain(v)
	if err != nil {
		return err
	}
	defer b.putBuffer(buf)
	w := v.walk(plain)
	var f fields
	var r Record
	for {
		ok, err := w.next(&f)
		if err != nil {
			return fmt.Errorf("batch at offset %d: %w", v.BaseOffset(), err)
		}
		if !ok {
			return nil
		}
		f.decode(&r)
		r.Offset = v.BaseOffset() + int64(f.offset)
		r.Timestamp = v.BaseTimestamp() + f.timestamp
		if v.LogAppendTime() {
			r.Timestamp = v.MaxTimestamp()
		}
		if err := fn(r); err != nil {
			return err
		}
	}
}

// Each is Builder.Each with a fresh Builder, for callers that decode now and
// then.
func Each(v View, fn func(Record) error) error { return NewBuilder().Each(v, fn) }

// EachLegacy calls fn for every record of a set of v0 and v1 messages, as cut
// off by Legacy, in order, with absolute offsets; a v0 message has timestamp
// -1. next is the offset after the set. What holds for fn, and the errors, are
// as for Each; fn is not called for a set with an error. Such sets are rare, so
// it goes by way of RebuildLegacy instead of a walker of its own.
func (b *Builder) EachLegacy(set []byte, fn func(Record) error) (next int64, err error) {
	outs, next, err := b.RebuildLegacy(set, RebuildOptions{})
	defer func() {
		for _, o := range outs {
			b.Release(o)
		}
	}()
	if err != nil {
		return next, err
	}
	for _, o := range outs {
		at, used := 0, int64(0)
		err := b.Each(View(o.Bytes), func(r Record) error {
			for used == int64(o.Spans[at].Count) {
				at, used = at+1, 0
			}
			r.Offset = o.Spans[at].Offset + used
			used++
			return fn(r)
		})
		if err != nil {
			return next, err
		}
	}
	return next, nil
}

// Build makes one batch of recs, whose Offset is not looked at: deltas run
// 0..n-1. A nil slice is null on the wire. ErrTooLarge if the records take
// more than 1 GiB.
func (b *Builder) Build(recs []Record, codec Codec, s Stamp) ([]byte, error) {
	if len(recs) == 0 {
		return nil, errors.New("a batch needs a record")
	}
	if codec < None || codec > Zstd {
		return nil, fmt.Errorf("%w: write with codec %d", ErrUnsupported, codec)
	}
	a := b.assembler(framing{codec: codec}, 0)
	a.budget = math.MaxInt32 / 2
	scratch := b.buffer()
	defer b.putBuffer(scratch)
	for i := range recs {
		r := &recs[i]
		*scratch = appendBody((*scratch)[:0], r.Key, r.Value, r.Headers)
		if len(*scratch) > a.budget {
			return nil, fmt.Errorf("%w: record %d takes %d bytes", ErrTooLarge, i, len(*scratch))
		}
		if err := a.add(int64(i), r.Timestamp, 0, *scratch); err != nil {
			return nil, err
		}
	}
	if err := a.flush(int64(len(recs))); err != nil {
		return nil, err
	}
	if len(a.outs) != 1 {
		return nil, fmt.Errorf("%w: %d records take more than %d bytes", ErrTooLarge, len(recs), a.budget)
	}
	v := View(a.outs[0].Bytes)
	Patch(v, s)
	return v, nil
}

// Build is Builder.Build with a fresh Builder.
func Build(recs []Record, codec Codec, s Stamp) ([]byte, error) {
	return NewBuilder().Build(recs, codec, s)
}
