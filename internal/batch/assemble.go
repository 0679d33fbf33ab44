package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Span says which source records an output holds: Count records with
// consecutive source offsets from Offset on, which are also consecutive in
// the output. The spans of an output are in order and cover all its records.
type Span struct {
	Offset int64
	Count  int32
}

// Output is one batch ready for Patch and Produce. Its memory is its own;
// Builder.Release gives it back.
type Output struct {
	Bytes        []byte
	Count        int32
	Spans        []Span
	MaxTimestamp int64 // ms; what the lane judges "old data" by
	// Last is the source offset to go on from once this output is stored:
	// everything below it is in an output up to this one, or is no data.
	Last int64
}

// RecordTooLargeError means that one record alone does not fit into a batch
// of Limit bytes. Size is that batch's size, header included.
type RecordTooLargeError struct {
	Offset int64
	Size   int
	Limit  int
}

func (e *RecordTooLargeError) Error() string {
	return fmt.Sprintf("record at offset %d makes a batch of %d bytes, the limit is %d", e.Offset, e.Size, e.Limit)
}

// assembler collects records and cuts them into outputs. Records are written
// at once in their final plain form behind room for the header; so there is
// no object per record, and an uncompressed output needs no second copy.
type assembler struct {
	b        *Builder
	form     framing
	maxBytes int // of a whole output, 0 for no limit
	budget   int // plain bytes of one output
	spare    int // spans to expect, so that the first append suffices

	buf     *[]byte // nil between outputs; header room, then plain records
	spans   []Span
	count   int32
	base    int64 // first record's timestamp
	maxTime int64

	outs []Output
}

func (b *Builder) assembler(form framing, maxBytes int) *assembler {
	a := &assembler{b: b, form: form, maxBytes: maxBytes, budget: int(min(b.limit, math.MaxInt32/2)), spare: 1}
	if form.codec == None && maxBytes > 0 {
		a.budget = min(a.budget, max(maxBytes-HeaderSize, 1))
	}
	return a
}

// add appends one record. body starts at the key length.
func (a *assembler) add(offset, timestamp int64, attributes byte, body []byte) error {
	if a.buf == nil {
		a.start(timestamp)
	}
	size, n := a.size(timestamp, body)
	if a.count > 0 && len(*a.buf)-HeaderSize+size > a.budget {
		if err := a.flush(a.next()); err != nil {
			return err
		}
		a.start(timestamp)
		size, n = a.size(timestamp, body)
	}
	if a.form.codec == None && a.maxBytes > 0 && HeaderSize+size > a.maxBytes {
		return &RecordTooLargeError{Offset: offset, Size: HeaderSize + size, Limit: a.maxBytes}
	}
	p := binary.AppendVarint(*a.buf, int64(n))
	p = append(p, attributes)
	p = binary.AppendVarint(p, timestamp-a.base)
	p = binary.AppendVarint(p, int64(a.count))
	p = append(p, body...)
	*a.buf = p

	if last := len(a.spans) - 1; last >= 0 && a.spans[last].Offset+int64(a.spans[last].Count) == offset {
		a.spans[last].Count++
	} else {
		if a.spans == nil {
			a.spans = make([]Span, 0, a.spare)
		}
		a.spans = append(a.spans, Span{Offset: offset, Count: 1})
	}
	a.count++
	a.maxTime = max(a.maxTime, timestamp)
	return nil
}

// size is what the record takes in the batch, and its length field.
func (a *assembler) size(timestamp int64, body []byte) (size, length int) {
	n := 1 + varintSize(timestamp-a.base) + varintSize(int64(a.count)) + len(body)
	return varintSize(int64(n)) + n, n
}

func (a *assembler) start(timestamp int64) {
	a.buf = a.b.buffer()
	*a.buf = append(*a.buf, make([]byte, HeaderSize)...)
	a.spans, a.count = nil, 0
	a.base, a.maxTime = timestamp, timestamp
}

// next is the source offset after the last record added.
func (a *assembler) next() int64 {
	s := a.spans[len(a.spans)-1]
	return s.Offset + int64(s.Count)
}

// drop forgets the records added since the last output.
func (a *assembler) drop() {
	a.b.putBuffer(a.buf)
	a.buf, a.count = nil, 0
}

