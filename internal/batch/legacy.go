package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// A v0 or v1 message, big endian:
//
//	 0 offset int64   12 crc        uint32 (IEEE, of everything from magic)
//	 8 size   int32   16 magic      int8
//	                  17 attributes int8   bits 0-2 codec, 3 log append time
//	                  18 timestamp  int64  v1 only
//	then key and value, each with an int32 length, -1 for null.
//
// A compressed message is a wrapper: its value is a message set. Inner
// offsets of v0 are absolute; those of v1 count from a base so that the last
// one is the wrapper's own offset (KIP-31).
const (
	legacyCRC        = 12
	legacyAttributes = 17
	legacyFixed      = 18 // up to attributes
	legacyTimestamp  = 1 << 3
)

// message is one entry of a message set; key and value share memory with it.
type message struct {
	offset     int64
	timestamp  int64 // -1 in v0
	magic      int8
	codec      Codec
	appendTime bool
	key, value []byte
}

// Legacy cuts the leading run of v0 and v1 messages off buf, for
// RebuildLegacy. rest begins with a v2 batch, or is a message cut short, or
// empty. ErrCorrupt if a length cannot be.
func Legacy(buf []byte) (set, rest []byte, err error) {
	at := 0
	for {
		p := buf[at:]
		if len(p) <= offMagic || p[offMagic] > 1 {
			return buf[:at:at], p, nil
		}
		size := int64(int32(binary.BigEndian.Uint32(p[offLength:]))) + prefixSize
		if size < legacyFixed {
			return nil, buf, fmt.Errorf("%w: message of %d bytes", ErrCorrupt, size)
		}
		if size > int64(len(p)) {
			return buf[:at:at], p, nil
		}
		at += int(size)
	}
}

// nextMessage cuts one message off. The CRC is checked for outer messages
// only: inner ones are covered by their wrapper's.
func nextMessage(buf []byte, check bool) (m message, rest []byte, err error) {
	if len(buf) < legacyFixed {
		return m, buf, fmt.Errorf("%w: message of %d bytes", ErrCorrupt, len(buf))
	}
	size := int64(int32(binary.BigEndian.Uint32(buf[offLength:]))) + prefixSize
	if size < legacyFixed || size > int64(len(buf)) {
		return m, buf, fmt.Errorf("%w: message of %d bytes, %d left", ErrCorrupt, size, len(buf))
	}
	p, rest := buf[:size], buf[size:]
	m.offset = int64(binary.BigEndian.Uint64(p))
	m.magic = int8(p[offMagic])
	if check {
		if got, want := crc32.ChecksumIEEE(p[offMagic:]), binary.BigEndian.Uint32(p[legacyCRC:]); got != want {
			return m, buf, fmt.Errorf("%w: crc %#08x, stored %#08x, at offset %d", ErrCorrupt, got, want, m.offset)
		}
	}
	attributes := p[legacyAttributes]
	m.codec = Codec(attributes & attrCodec)
	m.appendTime = attributes&legacyTimestamp != 0
	m.timestamp = -1
	body := p[legacyFixed:]
	switch {
	case m.magic < 0 || m.magic > 1:
		return m, buf, fmt.Errorf("%w: magic %d in a message set", ErrCorrupt, m.magic)
	case attributes&^(attrCodec|legacyTimestamp) != 0 || m.magic == 0 && m.appendTime || m.codec > LZ4:
		// zstd needs v2 (KIP-110); brokers never stored it in these.
		return m, buf, fmt.Errorf("%w: message attributes %#02x at offset %d", ErrUnsupported, attributes, m.offset)
	case m.magic == 1:
		if len(body) < 8 {
			return m, buf, fmt.Errorf("%w: message of %d bytes at offset %d", ErrCorrupt, size, m.offset)
		}
		m.timestamp = int64(binary.BigEndian.Uint64(body))
		body = body[8:]
	}
	ok := false
	if m.key, body, ok = legacySpan(body); ok {
		m.value, body, ok = legacySpan(body)
	}
	if !ok || len(body) != 0 || m.offset < 0 || m.offset == math.MaxInt64 {
		return m, buf, fmt.Errorf("%w: contents of the message at offset %d", ErrCorrupt, m.offset)
	}
	return m, rest, nil
}

func legacySpan(p []byte) (s, rest []byte, ok bool) {
	if len(p) < 4 {
		return nil, p, false
	}
	n := int32(binary.BigEndian.Uint32(p))
	p = p[4:]
	if n < 0 {
		return nil, p, true
	}
	if int(n) > len(p) {
		return nil, p, false
	}
	return p[:n:n], p[n:], true
}

// legacyRun is the state of one RebuildLegacy.
type legacyRun struct {
	b    *Builder
	opt  *RebuildOptions
	a    *assembler
	body []byte // scratch for one record
	next int64
}

