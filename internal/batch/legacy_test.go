package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// old is one message of a v0 or v1 set.
type old struct {
	magic  int8
	offset int64
	time   int64
	attrs  byte
	key    []byte
	value  []byte
}

func appendOld(dst []byte, m old) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.offset))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, byte(m.magic), m.attrs)
	if m.magic == 1 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(m.time))
	}
	for _, s := range [][]byte{m.key, m.value} {
		if s == nil {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	binary.BigEndian.PutUint32(dst[at+8:], uint32(len(dst)-at-12))
	binary.BigEndian.PutUint32(dst[at+12:], crc32.ChecksumIEEE(dst[at+16:]))
	return dst
}

// wrap compresses messages into one, as producers before 0.11 did.
func wrap(t reporter, c Codec, wrapper old, inner ...old) []byte {
	var set []byte
	for _, m := range inner {
		set = appendOld(set, m)
	}
	wrapper.value = kgoCompress(t, c, set)
	if c == LZ4 && wrapper.magic == 0 {
		wrapper.value[breakAt(wrapper.value)] ^= 0x5a // KAFKA-3160
	}
	wrapper.attrs |= byte(c)
	return appendOld(nil, wrapper)
}

// breakAt is where an lz4 frame's header checksum is.
func breakAt(frame []byte) int {
	at := 6
	if frame[4]&8 != 0 {
		at += 8
	}
	return at
}

// legacySet is a seed: a simple message and a wrapper.
func legacySet(t reporter, c Codec, magic int8) []byte {
	set := appendOld(nil, old{magic: magic, offset: 4, time: 1000, value: []byte("first")})
	first, last := int64(0), int64(1)
	if magic == 0 {
		first, last = 6, 7
	}
	return append(set, wrap(t, c, old{magic: magic, offset: 7, time: 1002},
		old{magic: magic, offset: first, time: 1001, key: []byte("k")},
		old{magic: magic, offset: last, time: 1002, value: []byte("v")})...)
}

// oldSet is one row: a message set, and the records and codecs of the outputs.
type oldSet struct {
	name   string
	set    []byte
	opt    RebuildOptions
	want   []Record
	codecs []Codec
	next   int64
}

func checkOldSets(t *testing.T, rows []oldSet) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			b := NewBuilder()
			outs, next, err := b.RebuildLegacy(c.set, c.opt)
			if err != nil || next != c.next {
				t.Fatalf("next %d, want %d; %v", next, c.next, err)
			}
			var codecs []Codec
			for _, o := range outs {
				codecs = append(codecs, View(o.Bytes).Codec())
			}
			if diff := cmp.Diff(c.codecs, codecs); diff != "" {
				t.Errorf("codecs (-want +got):\n%s", diff)
			}
			sameRecords(t, sourceRecords(t, b, outs, 0), c.want)
			if c.opt != (RebuildOptions{}) {
				return // EachLegacy gives all of it, as it is
			}
			var each []Record
			next, err = b.EachLegacy(c.set, func(r Record) error {
				r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
				each = append(each, r)
				return nil
			})
			if err != nil || next != c.next {
				t.Fatalf("each: next %d, want %d; %v", next, c.next, err)
			}
			sameRecords(t, each, c.want)
		})
	}
}

// simple is a set of messages that are not compressed together.
func simple(ms ...old) []byte {
	var set []byte
	for _, m := range ms {
		set = appendOld(set, m)
	}
	return set
}