// flush makes an output of the records added; last is its Output.Last.
func (a *assembler) flush(last int64) error {
	if a.buf == nil || a.count == 0 {
		a.drop()
		return nil
	}
	if a.form.codec == None {
		a.emit(a.buf, None, last)
		return nil
	}
	packed := a.b.buffer()
	*packed = append(*packed, (*a.buf)[:HeaderSize]...)
	out, err := a.b.compress(*packed, a.form, (*a.buf)[HeaderSize:])
	*packed = out
	if err != nil {
		a.b.putBuffer(packed)
		return fmt.Errorf("compress with %v: %w", a.form.codec, err)
	}
	if a.maxBytes > 0 && len(out) > a.maxBytes {
		a.b.putBuffer(packed)
		return a.split(len(out), last)
	}
	a.b.putBuffer(a.buf)
	a.emit(packed, a.form.codec, last)
	return nil
}

// emit fills the header in and adds the output.
func (a *assembler) emit(buf *[]byte, c Codec, last int64) {
	v := View(*buf)
	fillHeader(v, c, a.count, a.base, a.maxTime, NoStamp())
	a.outs = append(a.outs, Output{Bytes: v, Count: a.count, Spans: a.spans, MaxTimestamp: a.maxTime, Last: last})
	a.buf, a.count = nil, 0
}

// split cuts the records added into several outputs, because together they
// compress to packed bytes, over the limit. Their plain bytes are read as a
// batch of our own making, so the source need not be decoded again.
//
// How well a part compresses is known only afterwards: take the whole's ratio
// less a tenth, at most half. A part that is still too large is split in turn.
func (a *assembler) split(packed int, last int64) error {
	plain := (*a.buf)[HeaderSize:]
	if a.count == 1 {
		// Some codecs make incompressible bytes longer, and what came in
		// under the limit has to go out.
		if HeaderSize+len(plain) > a.maxBytes {
			err := &RecordTooLargeError{Offset: a.spans[0].Offset, Size: min(packed, HeaderSize+len(plain)), Limit: a.maxBytes}
			a.drop()
			return err
		}
		a.emit(a.buf, None, last)
		return nil
	}
	sub := a.b.assembler(a.form, a.maxBytes)
	sub.budget = int(int64(len(plain)) * int64(a.maxBytes) / int64(packed) * 9 / 10)
	sub.budget = max(min(sub.budget, len(plain)/2), 1)
	sub.spare = len(a.spans)

	w := walker{rest: plain, left: a.count, prev: -1, last: a.count - 1}
	err := a.resplit(sub, &w, last)
	a.outs = append(a.outs, sub.outs...)
	a.drop()
	return err
}

// resplit moves all records from w, which reads a's own, to sub.
func (a *assembler) resplit(sub *assembler, w *walker, last int64) error {
	var f fields
	for _, s := range a.spans {
		for i := range s.Count {
			if ok, err := w.next(&f); err != nil || !ok {
				return fmt.Errorf("split own records: %w", err)
			}
			if err := sub.add(s.Offset+int64(i), a.base+f.timestamp, f.attributes, f.body); err != nil {
				sub.drop()
				return err
			}
		}
	}
	return sub.flush(last)
}

// fillHeader writes all header fields of a batch of ours, and its CRC.
func fillHeader(v View, c Codec, count int32, base, maxTime int64, s Stamp) {
	be := binary.BigEndian
	be.PutUint64(v, 0)
	be.PutUint32(v[offLength:], uint32(len(v)-prefixSize))
	be.PutUint32(v[offLeaderEpoch:], ^uint32(0))
	v[offMagic] = 2
	be.PutUint16(v[offAttributes:], uint16(c))
	be.PutUint32(v[offLastDelta:], uint32(count-1))
	be.PutUint64(v[offBaseTimestamp:], uint64(base))
	be.PutUint64(v[offMaxTimestamp:], uint64(maxTime))
	be.PutUint64(v[offProducerID:], uint64(s.ProducerID))
	be.PutUint16(v[offProducerEpoch:], uint16(s.Epoch))
	be.PutUint32(v[offSequence:], uint32(s.Sequence))
	be.PutUint32(v[offCount:], uint32(count))
	v.seal()
}
