package testcluster

import (
	"bytes"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sequenceHeader carries the number of a record whose value cannot: a tombstone.
const sequenceHeader = "seq"

// Value makes the value of record seq: "seq=17|" and a payload that depends on
// seq only, size bytes in all (more where the number needs them). The payload
// compresses to about a third, as JSON does.
func Value(seq int64, size int) []byte {
	b := append(make([]byte, 0, size), "seq="...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, '|')
	x := uint64(seq)*0x9e3779b97f4a7c15 + 1
	for len(b) < size {
		x ^= x << 13 // xorshift: cheap, and the same on every run
		x ^= x >> 7
		x ^= x << 17
		b = append(b, `,"field":"`...)
		b = strconv.AppendUint(b, x&0xffffffff, 36)
	}
	if len(b) > size && bytes.IndexByte(b, '|') < size {
		b = b[:size]
	}
	return b
}

// SeqOf reads the sequence number out of a value made by [Value]. ok is false
// for values that this package has not made.
func SeqOf(value []byte) (seq int64, ok bool) {
	rest, found := bytes.CutPrefix(value, []byte("seq="))
	if !found {
		return 0, false
	}
	digits, _, found := bytes.Cut(rest, []byte("|"))
	if !found {
		return 0, false
	}
	seq, err := strconv.ParseInt(string(digits), 10, 64)
	return seq, err == nil
}

// Seq is the sequence number of a record: the one in its value, or in its
// header "seq" for tombstones.
func (r Rec) Seq() (seq int64, ok bool) { return seqOf(r.Value, r.Headers) }

// SeqOfRecord is the sequence number of a record as kgo delivers it.
func SeqOfRecord(r *kgo.Record) (seq int64, ok bool) { return seqOf(r.Value, r.Headers) }

func seqOf(value []byte, headers []kgo.RecordHeader) (int64, bool) {
	if seq, ok := SeqOf(value); ok {
		return seq, true
	}
	for _, h := range headers {
		if h.Key == sequenceHeader {
			seq, err := strconv.ParseInt(string(h.Value), 10, 64)
			return seq, err == nil
		}
	}
	return 0, false
}
