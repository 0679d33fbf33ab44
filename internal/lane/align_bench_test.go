package lane

import (
	"testing"
	"time"

	"tidemark/offsetmap"
)

// alignBig is a partition with n records beyond the anchor. Every gap-th record of the source is gone. Contents repeat
// with the given period (0: all differ; below 0: so many contents in no order).
func alignBig(n, gap, period int, still bool) AlignInput {
	in := AlignInput{
		SourceEnd: offsetmap.SourceOffset(n + 1000), TargetEnd: offsetmap.TargetOffset(n), Count: int64(n),
		SourceStill: still, SourceCompacts: !still,
	}
	content := func(i int) uint64 {
		if period > 0 {
			return uint64(i%period) + 1
		}
		if period < 0 {
			return uint64(i)*0x9e3779b97f4a7c15>>40%uint64(-period) + 1
		}
		return uint64(i)*0x9e3779b97f4a7c15 + 1
	}
	for i := range n + 1000 {
		if i < n {
			in.Tail = append(in.Tail, TailRecord{Target: offsetmap.TargetOffset(i), Index: int64(i), Hash: content(i), Key: content(i), Ours: true})
		}
		if gap == 0 || i%gap != gap-1 {
			in.Source = append(in.Source, SourceRecord{Offset: offsetmap.SourceOffset(i), Hash: content(i), Key: content(i)})
		}
	}
	return in
}

// alignBigKinds are the shapes of the benchmark and of the bound below.
func alignBigKinds(n int) map[string]AlignInput {
	return map[string]AlignInput{
		"still":                        alignBig(n, 0, 0, true),
		"compacts, nothing lost":       alignBig(n, 0, 0, false),
		"compacts, every 10th lost":    alignBig(n, 10, 0, false),
		"every 2nd lost, one content":  alignBig(n, 2, 1, false),
		"every 3rd lost, two contents": alignBig(n, 3, 2, false),
		"half lost, three in no order": alignBig(n, 2, -3, false),
	}
}

func BenchmarkAlign1M(b *testing.B) {
	for name, in := range alignBigKinds(1_000_000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out := Align(in); out.Mismatch != nil {
					b.Fatal(out.Mismatch)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/record")
		})
	}
}

// TestAlignGrowsLinearly guards against a quadratic case, repeated contents above all: a tail of 200,000 records took
// 0.02 to 1 s; a quadratic walk over it would take minutes.
func TestAlignGrowsLinearly(t *testing.T) {
	for name, in := range alignBigKinds(200_000) {
		began := time.Now()
		out := Align(in)
		if out.Mismatch != nil || out.Place > offsetmap.SourceOffset(in.Count) {
			t.Errorf("%s: %v, place %d", name, out.Mismatch, out.Place)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}
