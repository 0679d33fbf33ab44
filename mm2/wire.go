package mm2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrTombstone says that the value is null: whoever wrote it deletes the key. The
// key fields of the record that comes with it are set. MirrorMaker 2 never writes
// one, and its own readers fail on it.
var ErrTombstone = errors.New("null value: the key is deleted")

// A FormatError says that bytes are no record of this kind, or that a record
// cannot be written as such bytes. Readers skip the record.
type FormatError struct {
	Record string // "offset sync", "checkpoint" or "heartbeat"
	Field  string // the first field in trouble, as in the package doc
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed %s: %s: %s", e.Record, e.Field, e.Reason)
}

// A VersionError says that a value has a format version this package does not
// know. Readers skip the record: a later layout read as version 0 gives numbers
// that look right and are not.
type VersionError struct {
	Record  string
	Version int16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s of unknown version %d, known is 0", e.Record, e.Version)
}

const version0 = int16(0)

// appendString appends an INT16 length and the bytes of s, which must be at most
// 32767 long: check does that first.
func appendString(dst []byte, s string) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}

func appendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

func appendInt32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

func appendInt16(dst []byte, v int16) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(v))
}

// checkString refuses what no STRING can hold.
func checkString(record, field, s string) error {
	if len(s) > math.MaxInt16 {
		return &FormatError{record, field, fmt.Sprintf("%d bytes, at most %d fit", len(s), math.MaxInt16)}
	}
	return nil
}

// checkNumber refuses a negative offset or partition. No version of MirrorMaker 2
// writes one on purpose, and a reader that believed one would commit it.
func checkNumber(record, field string, v int64) error {
	if v < 0 {
		return &FormatError{record, field, fmt.Sprintf("%d is negative", v)}
	}
	return nil
}

// first gives the first error that is not nil. errors.Join would name the check of
// a zero value beside the short buffer that caused it.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A reader takes fields off buf in order. The first failure sticks in err, so that
// a parser can be written as a list of fields.
type reader struct {
	record string
	buf    []byte
	err    error
}

func (r *reader) take(field string, n int) []byte {
	if r.err != nil {
		return nil
	}
	if len(r.buf) < n {
		r.err = &FormatError{r.record, field, fmt.Sprintf("%d bytes left, %d needed", len(r.buf), n)}
		return nil
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b
}

func (r *reader) int16(field string) int16 {
	b := r.take(field, 2)
	if b == nil {
		return 0
	}
	return int16(binary.BigEndian.Uint16(b))
}

func (r *reader) int32(field string) int32 {
	b := r.take(field, 4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (r *reader) int64(field string) int64 {
	b := r.take(field, 8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (r *reader) string(field string) string {
	n := r.int16(field)
	if r.err == nil && n < 0 {
		r.err = &FormatError{r.record, field, fmt.Sprintf("length %d is negative", n)}
	}
	if r.err != nil {
		return ""
	}
	return string(r.take(field, int(n)))
}

// version refuses any format version but 0.
func (r *reader) version() {
	v := r.int16("version")
	if r.err == nil && v != version0 {
		r.err = &VersionError{r.record, v}
	}
}

// keyReader begins a key. A null key is malformed: there is nothing to delete.
func keyReader(record string, key []byte) *reader {
	r := &reader{record: record, buf: key}
	if key == nil {
		r.err = &FormatError{record, "key", "null"}
	}
	return r
}

// valueReader begins a value; r.err is ErrTombstone when it is null.
func valueReader(record string, value []byte) *reader {
	r := &reader{record: record, buf: value}
	if value == nil {
		r.err = ErrTombstone
	}
	return r
}
