package batch

import (
	"bytes"
	"fmt"
	"testing"
)

// sized makes one uncompressed batch of about n bytes.
func sized(t reporter, n int) View {
	r := recs(10, 1)
	r[0].Value = bytes.Repeat([]byte("v"), max(n-HeaderSize-16, 1))
	return source{records: r}.view(t)
}

// BenchmarkPatch is what one raw batch costs us besides the system calls.
func BenchmarkPatch(b *testing.B) {
	for _, n := range []int{1 << 10, 16 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			v := sized(b, n)
			b.ReportAllocs()
			b.SetBytes(int64(len(v)))
			seq := int32(0)
			for b.Loop() {
				Patch(v, Stamp{77, 5, seq})
				seq = NextSequence(seq, 1)
			}
		})
	}
}

// BenchmarkCrossOver compares the two ways to fix a CRC so that a wrong one
// stays wrong: two passes over header and payload, or the header twice and the
// zero-shift operator. recomputeBelow is where they meet.
func BenchmarkCrossOver(b *testing.B) {
	for _, n := range []int{64, 128, 192, 256, 384, 512, 1023, 4095, 65535} {
		v := make(View, HeaderSize+n)
		b.Run(fmt.Sprintf("recompute/%d", n), func(b *testing.B) {
			for b.Loop() {
				before := checksum(v[offAttributes:])
				v[offSequence]++
				v[0] = byte(before ^ checksum(v[offAttributes:]))
			}
		})
		b.Run(fmt.Sprintf("arithmetic/%d", n), func(b *testing.B) {
			for b.Loop() {
				before := checksum(v[offAttributes:HeaderSize])
				v[offSequence]++
				v[0] = byte(shift(before^checksum(v[offAttributes:HeaderSize]), n))
			}
		})
	}
}

// text makes records whose values compress about 4 to 1, like logs do.
func text(offset int64, n, size int) []Record {
	out := incompressible(offset, n, size)
	const words = "the quick brown fox jumps over the lazy dog and runs into the wood "
	for i := range out {
		v := out[i].Value
		for at := 0; at < len(v); at += 24 {
			copy(v[at:min(at+18, len(v))], words[int(v[at])%40:])
		}
	}
	return out
}

// BenchmarkMerge writes 64 source batches of 16 records of 300 bytes again as
// one: 1024 records, 300 KiB.
func BenchmarkMerge(b *testing.B) {
	for _, codec := range allCodecs {
		b.Run(codec.String(), func(b *testing.B) {
			bl := NewBuilder()
			var in []View
			for i := range 64 {
				in = append(in, source{codec: codec, records: text(int64(10+16*i), 16, 300)}.view(b))
			}
			benchRebuild(b, bl, in, RebuildOptions{MaxBytes: 1 << 20}, 1024)
		})
	}
}

// BenchmarkMergeSingles is the worst load of a raw mirror: one record a batch.
func BenchmarkMergeSingles(b *testing.B) {
	bl := NewBuilder()
	var in []View
	for i := range 1000 {
		in = append(in, source{records: text(int64(10+i), 1, 300)}.view(b))
	}
	benchRebuild(b, bl, in, RebuildOptions{MaxBytes: 1 << 20}, 1000)
}

// BenchmarkSplit cuts a batch in about four, with the estimate of the ratio.
func BenchmarkSplit(b *testing.B) {
	for _, codec := range []Codec{None, LZ4, Zstd} {
		b.Run(codec.String(), func(b *testing.B) {
			v := source{codec: codec, records: text(10, 1024, 300)}.view(b)
			benchRebuild(b, NewBuilder(), []View{v}, RebuildOptions{MaxBytes: int32(len(v) / 4)}, 1024)
		})
	}
}

func benchRebuild(b *testing.B, bl *Builder, in []View, opt RebuildOptions, records int) {
	b.ReportAllocs()
	outs, err := bl.Rebuild(in, opt)
	if err != nil {
		b.Fatal(err)
	}
	plain := 0
	for _, v := range in {
		p, buf, err := bl.plain(v)
		if err != nil {
			b.Fatal(err)
		}
		plain += len(p)
		bl.putBuffer(buf)
	}
	b.SetBytes(int64(plain))
	for b.Loop() {
		for _, o := range outs {
			bl.Release(o)
		}
		if outs, err = bl.Rebuild(in, opt); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
	b.ReportMetric(float64(len(outs)), "outputs")
}

func BenchmarkValidate(b *testing.B) {
	for _, codec := range []Codec{None, LZ4, Zstd} {
		b.Run(codec.String(), func(b *testing.B) {
			bl := NewBuilder()
			p, err := bl.Build(text(0, 1024, 300), codec, NoStamp())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := bl.Validate(p, Rules{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1024), "ns/record")
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	v := source{codec: LZ4, records: recs(10, 5)}.view(b)
	b.ReportAllocs()
	for b.Loop() {
		if a, _ := Decide(v, false, Case{Position: 10, MaxBytes: 1 << 20, KeepAppendTime: true}); a != Raw {
			b.Fatal(a)
		}
	}
}
