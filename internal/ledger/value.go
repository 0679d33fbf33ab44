package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Version is the value format that this build writes, and the only one that it reads.
const Version = 1

// ErrVersion says that a value was written by a newer (or foreign) build. The ledger partition that holds it must not
// be taken over by this one.
var ErrVersion = errors.New("unknown ledger format version")

// ErrDamaged says that a value fails its checksum or cannot be decoded.
var ErrDamaged = errors.New("damaged ledger record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal wraps a payload as version, payload, CRC.
func seal(payload []byte) []byte {
	out := make([]byte, 0, len(payload)+5)
	out = append(out, Version)
	out = append(out, payload...)
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// open checks and unwraps a value. The version is looked at before the checksum, because a newer format may place its
// checksum elsewhere and must be reported as newer, not as damaged.
func open(value []byte) ([]byte, error) {
	if len(value) < 5 {
		return nil, fmt.Errorf("%w: %d bytes are less than a version and a checksum", ErrDamaged, len(value))
	}
	if value[0] != Version {
		return nil, fmt.Errorf("%w %d (this build reads version %d)", ErrVersion, value[0], Version)
	}
	body, sum := value[:len(value)-4], binary.BigEndian.Uint32(value[len(value)-4:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, fmt.Errorf("%w: checksum %08x, stored %08x", ErrDamaged, got, sum)
	}
	return body[1:], nil
}

// writer appends the primitive fields of a payload: zig-zag varints and length-prefixed bytes.
type writer struct{ b []byte }

func (w *writer) int(v int64) { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) bytes(v []byte) {
	w.b = binary.AppendUvarint(w.b, uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) str(v string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) bool(v bool) {
	if v {
		w.int(1)
		return
	}
	w.int(0)
}

// reader is the inverse of writer. The first failure sticks; done reports it.
type reader struct {
	b   []byte
	err error
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(cutShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// narrow reads a number that must fit into its type. Cut off, epoch 65537 would be epoch 1, and somebody else's.
func narrow[T int16 | int32 | State | Isolation](r *reader) T {
	v := r.int()
	if int64(T(v)) != v {
		r.fail(outOfRange)
		return 0
	}
	return T(v)
}

func (r *reader) bytes() []byte {
	n, used := binary.Uvarint(r.b)
	if used <= 0 || n > uint64(len(r.b)-used) {
		r.fail(cutShort)
		return nil
	}
	v := r.b[used : used+int(n)]
	r.b = r.b[used+int(n):]
	return v
}

func (r *reader) str() string { return string(r.bytes()) }
func (r *reader) bool() bool  { return r.int() != 0 }

func (r *reader) id() (id [16]byte) {
	if b := r.bytes(); len(b) != len(id) || copy(id[:], b) != len(id) {
		r.fail("a topic id is not of 16 bytes")
	}
	return id
}

// What is wrong with a field.
const (
	cutShort   = "a field is cut short"
	outOfRange = "a number is out of range"
)

func (r *reader) fail(why string) {
	r.b = nil
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrDamaged, why)
	}
}

func (r *reader) done() error {
	if r.err == nil && len(r.b) != 0 {
		r.err = fmt.Errorf("%w: %d bytes after the last field", ErrDamaged, len(r.b))
	}
	return r.err
}
