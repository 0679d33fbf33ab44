package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// HeaderSize is the length in bytes of a v2 batch without any record.
const HeaderSize = 61

// Byte positions of the header fields, see the package comment.
const (
	offLength        = 8
	offLeaderEpoch   = 12
	offMagic         = 16
	offCRC           = 17
	offAttributes    = 21
	offLastDelta     = 23
	offBaseTimestamp = 27
	offMaxTimestamp  = 35
	offProducerID    = 43
	offProducerEpoch = 51
	offSequence      = 53
	offCount         = 57

	// prefixSize is what the length field does not count: base offset and
	// the length itself.
	prefixSize = 12
)

// Attribute bits of a batch.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
	attrDeleteHorizon = 1 << 6
	attrUnknown       = ^uint16(0x7f)
)

var (
	// ErrShort means that the buffer ends before the batch does. A broker may
	// cut the last batch of a response; what is left is fetched again.
	ErrShort = errors.New("batch is cut short")
	// ErrMagic means that the next entry is a v0 or v1 message; see Legacy.
	ErrMagic = errors.New("message format is older than v2")
	// ErrCorrupt means that the bytes contradict themselves or their CRC.
	ErrCorrupt = errors.New("corrupt batch")
	// ErrUnsupported means an attribute bit or codec that we do not know.
	ErrUnsupported = errors.New("unsupported batch")
)

// Codec is the compression of a batch, numbered as in the attributes.
// NB: the values are part of the wire format.
type Codec int8

// The codecs of Kafka 4. Values 5 to 7 fit into the field and mean nothing.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String is the codec's name as in the topic configuration compression.type.
func (c Codec) String() string {
	if c < None || c > Zstd {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return [...]string{"none", "gzip", "snappy", "lz4", "zstd"}[c]
}

// View is one whole v2 batch as it came from a broker: header and records,
// nothing after it. It shares memory with the response it was cut from. All
// accessors are plain reads and assume that Next (or Build) made the View.
type View []byte

// Next cuts the first batch off buf without copying. Use it as
//
//	for len(buf) > 0 { v, rest, err := Next(buf); ...; buf = rest }
//
// Errors: ErrShort when the batch is incomplete (also for an empty buf),
// ErrMagic when a v0 or v1 message is next, ErrCorrupt when the header
// contradicts itself. On error rest is buf. The CRC is not checked.
func Next(buf []byte) (v View, rest []byte, err error) {
	if len(buf) <= offMagic {
		return nil, buf, ErrShort
	}
	length := int32(binary.BigEndian.Uint32(buf[offLength:]))
	switch magic := int8(buf[offMagic]); {
	case magic == 0 || magic == 1:
		return nil, buf, ErrMagic
	case magic != 2:
		return nil, buf, fmt.Errorf("%w: magic %d", ErrCorrupt, magic)
	}
	if length < HeaderSize-prefixSize {
		return nil, buf, fmt.Errorf("%w: length field is %d", ErrCorrupt, length)
	}
	size := int64(length) + prefixSize
	if size > int64(len(buf)) {
		return nil, buf, ErrShort
	}
	// The capacity ends with the batch, so that an append to the payload
	// cannot run into its neighbour.
	v = View(buf[:size:size])
	if v.BaseOffset() < 0 || v.BaseOffset() > math.MaxInt64-math.MaxInt32-1 || v.LastOffsetDelta() < 0 {
		return nil, buf, fmt.Errorf("%w: base offset %d, last offset delta %d", ErrCorrupt, v.BaseOffset(), v.LastOffsetDelta())
	}
	if n := v.Count(); n < 0 || int64(n) > int64(v.LastOffsetDelta())+1 {
		return nil, buf, fmt.Errorf("%w: %d records in %d offsets", ErrCorrupt, n, int64(v.LastOffsetDelta())+1)
	}
	return v, buf[size:], nil
}

func (v View) int64(at int) int64 { return int64(binary.BigEndian.Uint64(v[at:])) }
func (v View) int32(at int) int32 { return int32(binary.BigEndian.Uint32(v[at:])) }

// BaseOffset is the offset of the batch's first record when it was written;
// that record may be compacted away.
func (v View) BaseOffset() int64 { return v.int64(0) }

// LeaderEpoch is the leader epoch in which the batch was appended. It is
// outside the CRC.
func (v View) LeaderEpoch() int32 { return v.int32(offLeaderEpoch) }

// CRC is the stored CRC-32C; CheckCRC compares it.
func (v View) CRC() uint32 { return binary.BigEndian.Uint32(v[offCRC:]) }

// Attributes are the raw attribute bits.
func (v View) Attributes() uint16 { return binary.BigEndian.Uint16(v[offAttributes:]) }

// Codec is the payload's compression; 5 to 7 are not valid.
func (v View) Codec() Codec { return Codec(v.Attributes() & attrCodec) }

// Transactional tells whether the batch belongs to a transaction.
func (v View) Transactional() bool { return v.Attributes()&attrTransactional != 0 }

// Control tells whether the batch holds a transaction marker and no data.
func (v View) Control() bool { return v.Attributes()&attrControl != 0 }

// LogAppendTime tells whether MaxTimestamp, set by the broker, replaces the
// timestamp of every record.
func (v View) LogAppendTime() bool { return v.Attributes()&attrLogAppendTime != 0 }

// DeleteHorizon tells whether BaseTimestamp is the time (ms) at which the
// cleaner may remove the batch's tombstones (KIP-534). Record timestamps are
// still BaseTimestamp plus their delta.
func (v View) DeleteHorizon() bool { return v.Attributes()&attrDeleteHorizon != 0 }

// LastOffsetDelta is LastOffset less BaseOffset. Compaction keeps it.
func (v View) LastOffsetDelta() int32 { return v.int32(offLastDelta) }

// BaseTimestamp is what record timestamp deltas count from, in ms.
func (v View) BaseTimestamp() int64 { return v.int64(offBaseTimestamp) }

// MaxTimestamp is the greatest record timestamp, or the append time, in ms.
func (v View) MaxTimestamp() int64 { return v.int64(offMaxTimestamp) }

// ProducerID is -1 for a producer without idempotence.
func (v View) ProducerID() int64 { return v.int64(offProducerID) }

// ProducerEpoch is -1 for a producer without idempotence.
func (v View) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(v[offProducerEpoch:])) }

// BaseSequence is the first record's sequence number, -1 without idempotence.
func (v View) BaseSequence() int32 { return v.int32(offSequence) }

// Count is the number of records left in the batch; 0 after compaction that
// kept only the header.
func (v View) Count() int32 { return v.int32(offCount) }

// Payload is the records as stored, compressed if Codec says so.
func (v View) Payload() []byte { return v[HeaderSize:] }

// LastOffset is the offset of the last record when the batch was written.
func (v View) LastOffset() int64 { return v.BaseOffset() + int64(v.LastOffsetDelta()) }

// NextOffset is where to go on after this batch, whatever it holds.
func (v View) NextOffset() int64 { return v.LastOffset() + 1 }

// known returns ErrUnsupported for attribute bits or a codec that have no
// meaning in Kafka 4.
func (v View) known() error {
	if v.Attributes()&attrUnknown != 0 {
		return fmt.Errorf("%w: attributes %#04x at offset %d", ErrUnsupported, v.Attributes(), v.BaseOffset())
	}
	if v.Codec() > Zstd {
		return fmt.Errorf("%w: codec %d at offset %d", ErrUnsupported, v.Codec(), v.BaseOffset())
	}
	return nil
}
