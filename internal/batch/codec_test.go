package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What we write, franz-go's consumer reads, and the other way round.
func TestCodecsAgreeWithFranzGo(t *testing.T) {
	b := NewBuilder()
	dec := kgo.DefaultDecompressor()
	for _, c := range allCodecs {
		for _, plain := range [][]byte{[]byte("a"), []byte(strings.Repeat("some text ", 20_000)), incompressible(1, 1, 300_000)[0].Value} {
			ours, err := b.compress([]byte("kept"), framing{codec: c}, plain)
			if err != nil || !bytes.HasPrefix(ours, []byte("kept")) {
				t.Fatalf("%v: %v", c, err)
			}
			got, err := dec.Decompress(ours[4:], kgo.CompressionCodecType(c))
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%v: franz-go reads %d of %d bytes, %v", c, len(got), len(plain), err)
			}
			got, err = b.decompress([]byte("kept"), c, kgoCompress(t, c, plain))
			if err != nil || !bytes.Equal(got, append([]byte("kept"), plain...)) {
				t.Errorf("%v: we read %d of %d bytes, %v", c, len(got), len(plain), err)
			}
		}
	}
}

func TestSnappyFraming(t *testing.T) {
	b := NewBuilder()
	plain := []byte(strings.Repeat("0123456789", 10_000)) // four xerial blocks
	framed, err := b.compress(nil, framing{codec: Snappy}, plain)
	if err != nil || !hasXerialMagic(framed) {
		t.Fatalf("framed: % x, %v", framed[:20], err)
	}
	raw, err := b.compress(nil, framing{codec: Snappy, raw: true}, plain)
	if err != nil || hasXerialMagic(raw) {
		t.Fatalf("raw: % x, %v", raw[:20], err)
	}
	if out, err := s2.Decode(nil, raw); err != nil || !bytes.Equal(out, plain) {
		t.Errorf("raw is no snappy block: %v", err)
	}
	for name, in := range map[string][]byte{"framed": framed, "raw": raw} {
		if out, err := b.decompress(nil, Snappy, in); err != nil || !bytes.Equal(out, plain) {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
	// Blocks of no more than 32 KiB, as snappy-java has them.
	for rest := framed[len(xerialHeader):]; len(rest) > 0; {
		n := binary.BigEndian.Uint32(rest)
		if size, err := s2.DecodedLen(rest[4 : 4+n]); err != nil || size > xerialBlock {
			t.Fatalf("block of %d plain bytes, %v", size, err)
		}
		rest = rest[4+n:]
	}
}

// A rebuilt batch has the snappy form that its source had.
func TestRebuildKeepsSnappyForm(t *testing.T) {
	b := NewBuilder()
	raw := source{codec: Snappy, records: recs(10, 50)}.view(t)
	ours, err := Build(recs(10, 50), Snappy, NoStamp())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []View{raw, ours} {
		outs, err := b.Rebuild([]View{v}, RebuildOptions{Position: v.BaseOffset() + 3})
		if err != nil || len(outs) != 1 {
			t.Fatalf("%d outputs, %v", len(outs), err)
		}
		if got, want := hasXerialMagic(View(outs[0].Bytes).Payload()), hasXerialMagic(v.Payload()); got != want {
			t.Errorf("framed %v became %v", want, got)
		}
	}
}

// Small inputs that claim or become much more than the limit.
func TestDecompressionIsBounded(t *testing.T) {
	const limit = 1 << 20
	b := NewBuilderLimit(limit)
	zeros := make([]byte, 8*limit)
	for _, c := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		over, err := NewBuilder().compress(nil, framing{codec: c}, zeros)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := b.decompress(nil, c, over); !errors.Is(err, ErrTooLarge) || len(out) > limit+1 {
			t.Errorf("%v: %d bytes, %v", c, len(out), err)
		}
		exact, err := NewBuilder().compress(nil, framing{codec: c}, zeros[:limit])
		if err != nil {
			t.Fatal(err)
		}
		if out, err := b.decompress(nil, c, exact); err != nil || len(out) != limit {
			t.Errorf("%v: exactly the limit: %d bytes, %v", c, len(out), err)
		}
	}
	claim := binary.AppendUvarint(nil, 1<<31-1)
	if _, err := NewBuilder().decompress(nil, Snappy, append(claim, 0, 0)); err == nil {
		t.Error("snappy: a few bytes that claim 2 GiB were taken")
	}
}

func TestDamagedPayloads(t *testing.T) {
	b := NewBuilder()
	plain := []byte(strings.Repeat("some text ", 1000))
	for _, c := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		good, err := b.compress(nil, framing{codec: c}, plain)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{
			"empty":    nil,
			"one byte": good[:1],
			"cut":      good[:len(good)*2/3],
			"start":    append([]byte{good[0] ^ 0x40}, good[1:]...),
		} {
			if out, err := b.decompress(nil, c, bad); err == nil && bytes.Equal(out, plain) {
				t.Errorf("%v, %s: taken", c, name)
			} else if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v, %s: %v", c, name, err)
			}
		}
		// The pooled reader must not remember the failure.
		if out, err := b.decompress(nil, c, good); err != nil || !bytes.Equal(out, plain) {
			t.Errorf("%v after damage: %v", c, err)
		}
	}
	for _, bad := range [][]byte{
		[]byte(xerialMagic),
		append([]byte(xerialHeader), 0, 0),
		append([]byte(xerialHeader), 0, 0, 0, 9, 1),
		append([]byte(xerialHeader), 0xff, 0xff, 0xff, 0xff, 1),
	} {
		if _, err := b.decompress(nil, Snappy, bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("xerial % x: %v", bad, err)
		}
	}
}

