package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"tidemark/internal/fuzzing"
)

// FuzzCodec: what a codec made is read back; anything else is refused as damaged, too large or unknown, and takes no more
// memory than the limit says, whatever size it claims to have.
func FuzzCodec(f *testing.F) {
	plain := source{records: recs(3, 40)}.plain()
	for _, c := range allCodecs {
		for _, cut := range fuzzing.Cuts(kgoCompress(f, c, plain)) {
			f.Add(cut, uint8(c))
		}
	}
	for _, raw := range stored(f) {
		if v, _, err := Next(raw); err == nil {
			f.Add(v.Payload(), uint8(v.Codec()))
		}
	}
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, uint8(Zstd)) // 4 GiB, it says
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, uint8(Snappy))
	f.Add([]byte(xerialHeader+"\xff\xff\xff\xff"), uint8(Snappy))
	f.Add([]byte{4, 0x22, 0x4d, 0x18, 0x64, 0x70, 0xb9, 0xff, 0xff, 0xff, 0x7f}, uint8(LZ4))
	const limit = 1 << 20
	b := NewBuilderLimit(limit)
	f.Fuzz(func(t *testing.T, data []byte, codec uint8) {
		c := Codec(codec % 6)
		// 16 MiB: lz4 takes blocks of 4 MiB before it reads one, zstd its tables.
		fuzzing.Within(t, 16<<20+40*len(data), func() {
			out, err := b.decompress([]byte("kept"), c, data)
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("%v: %v", c, err)
			}
			if err == nil && c != None && len(out) > limit+4 || !bytes.HasPrefix(out, []byte("kept")) {
				t.Fatalf("%v: %d bytes of %d", c, len(out), len(data))
			}
		})
		if c > Zstd || len(data) > limit {
			return
		}
		for _, raw := range []bool{false, true} {
			packed, err := b.compress([]byte("kept"), framing{codec: c, raw: raw}, data)
			if err != nil {
				t.Fatal(err)
			}
			if raw && hasXerialMagic(packed[4:]) {
				continue // a bare block that looks like a stream, as snappy-java would take it too
			}
			out, err := b.decompress(nil, c, packed[4:])
			if err != nil || !bytes.Equal(out, data) {
				t.Fatalf("%v: %q became %q, %v", c, data, out, err)
			}
		}
	})
}

// FuzzLegacy: sets of old messages become valid batches with the records that EachLegacy finds in them. With a codec the
// bytes are what is inside a compressed message, which else only its own compressor could reach.
func FuzzLegacy(f *testing.F) {
	for _, c := range []Codec{Gzip, Snappy, LZ4} {
		for magic := range int8(2) {
			set := legacySet(f, c, magic)
			for _, cut := range fuzzing.Cuts(set) {
				f.Add(cut, 120*int32(magic), uint8(0), int64(0))
			}
			inner := simple(old{magic, 0, 1, 0, []byte("k"), nil}, old{magic, 2, 2, 0, nil, []byte("v")})
			for _, cut := range fuzzing.Cuts(inner) {
				f.Add(cut, int32(0), uint8(c)|uint8(magic)<<4, int64(12))
			}
		}
	}
	b := NewBuilderLimit(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte, maxBytes int32, wrapped uint8, offset int64) {
		set, ok := legacyInput(t, b, data, wrapped, offset)
		if !ok {
			return
		}
		outs, next, err := b.RebuildLegacy(set, RebuildOptions{MaxBytes: max(maxBytes, 0), KeepAppendTime: wrapped&0x80 != 0})
		if _, named := namedRecord(err); err != nil && !named && len(outs) != 0 {
			t.Fatalf("%d outputs with %v", len(outs), err)
		}
		got := sourceRecords(t, b, outs, max(maxBytes, 0))
		if n := len(outs); n > 0 && outs[n-1].Last > next {
			t.Fatalf("last %d, next %d", outs[n-1].Last, next)
		}
		if err != nil || wrapped&0x80 != 0 {
			return
		}
		var each []Record
		behind, err := b.EachLegacy(set, func(r Record) error { each = append(each, clone(r)); return nil })
		if err != nil || behind != next {
			t.Fatalf("%v, next %d and %d", err, behind, next)
		}
		sameRecords(t, each, got)
	})
}

// legacyInput is the set to read: the data with its checksums right, or the data compressed in one message.
func legacyInput(t *testing.T, b *Builder, data []byte, wrapped uint8, offset int64) ([]byte, bool) {
	if c, magic := Codec(wrapped&3), int8(wrapped>>4&1); c != None {
		value, err := b.compress(nil, framing{codec: c, raw: wrapped&0x40 != 0}, data)
		if err != nil {
			t.Fatal(err)
		}
		if c == LZ4 && magic == 0 {
			value[breakAt(value)] ^= 0x5a
		}
		return appendOld(nil, old{magic: magic, offset: offset, time: 9, attrs: uint8(c), value: value}), true
	}
	set, _, err := Legacy(bytes.Clone(data))
	if err != nil {
		return nil, false
	}
	for at := 0; at+18 <= len(set); {
		end := min(at+int(binary.BigEndian.Uint32(set[at+8:]))+12, len(set))
		binary.BigEndian.PutUint32(set[at+12:], crc32.ChecksumIEEE(set[at+16:end]))
		at = end
	}
	return set, true
}