func TestRebuildLegacyForms(t *testing.T) {
	k, v := []byte("key"), []byte("value")
	checkOldSets(t, []oldSet{
		{
			name: "v0, null key and value, a hole", next: 14, codecs: []Codec{None},
			set:  simple(old{0, 10, 0, 0, k, v}, old{0, 11, 0, 0, nil, v}, old{0, 13, 0, 0, k, nil}),
			want: []Record{{10, -1, k, v, nil}, {11, -1, nil, v, nil}, {13, -1, k, nil, nil}},
		},
		{
			name: "v1 with times, empty is not null", next: 12, codecs: []Codec{None},
			set:  simple(old{1, 10, 500, 0, []byte{}, v}, old{1, 11, 400, 0, k, []byte{}}),
			want: []Record{{10, 500, []byte{}, v, nil}, {11, 400, k, []byte{}, nil}},
		},
		{
			name: "v0 wrapper, absolute offsets", next: 13, codecs: []Codec{Gzip},
			set:  wrap(t, Gzip, old{magic: 0, offset: 12}, old{0, 10, 0, 0, k, v}, old{0, 12, 0, 0, k, v}),
			want: []Record{{10, -1, k, v, nil}, {12, -1, k, v, nil}},
		},
		{
			name: "v0 lz4 with the old header checksum", next: 12, codecs: []Codec{LZ4},
			set:  wrap(t, LZ4, old{magic: 0, offset: 11}, old{0, 10, 0, 0, k, v}, old{0, 11, 0, 0, k, v}),
			want: []Record{{10, -1, k, v, nil}, {11, -1, k, v, nil}},
		},
		{
			name: "v1 wrapper, relative offsets", next: 13, codecs: []Codec{Snappy},
			set:  wrap(t, Snappy, old{magic: 1, offset: 12, time: 9}, old{1, 0, 7, 0, k, v}, old{1, 2, 9, 0, k, v}),
			want: []Record{{10, 7, k, v, nil}, {12, 9, k, v, nil}},
		},
		{
			name: "v1 wrapper, absolute offsets", next: 13, codecs: []Codec{LZ4},
			set:  wrap(t, LZ4, old{magic: 1, offset: 12, time: 9}, old{1, 10, 7, 0, k, v}, old{1, 12, 9, 0, k, v}),
			want: []Record{{10, 7, k, v, nil}, {12, 9, k, v, nil}},
		},
		{
			name: "v1 wrapper at offset 0 as librdkafka left it", next: 2, codecs: []Codec{Gzip},
			set:  wrap(t, Gzip, old{magic: 1, offset: 0, time: 9}, old{1, 0, 7, 0, k, v}, old{1, 1, 9, 0, k, v}),
			want: []Record{{0, 7, k, v, nil}, {1, 9, k, v, nil}},
		},
	})
}

func TestRebuildLegacyOptions(t *testing.T) {
	k, v := []byte("key"), []byte("value")
	checkOldSets(t, []oldSet{
		{
			name: "append time of the wrapper", next: 13, codecs: []Codec{Gzip}, opt: RebuildOptions{KeepAppendTime: true},
			set:  wrap(t, Gzip, old{magic: 1, offset: 12, time: 99, attrs: legacyTimestamp}, old{1, 0, 7, 0, k, v}, old{1, 2, 9, 0, k, v}),
			want: []Record{{10, 99, k, v, nil}, {12, 99, k, v, nil}},
		},
		{
			name: "append time of the wrapper, target stamps", next: 13, codecs: []Codec{Gzip},
			set:  wrap(t, Gzip, old{magic: 1, offset: 12, time: 99, attrs: legacyTimestamp}, old{1, 0, 7, 0, k, v}, old{1, 2, 9, 0, k, v}),
			want: []Record{{10, 7, k, v, nil}, {12, 9, k, v, nil}},
		},
		{
			name: "codec after codec", next: 16, codecs: []Codec{None, Gzip, Snappy},
			set: slices.Concat(simple(old{1, 10, 1, 0, k, v}, old{1, 11, 1, 0, k, v}),
				wrap(t, Gzip, old{magic: 1, offset: 12, time: 2}, old{1, 0, 2, 0, k, v}),
				wrap(t, Gzip, old{magic: 1, offset: 13, time: 2}, old{1, 0, 2, 0, k, v}),
				wrap(t, Snappy, old{magic: 1, offset: 15, time: 3}, old{1, 0, 3, 0, k, v})),
			want: []Record{{10, 1, k, v, nil}, {11, 1, k, v, nil}, {12, 2, k, v, nil}, {13, 2, k, v, nil}, {15, 3, k, v, nil}},
		},
		{
			name: "crop", next: 13, codecs: []Codec{None, Gzip}, opt: RebuildOptions{Position: 11},
			set:  slices.Concat(simple(old{0, 10, 0, 0, k, v}, old{0, 11, 0, 0, k, v}), wrap(t, Gzip, old{magic: 1, offset: 12, time: 2}, old{1, 0, 2, 0, k, v})),
			want: []Record{{11, -1, k, v, nil}, {12, 2, k, v, nil}},
		},
	})
}