// Forms other clients write: linked blocks, checksums, several frames.
func TestForeignForms(t *testing.T) {
	b := NewBuilder()
	plain := incompressible(1, 1, 100)[0].Value
	plain = slices.Concat(plain, bytes.Repeat([]byte("abc"), 100_000), plain)

	var buf bytes.Buffer
	w := lz4.NewWriter(&buf)
	if err := w.Apply(lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(plain)))); err != nil {
		t.Fatal(err)
	}
	if err := writeAll(w, plain); err != nil {
		t.Fatal(err)
	}
	if out, err := b.decompress(nil, LZ4, buf.Bytes()); err != nil || !bytes.Equal(out, plain) {
		t.Errorf("lz4 with everything on: %v", err)
	}

	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	two := enc.EncodeAll(plain[100:], enc.EncodeAll(plain[:100], nil))
	if out, err := b.decompress(nil, Zstd, two); err != nil || !bytes.Equal(out, plain) {
		t.Errorf("two zstd frames: %v", err)
	}
}

// What lz4 writes of us must have what Java's reader insists on: version 1,
// independent blocks (KafkaLZ4BlockInputStream refuses others).
func TestLZ4FrameIsWhatJavaTakes(t *testing.T) {
	out, err := NewBuilder().compress(nil, framing{codec: LZ4}, make([]byte, 200_000))
	if err != nil {
		t.Fatal(err)
	}
	if flags := out[4]; flags>>6 != 1 || flags&0x20 == 0 || flags&0x0d != 0 {
		t.Errorf("flags %08b", flags)
	}
	if size := out[5]; size != 4<<4 {
		t.Errorf("block descriptor %#x, want 64 KiB", size)
	}
	if got := byte(xxh32Short(out[4:6]) >> 8); got != out[6] {
		t.Errorf("header checksum %#x, ours %#x", out[6], got)
	}
}

func TestRepairLZ4LeavesOthersAlone(t *testing.T) {
	for _, in := range [][]byte{nil, []byte("short"), []byte("not an lz4 frame at all"), {4, 0x22, 0x4d, 0x18, 0x68, 0x40, 0}} {
		if out := repairLZ4(in); !bytes.Equal(out, in) {
			t.Errorf("% x became % x", in, out)
		}
	}
	for _, size := range []bool{false, true} {
		var buf bytes.Buffer
		w := lz4.NewWriter(&buf)
		if size {
			if err := w.Apply(lz4.SizeOption(5)); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeAll(w, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(buf.Bytes())
		bad[breakAt(bad)] ^= 0xff
		if !bytes.Equal(repairLZ4(bad), buf.Bytes()) {
			t.Errorf("content size %v: not repaired", size)
		}
	}
}
