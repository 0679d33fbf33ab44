package batch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Record is one record as a consumer sees it. A nil Key or Value is null on
// the wire, an empty one has length 0; the two are different in Kafka.
type Record struct {
	Offset    int64
	Timestamp int64 // ms, -1 if the record has none
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is one header of a record. Keys may repeat, their order counts.
type Header struct {
	Key   string
	Value []byte // nil is null
}

// fields is one record as the walker hands it out; body shares memory with
// the payload.
type fields struct {
	attributes byte
	nullKey    bool
	offset     int32 // delta to the base offset
	timestamp  int64 // delta to the base timestamp
	body       []byte
}

// walker steps through the plain records of one v2 batch. It checks what the
// broker checks (DefaultRecord.readFrom and the batch iterator): lengths,
// header counts, the number of records, nothing after the last one, and
// besides that offset deltas rise within the batch.
type walker struct {
	rest []byte
	left int32 // records still to come
	prev int32 // offset delta of the record before, -1 at first
	last int32 // the header's last offset delta
}

func (v View) walk(plain []byte) walker {
	return walker{rest: plain, left: v.Count(), prev: -1, last: v.LastOffsetDelta()}
}

// next fills f with the next record; false after the last one or on error.
func (w *walker) next(f *fields) (bool, error) {
	if w.left == 0 {
		if len(w.rest) != 0 {
			return false, fmt.Errorf("%w: %d bytes after the last record", ErrCorrupt, len(w.rest))
		}
		return false, nil
	}
	n, used := varint32(w.rest)
	if used == 0 || n < 0 || int(n) > len(w.rest)-used {
		return false, fmt.Errorf("%w: length of the record after offset delta %d", ErrCorrupt, w.prev)
	}
	p := w.rest[used : used+int(n)]
	if !f.parse(p) {
		return false, fmt.Errorf("%w: contents of the record after offset delta %d", ErrCorrupt, w.prev)
	}
	if f.offset <= w.prev || f.offset > w.last {
		return false, fmt.Errorf("%w: offset delta %d after %d, last is %d", ErrCorrupt, f.offset, w.prev, w.last)
	}
	w.prev = f.offset
	w.left--
	w.rest = w.rest[used+int(n):]
	return true, nil
}

// parse reads one record without its length. The body is stepped over too:
// copied unseen, a damaged one would come back as a refusal of the target.
func (f *fields) parse(p []byte) bool {
	if len(p) == 0 {
		return false
	}
	f.attributes = p[0]
	p = p[1:]
	t, n := varint64(p)
	if n == 0 {
		return false
	}
	p = p[n:]
	o, n := varint32(p)
	if n == 0 {
		return false
	}
	f.timestamp, f.offset, f.body = t, o, p[n:]

	_, null, p, ok := span(f.body)
	f.nullKey = null
	if !ok {
		return false
	}
	if _, _, p, ok = span(p); !ok {
		return false
	}
	headers, n := varint32(p)
	if n == 0 || headers < 0 {
		return false
	}
	p = p[n:]
	for range headers {
		if _, null, p, ok = span(p); !ok || null {
			return false
		}
		if _, _, p, ok = span(p); !ok {
			return false
		}
	}
	return len(p) == 0
}

// decode copies nothing: key, value and headers of r point into the body,
// which parse has checked. r.Headers is reused.
func (f *fields) decode(r *Record) {
	var p []byte
	r.Key, _, p, _ = span(f.body)
	r.Value, _, p, _ = span(p)
	n, used := varint32(p)
	p = p[used:]
	r.Headers = r.Headers[:0]
	for range n {
		var h Header
		var key []byte
		key, _, p, _ = span(p)
		h.Key = string(key)
		h.Value, _, p, _ = span(p)
		r.Headers = append(r.Headers, h)
	}
}

// span reads a varint length and that many bytes. A negative length is null,
// as in Kafka's own reader, whatever its value.
func span(p []byte) (s []byte, null bool, rest []byte, ok bool) {
	n, used := varint32(p)
	if used == 0 || int(n) > len(p)-used {
		return nil, false, nil, false
	}
	if n < 0 {
		return nil, true, p[used:], true
	}
	end := used + int(n)
	return p[used:end:end], false, p[end:], true
}

// appendSpan is the inverse of span.
func appendSpan(dst, s []byte) []byte {
	if s == nil {
		return append(dst, 1) // zigzag of -1
	}
	dst = binary.AppendVarint(dst, int64(len(s)))
	return append(dst, s...)
}

// appendBody appends what follows the offset delta of a record.
func appendBody(dst []byte, key, value []byte, headers []Header) []byte {
	dst = appendSpan(dst, key)
	dst = appendSpan(dst, value)
	dst = binary.AppendVarint(dst, int64(len(headers)))
	for _, h := range headers {
		dst = binary.AppendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendSpan(dst, h.Value)
	}
	return dst
}

// varint32 reads a zigzag varint that fits 32 bits in at most 5 bytes; n is
// 0 if there is none.
func varint32(p []byte) (v int32, n int) {
	if len(p) > 0 && p[0] < 0x80 {
		return int32(p[0]>>1) ^ -int32(p[0]&1), 1
	}
	if len(p) > 1 && p[1] < 0x80 {
		u := uint32(p[0]&0x7f) | uint32(p[1])<<7
		return int32(u>>1) ^ -int32(u&1), 2
	}
	wide, n := binary.Varint(p)
	if n <= 0 || n > 5 || wide < math.MinInt32 || wide > math.MaxInt32 {
		return 0, 0
	}
	return int32(wide), n
}

// varint64 reads a zigzag varint; n is 0 if there is none.
func varint64(p []byte) (v int64, n int) {
	if len(p) > 0 && p[0] < 0x80 {
		return int64(p[0]>>1) ^ -int64(p[0]&1), 1
	}
	return varint64Slow(p)
}

func varint64Slow(p []byte) (int64, int) {
	v, n := binary.Varint(p)
	return v, max(n, 0)
}

// varintSize is the number of bytes of the zigzag varint of v.
func varintSize(v int64) int {
	return (bits.Len64(uint64(v<<1^v>>63)|1) + 6) / 7
}