func TestRebuildLegacyRefuses(t *testing.T) {
	k := []byte("key")
	broken := appendOld(nil, old{1, 10, 5, 0, k, k})
	broken[len(broken)-1] ^= 1
	nested := wrap(t, Gzip, old{magic: 1, offset: 5}, old{1, 0, 1, byte(Gzip), k, k})
	mixed := wrap(t, Gzip, old{magic: 1, offset: 5}, old{0, 0, 1, 0, k, k})
	for _, c := range []struct {
		name string
		set  []byte
		want error
	}{
		{"crc", broken, ErrCorrupt},
		{"cut", appendOld(nil, old{1, 10, 5, 0, k, k})[:20], ErrCorrupt},
		{"zstd", appendOld(nil, old{1, 10, 5, byte(Zstd), k, k}), ErrUnsupported},
		{"attribute bit", appendOld(nil, old{1, 10, 5, 0x10, k, k}), ErrUnsupported},
		{"append time in v0", appendOld(nil, old{0, 10, 5, legacyTimestamp, k, k}), ErrUnsupported},
		{"nested", nested, ErrCorrupt},
		{"magics mixed", mixed, ErrCorrupt},
		{"no compressed bytes", appendOld(nil, old{1, 10, 5, byte(Gzip), k, nil}), ErrCorrupt},
		{"wrapper below its last message", wrap(t, Gzip, old{magic: 1, offset: 5}, old{1, 9, 1, 0, k, k}), ErrCorrupt},
		{"backwards", append(appendOld(nil, old{1, 10, 5, 0, k, k}), appendOld(nil, old{1, 10, 5, 0, k, k})...), ErrCorrupt},
		{"v2 inside", source{records: recs(1, 2)}.view(t), ErrCorrupt},
	} {
		outs, _, err := NewBuilder().RebuildLegacy(c.set, RebuildOptions{})
		if !errors.Is(err, c.want) || len(outs) != 0 {
			t.Errorf("%s: %d outputs, %v", c.name, len(outs), err)
		}
	}
}

func TestRebuildLegacyNamesTheRecord(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 500)
	set := appendOld(nil, old{1, 10, 5, 0, []byte("k"), nil})
	set = appendOld(set, old{1, 12, 5, 0, []byte("k"), big})
	set = appendOld(set, old{1, 13, 5, 0, []byte("k"), nil})
	b := NewBuilder()
	outs, next, err := b.RebuildLegacy(set, RebuildOptions{MaxBytes: 200})
	var large *RecordTooLargeError
	if !errors.As(err, &large) || large.Offset != 12 || next != 12 || len(outs) != 1 || outs[0].Last != 12 {
		t.Fatalf("next %d, %d outputs, %v", next, len(outs), err)
	}
}

// A response may go from old messages to v2 batches within one partition.
func TestLegacyCutsTheOldPart(t *testing.T) {
	set := legacySet(t, Gzip, 1)
	v2 := source{records: recs(8, 2)}.view(t)
	got, rest, err := Legacy(append(bytes.Clone(set), v2...))
	if err != nil || !bytes.Equal(got, set) || !bytes.Equal(rest, v2) {
		t.Fatalf("%d and %d bytes, %v", len(got), len(rest), err)
	}
	if got, rest, err = Legacy(set[:len(set)-3]); err != nil || len(got) == 0 || len(got)+len(rest) != len(set)-3 {
		t.Fatalf("cut: %d and %d bytes, %v", len(got), len(rest), err)
	}
	set[8] = 0x80
	if _, _, err = Legacy(set); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("length: %v", err)
	}
}
