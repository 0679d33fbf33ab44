package batch

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// source describes a batch as a source broker would hold it. Its bytes are
// made by franz-go's own encoder and compressors, so that the tests do not ask
// this package about itself.
type source struct {
	base      int64 // 0 takes the first record's offset
	lastDelta int32 // 0 takes the last record's
	codec     Codec
	attrs     uint16
	baseTime  int64
	maxTime   int64 // 0 takes the greatest
	stamp     Stamp
	records   []Record
}

var allCodecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

// reporter is what helpers need of testing.T, testing.F and rapid.T alike.
type reporter interface {
	Helper()
	Fatalf(string, ...any)
}

// kgoCompress is what a franz-go producer would write.
func kgoCompress(t reporter, c Codec, plain []byte) []byte {
	if c == None {
		return plain
	}
	choice := map[Codec]kgo.CompressionCodec{
		Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression(),
	}[c]
	comp, err := kgo.DefaultCompressor(choice)
	if err != nil {
		t.Fatalf("compressor: %v", err)
	}
	out, used := comp.Compress(new(bytes.Buffer), plain)
	if Codec(used) != c {
		t.Fatalf("franz-go used codec %d, want %v", used, c)
	}
	return bytes.Clone(out)
}

func (s source) plain() []byte {
	var plain []byte
	for _, r := range s.records {
		k := kmsg.Record{
			TimestampDelta64: r.Timestamp - s.baseTime,
			OffsetDelta:      int32(r.Offset - s.base),
			Key:              r.Key,
			Value:            r.Value,
		}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
		}
		k.Length = int32(len(k.AppendTo(nil)) - 1)
		plain = k.AppendTo(plain)
	}
	return plain
}

func (s source) view(t reporter) View {
	if s.base == 0 && len(s.records) > 0 {
		s.base = s.records[0].Offset
	}
	if n := len(s.records); n > 0 {
		if s.lastDelta == 0 {
			s.lastDelta = int32(s.records[n-1].Offset - s.base)
		}
		if s.baseTime == 0 {
			s.baseTime = s.records[0].Timestamp
		}
		if s.maxTime == 0 {
			s.maxTime = s.records[0].Timestamp
			for _, r := range s.records {
				s.maxTime = max(s.maxTime, r.Timestamp)
			}
		}
	}
	if s.stamp == (Stamp{}) {
		s.stamp = NoStamp()
	}
	k := kmsg.RecordBatch{
		FirstOffset:          s.base,
		PartitionLeaderEpoch: 7,
		Magic:                2,
		Attributes:           int16(s.attrs | uint16(s.codec)),
		LastOffsetDelta:      s.lastDelta,
		FirstTimestamp:       s.baseTime,
		MaxTimestamp:         s.maxTime,
		ProducerID:           s.stamp.ProducerID,
		ProducerEpoch:        s.stamp.Epoch,
		FirstSequence:        s.stamp.Sequence,
		NumRecords:           int32(len(s.records)),
		Records:              kgoCompress(t, s.codec, s.plain()),
	}
	b := k.AppendTo(nil)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	v, rest, err := Next(b)
	if err != nil || len(rest) != 0 {
		t.Fatalf("source batch: %v, %d bytes rest", err, len(rest))
	}
	return v
}

// marker is a transaction marker as a broker writes it.
func marker(t reporter, offset, pid int64, commit bool) View {
	key, value := make([]byte, 4), make([]byte, 6)
	if commit {
		key[3] = 1
	}
	value[5] = 9 // coordinator epoch
	return source{
		attrs:   attrControl | attrTransactional,
		stamp:   Stamp{ProducerID: pid, Epoch: 1, Sequence: -1},
		records: []Record{{Offset: offset, Timestamp: 1000, Key: key, Value: value}},
	}.view(t)
}

// recs makes n records from offset on, 10 bytes of value each, 1 ms apart.
func recs(offset int64, n int) []Record {
	out := make([]Record, n)
	for i := range out {
		o := offset + int64(i)
		out[i] = Record{Offset: o, Timestamp: 1_700_000_000_000 + o, Key: []byte{byte(o)}, Value: []byte("0123456789")}
	}
	return out
}

// without leaves out the records with the given offsets, like compaction.
func without(in []Record, offsets ...int64) []Record {
	var out []Record
next:
	for _, r := range in {
		for _, o := range offsets {
			if r.Offset == o {
				continue next
			}
		}
		out = append(out, r)
	}
	return out
}

func clone(r Record) Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	var headers []Header
	for _, h := range r.Headers {
		headers = append(headers, Header{Key: h.Key, Value: bytes.Clone(h.Value)})
	}
	r.Headers = headers
	return r
}

// decodeAll reads every record of a view.
func decodeAll(t reporter, b *Builder, v View) []Record {
	t.Helper()
	var out []Record
	if err := b.Each(v, func(r Record) error { out = append(out, clone(r)); return nil }); err != nil {
		t.Fatalf("each: %v", err)
	}
	return out
}

// sameRecords compares with null and empty told apart.
func sameRecords(t reporter, got, want []Record) {
	t.Helper()
	// DeepEqual tells nil and empty apart too, and is far cheaper where, as
	// nearly always, there is nothing to show.
	if len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want) {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("records differ (-want +got):\n%s", diff)
	}
}

// sourceRecords decodes outputs and puts the source offsets back in from their
// spans; each output must pass Validate.
func sourceRecords(t reporter, b *Builder, outs []Output, maxBytes int32) []Record {
	t.Helper()
	var all []Record
	last := int64(-1)
	for _, o := range outs {
		v := View(o.Bytes)
		if err := b.Validate(v, Rules{MaxBytes: maxBytes}); err != nil {
			t.Fatalf("output does not validate: %v", err)
		}
		rs := decodeAll(t, b, v)
		if int(o.Count) != len(rs) || o.MaxTimestamp != v.MaxTimestamp() {
			t.Fatalf("output says %d records, max time %d; batch has %d, %d", o.Count, o.MaxTimestamp, len(rs), v.MaxTimestamp())
		}
		i := 0
		for j, s := range o.Spans {
			if s.Count <= 0 || j > 0 && s.Offset <= o.Spans[j-1].Offset+int64(o.Spans[j-1].Count) {
				t.Fatalf("spans touch or are out of order: %v", o.Spans)
			}
			for k := range s.Count {
				rs[i].Offset = s.Offset + int64(k)
				i++
			}
		}
		if i != len(rs) {
			t.Fatalf("spans %v cover %d of %d records", o.Spans, i, len(rs))
		}
		if rs[0].Offset < last || o.Last <= rs[i-1].Offset {
			t.Fatalf("output goes from %d to %d, next %d; the one before ended at %d", rs[0].Offset, rs[i-1].Offset, o.Last, last)
		}
		last = o.Last
		all = append(all, rs...)
	}
	return all
}
