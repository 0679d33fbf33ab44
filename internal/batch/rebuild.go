package batch

import (
	"errors"
	"fmt"
	"slices"
)

// ErrMixed means that batches with different codecs were to be merged.
var ErrMixed = errors.New("batches differ in codec")

// RebuildOptions say how records are written again.
type RebuildOptions struct {
	// Position is the first source offset wanted; records below it are left
	// out.
	Position int64
	// Until is the first source offset that is not wanted, 0 for none.
	Until int64
	// MaxBytes is the target's max.message.bytes: no output, header included,
	// is larger. 0 means no limit.
	MaxBytes int32
	// KeepAppendTime gives records of LogAppendTime batches the append time
	// as timestamp, which is what consumers of the source see. False leaves
	// the producer's time; right only if the target stamps records itself.
	KeepAppendTime bool
}

// Rebuild writes the records of consecutive source batches again, as one
// output or, where MaxBytes demands it, several. Holes in the offsets close,
// and show in the spans. Control and aborted batches must have been left out
// by the caller; holes between batches are fine. Outputs carry no producer
// identity; Patch gives them one. No output at all means that no record was
// wanted; go on at the last batch's NextOffset.
//
// Errors: ErrCorrupt (CRC or contents of a source batch), ErrUnsupported,
// ErrTooLarge, ErrMixed, *RecordTooLargeError. With the last
// the outputs hold every record before the one named, so that the caller
// may store those and then apply a policy to that record; with all others
// there are no outputs.
func (b *Builder) Rebuild(in []View, opt RebuildOptions) ([]Output, error) {
	if len(in) == 0 {
		return nil, nil
	}
	form := framing{}
	if i := slices.IndexFunc(in, func(v View) bool { return v.Count() > 0 }); i >= 0 {
		form = in[i].framing()
	}
	a := b.assembler(form, int(opt.MaxBytes))
	a.spare = len(in)
	next := in[0].BaseOffset()
	for _, v := range in {
		err := v.rebuildable(next)
		if err == nil && v.Codec() != form.codec && v.Count() > 0 {
			err = fmt.Errorf("%w: %v and %v", ErrMixed, form.codec, v.Codec())
		}
		if err == nil {
			err = b.feed(a, v, &opt)
		}
		if err != nil {
			return b.finish(a, err)
		}
		next = v.NextOffset()
	}
	return b.finish(a, a.flush(next))
}

// rebuildable checks what must hold before v is decoded and its checksum
// given up (B3).
func (v View) rebuildable(next int64) error {
	if err := v.known(); err != nil {
		return err
	}
	if v.Control() {
		return fmt.Errorf("%w: control batch at offset %d is no data", ErrUnsupported, v.BaseOffset())
	}
	if v.BaseOffset() < next {
		return fmt.Errorf("%w: batch at offset %d after %d", ErrCorrupt, v.BaseOffset(), next-1)
	}
	return v.CheckCRC()
}

// feed moves the wanted records of v to a.
func (b *Builder) feed(a *assembler, v View, opt *RebuildOptions) error {
	plain, buf, err := b.plain(v)
	if err != nil {
		return err
	}
	defer b.putBuffer(buf)

	appendTime := v.LogAppendTime() && opt.KeepAppendTime
	base := v.BaseOffset()
	w := v.walk(plain)
	var f fields
	for {
		ok, err := w.next(&f)
		if err != nil {
			return fmt.Errorf("batch at offset %d: %w", base, err)
		}
		if !ok {
			return nil
		}
		offset := base + int64(f.offset)
		timestamp := v.BaseTimestamp() + f.timestamp
		if appendTime {
			timestamp = v.MaxTimestamp()
		}
		if err := opt.put(a, offset, timestamp, f.attributes, f.body); err != nil {
			return err
		}
	}
}

// put applies the per-record options.
func (o *RebuildOptions) put(a *assembler, offset, timestamp int64, attributes byte, body []byte) error {
	if offset < o.Position || o.Until > 0 && offset >= o.Until {
		return nil
	}
	return a.add(offset, timestamp, attributes, body)
}

// namedRecord is the offset in an error that is about one record only.
func namedRecord(err error) (offset int64, ok bool) {
	if large, ok := errors.AsType[*RecordTooLargeError](err); ok {
		return large.Offset, true
	}
	return 0, false
}

// finish returns the outputs. After an error about a single record those
// before it are complete and worth storing; after any other they are not
// trusted, since a batch that lies in one place may lie in another.
func (b *Builder) finish(a *assembler, err error) ([]Output, error) {
	at, named := namedRecord(err)
	if named {
		// What was added before that record may hold one that compresses
		// to too much, which then is the first and the one to name.
		if again := a.flush(at); again != nil {
			err = again
			at, named = namedRecord(err)
		}
	}
	switch n := len(a.outs); {
	case err == nil:
	case !named:
		a.drop()
		for _, o := range a.outs {
			b.Release(o)
		}
		return nil, err
	case n > 0:
		a.outs[n-1].Last = at
	}
	return a.outs, err
}
