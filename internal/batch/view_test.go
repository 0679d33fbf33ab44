package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"tidemark/internal/fuzzing"
)

func TestNextWalksAResponse(t *testing.T) {
	a := source{records: recs(5, 3)}.view(t)
	b := source{records: recs(8, 2), codec: LZ4}.view(t)
	buf := append(append(bytes.Clone(a), b...), a[:40]...)

	v, rest, err := Next(buf)
	if err != nil || !bytes.Equal(v, a) || cap(v) != len(a) {
		t.Fatalf("first: %v, %d bytes, capacity %d", err, len(v), cap(v))
	}
	v, rest, err = Next(rest)
	if err != nil || !bytes.Equal(v, b) {
		t.Fatalf("second: %v", err)
	}
	if _, rest, err = Next(rest); !errors.Is(err, ErrShort) || len(rest) != 40 {
		t.Fatalf("cut tail: %v, %d bytes rest", err, len(rest))
	}
	if _, _, err = Next(nil); !errors.Is(err, ErrShort) {
		t.Fatalf("empty: %v", err)
	}
}

func TestNextRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int
		set  []byte
		want error
	}{
		{"magic 0", 16, []byte{0}, ErrMagic},
		{"magic 1", 16, []byte{1}, ErrMagic},
		{"magic 3", 16, []byte{3}, ErrCorrupt},
		{"length below a header", 8, []byte{0, 0, 0, 48}, ErrCorrupt},
		{"length negative", 8, []byte{0xff, 0, 0, 0}, ErrCorrupt},
		{"length beyond the buffer", 8, []byte{0, 1, 0, 0}, ErrShort},
		{"base offset negative", 0, []byte{0xff}, ErrCorrupt},
		{"base offset that overflows", 0, []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff}, ErrCorrupt},
		{"last offset delta negative", 23, []byte{0x80}, ErrCorrupt},
		{"count negative", 57, []byte{0x80}, ErrCorrupt},
		{"more records than offsets", 57, []byte{0, 0, 0, 9}, ErrCorrupt},
	} {
		buf := bytes.Clone(source{records: recs(5, 3)}.view(t))
		copy(buf[c.at:], c.set)
		if _, rest, err := Next(buf); !errors.Is(err, c.want) || len(rest) != len(buf) {
			t.Errorf("%s: got %v with %d bytes rest, want %v", c.name, err, len(rest), c.want)
		}
	}
}