// RebuildLegacy writes a set of whole v0 and v1 messages, as cut off by
// Legacy, as v2 batches. A compressed wrapper keeps its codec; consecutive
// messages with one codec share outputs. A v0 message has no time, which v2
// says with timestamp -1. next is the offset after the set. Options and
// errors as for Rebuild; after an error that names a record, next is that
// record's offset.
func (b *Builder) RebuildLegacy(set []byte, opt RebuildOptions) (out []Output, next int64, err error) {
	r := legacyRun{b: b, opt: &opt}
	for rest := set; len(rest) > 0 && err == nil; {
		var m message
		m, rest, err = nextMessage(rest, true)
		switch {
		case err != nil:
		case m.codec == None:
			if err = r.use(framing{codec: None}); err == nil {
				err = r.put(m.offset, m.timestamp, &m)
			}
		default:
			err = r.unwrap(&m)
		}
	}
	if r.a == nil {
		return nil, r.next, err
	}
	if err == nil {
		err = r.a.flush(r.next)
	}
	out, err = b.finish(r.a, err)
	if at, ok := namedRecord(err); ok {
		return out, at, err
	}
	return out, r.next, err
}

// use makes sure that records go to outputs of the given form.
func (r *legacyRun) use(form framing) error {
	if r.a == nil {
		r.a = r.b.assembler(form, int(r.opt.MaxBytes))
		return nil
	}
	if r.a.form == form {
		return nil
	}
	if err := r.a.flush(r.next); err != nil {
		return err
	}
	outs := r.a.outs
	r.a = r.b.assembler(form, int(r.opt.MaxBytes))
	r.a.outs = outs
	return nil
}

func (r *legacyRun) put(offset, timestamp int64, m *message) error {
	if offset < r.next {
		return fmt.Errorf("%w: message at offset %d after %d", ErrCorrupt, offset, r.next-1)
	}
	r.body = appendBody(r.body[:0], m.key, m.value, nil)
	if err := r.opt.put(r.a, offset, timestamp, 0, r.body); err != nil {
		return err
	}
	r.next = offset + 1
	return nil
}

// unwrap moves the inner messages of a compressed one.
func (r *legacyRun) unwrap(m *message) error {
	form := framing{codec: m.codec, raw: m.codec == Snappy && !hasXerialMagic(m.value)}
	if err := r.use(form); err != nil {
		return err
	}
	src := m.value
	if m.codec == LZ4 && m.magic == 0 {
		src = repairLZ4(src)
	}
	buf := r.b.buffer()
	defer r.b.putBuffer(buf)
	inner, err := r.b.decompress((*buf)[:0], m.codec, src)
	*buf = inner
	if err != nil {
		return fmt.Errorf("decompress message at offset %d: %w", m.offset, err)
	}
	base, err := innerBase(m, inner)
	if err != nil {
		return err
	}
	for rest := inner; len(rest) > 0; {
		var in message
		if in, rest, err = nextMessage(rest, false); err != nil {
			return fmt.Errorf("inside the message at offset %d: %w", m.offset, err)
		}
		if in.codec != None || in.magic != m.magic {
			return fmt.Errorf("%w: nested or mixed message inside offset %d", ErrCorrupt, m.offset)
		}
		timestamp := in.timestamp
		if m.appendTime && r.opt.KeepAppendTime {
			timestamp = m.timestamp
		}
		if in.offset > math.MaxInt64-1-base {
			return fmt.Errorf("%w: inner offset %d at offset %d", ErrCorrupt, in.offset, m.offset)
		}
		if err := r.put(base+in.offset, timestamp, &in); err != nil {
			return err
		}
	}
	// An offset above the last inner message is a hole by compaction.
	r.next = max(r.next, m.offset+1)
	return nil
}

// innerBase is what to add to inner offsets. v0 has absolute ones. In v1 the
// wrapper's offset is the last inner message's; some librdkafka versions left
// it 0 (AbstractLegacyRecordBatch.DeepRecordsIterator does the same).
func innerBase(m *message, inner []byte) (int64, error) {
	if m.magic == 0 || m.offset == 0 {
		return 0, nil
	}
	last := int64(-1)
	for rest := inner; len(rest) > 0; {
		var in message
		var err error
		if in, rest, err = nextMessage(rest, false); err != nil {
			return 0, fmt.Errorf("inside the message at offset %d: %w", m.offset, err)
		}
		last = in.offset
	}
	if last < 0 || last > m.offset {
		return 0, fmt.Errorf("%w: wrapper offset %d, last inner offset %d", ErrCorrupt, m.offset, last)
	}
	return m.offset - last, nil
}