func TestAccessors(t *testing.T) {
	v := source{
		base: 100, lastDelta: 9, codec: Zstd, attrs: attrTransactional | attrDeleteHorizon,
		baseTime: 4000, maxTime: 9000, stamp: Stamp{77, 5, 1234}, records: recs(103, 2),
	}.view(t)
	if v.BaseOffset() != 100 || v.LastOffset() != 109 || v.NextOffset() != 110 || v.LastOffsetDelta() != 9 || v.Count() != 2 {
		t.Errorf("offsets: %d %d %d %d, count %d", v.BaseOffset(), v.LastOffset(), v.NextOffset(), v.LastOffsetDelta(), v.Count())
	}
	if v.LeaderEpoch() != 7 || v.ProducerID() != 77 || v.ProducerEpoch() != 5 || v.BaseSequence() != 1234 {
		t.Errorf("epochs: %d %d %d %d", v.LeaderEpoch(), v.ProducerID(), v.ProducerEpoch(), v.BaseSequence())
	}
	if v.BaseTimestamp() != 4000 || v.MaxTimestamp() != 9000 {
		t.Errorf("times: %d %d", v.BaseTimestamp(), v.MaxTimestamp())
	}
	if v.Codec() != Zstd || !v.Transactional() || !v.DeleteHorizon() || v.Control() || v.LogAppendTime() {
		t.Errorf("attributes: %#x", v.Attributes())
	}
	if err := v.CheckCRC(); err != nil {
		t.Error(err)
	}
	v[len(v)-1] ^= 1
	if err := v.CheckCRC(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
}

func TestCodecNames(t *testing.T) {
	for i, want := range []string{"none", "gzip", "snappy", "lz4", "zstd", "codec(5)"} {
		if got := Codec(i).String(); got != want {
			t.Errorf("codec %d is called %q, want %q", i, got, want)
		}
	}
}

func TestNextSequence(t *testing.T) {
	for _, c := range []struct{ seq, count, want int32 }{
		{0, 1, 1},
		{10, 5, 15},
		{math.MaxInt32 - 1, 1, math.MaxInt32},
		{math.MaxInt32, 1, 0},
		{math.MaxInt32 - 2, 5, 2},
		{math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1},
	} {
		if got := NextSequence(c.seq, c.count); got != c.want {
			t.Errorf("after %d records from %d: %d, want %d", c.count, c.seq, got, c.want)
		}
	}
}

func TestPatch(t *testing.T) {
	for _, codec := range allCodecs {
		for _, n := range []int{1, 7, 100, 3000} {
			v := source{codec: codec, attrs: attrTransactional | attrLogAppendTime | attrDeleteHorizon, stamp: Stamp{3, 1, 50}, records: recs(900, n)}.view(t)
			payload := bytes.Clone(v.Payload())
			for _, s := range []Stamp{{77, 5, math.MaxInt32}, {77, 6, 0}, NoStamp(), {math.MaxInt64, math.MaxInt16, 12}} {
				Patch(v, s)
				if err := v.CheckCRC(); err != nil {
					t.Fatalf("%v, %d records, %v: %v", codec, n, s, err)
				}
				got := Stamp{v.ProducerID(), v.ProducerEpoch(), v.BaseSequence()}
				if got != s || v.BaseOffset() != 0 || v.LeaderEpoch() != -1 || v.Attributes() != uint16(codec) {
					t.Fatalf("patched to %v, base %d, leader epoch %d, attributes %#x", got, v.BaseOffset(), v.LeaderEpoch(), v.Attributes())
				}
			}
			if !bytes.Equal(payload, v.Payload()) {
				t.Fatal("payload touched")
			}
		}
	}
}

// A length of many bits, and every single bit of the small ones.
func TestShiftAgreesWithZeroBytes(t *testing.T) {
	zeros := make([]byte, 1<<20+4711)
	head := []byte("some header, forty bytes, more or less..")
	other := bytes.ToUpper(head)
	d := checksum(head) ^ checksum(other)
	for _, n := range []int{0, 1, 2, 3, 4, 8, 15, 16, 61, 191, 192, 193, 4096, 65535, 1 << 20, len(zeros)} {
		want := checksum(append(bytes.Clone(head), zeros[:n]...)) ^ checksum(append(bytes.Clone(other), zeros[:n]...))
		if got := shift(d, n); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}

func TestPatchAllocatesNothing(t *testing.T) {
	for _, n := range []int{1, 1000} {
		v := source{records: recs(0, n)}.view(t)
		Patch(v, NoStamp()) // builds the tables
		seq := int32(0)
		if got := testing.AllocsPerRun(100, func() { Patch(v, Stamp{1, 1, seq}); seq++ }); got != 0 {
			t.Errorf("%d records: %v allocations", n, got)
		}
	}
}

// FuzzPatch pins B2: damage survives the patch, whatever was damaged.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(source{records: recs(3, 2)}.view(f)), int64(5), int16(1), int32(7))
	f.Add([]byte(source{records: recs(3, 200), codec: Gzip}.view(f)), int64(-1), int16(-1), int32(-1))
	bad := source{records: recs(3, 200)}.view(f)
	bad[300] ^= 4
	f.Add([]byte(bad), int64(5), int16(1), int32(7))
	f.Fuzz(func(t *testing.T, data []byte, pid int64, epoch int16, seq int32) {
		if len(data) < HeaderSize {
			return
		}
		v := View(bytes.Clone(data))
		for range 2 { // as it came, and with its CRC right
			before := v.CheckCRC() == nil
			Patch(v, Stamp{pid, epoch, seq})
			if after := v.CheckCRC() == nil; after != before {
				t.Fatalf("crc holds: before %v, after %v", before, after)
			}
			binary.BigEndian.PutUint32(v[offCRC:], checksum(v[offAttributes:]))
		}
	})
}

func FuzzNext(f *testing.F) {
	f.Add([]byte(source{records: recs(3, 2)}.view(f)))
	f.Add([]byte(source{records: recs(3, 2)}.view(f))[:50])
	f.Add(legacySet(f, LZ4, 1))
	for _, raw := range stored(f) {
		for _, cut := range fuzzing.Cuts(raw) {
			f.Add(cut)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, rest, err := Next(data)
		if err != nil {
			if v != nil || len(rest) != len(data) {
				t.Fatalf("%v, yet %d bytes taken", err, len(data)-len(rest))
			}
			return
		}
		if len(v)+len(rest) != len(data) || len(v) < HeaderSize || v.NextOffset() <= v.BaseOffset() {
			t.Fatalf("batch of %d bytes, rest %d, of %d; offsets %d to %d", len(v), len(rest), len(data), v.BaseOffset(), v.NextOffset())
		}
	})
}
