package offsetmap_test

import (
	"math/rand/v2"
	"runtime"
	"sort"
	"testing"
	"time"

	"tidemark/offsetmap"
)

// transactions builds the map of n one-record transactions: source step 2,
// target step 1, sealed as a ledger would.
func transactions(b testing.TB, n int) (*offsetmap.Map, []offsetmap.Block) {
	m := offsetmap.New(offsetmap.Origin{})
	var blocks []offsetmap.Block
	for i := range n {
		must(b, m.Append(run(src(2*i), tgt(i), 1)))
		if i%1000 == 0 && m.OpenSize() >= offsetmap.BlockSize {
			if s, ok := m.Seal(); ok {
				blocks = append(blocks, s)
			}
		}
	}
	return m, blocks
}

// short builds a map of n small transactions of all sizes: source gaps of 1 to
// 7, 1 to 16 records.
func short(b testing.TB, n int) (*offsetmap.Map, []offsetmap.Block) {
	m := offsetmap.New(offsetmap.Origin{})
	rnd := rand.New(rand.NewPCG(1, 2))
	var blocks []offsetmap.Block
	for i := range n {
		must(b, m.Append(run(m.Through()+1+src(rnd.IntN(7)), m.TargetEnd(), 1+rnd.Int64N(16))))
		if i%1000 == 0 && m.OpenSize() >= offsetmap.BlockSize {
			if s, ok := m.Seal(); ok {
				blocks = append(blocks, s)
			}
		}
	}
	return m, blocks
}

// mixed builds a map of n transactions as a busy compacted topic has them:
// source gaps of 1 to 200, 1 to 30 records, now and then a hole on the target.
func mixed(b testing.TB, n int) (*offsetmap.Map, []offsetmap.Block) {
	m := offsetmap.New(offsetmap.Origin{})
	rnd := rand.New(rand.NewPCG(1, 2))
	var blocks []offsetmap.Block
	for i := range n {
		r := run(m.Through()+1+src(rnd.IntN(200)), m.TargetEnd(), 1+rnd.Int64N(30))
		if rnd.IntN(20) == 0 {
			r.Target += tgt(1 + rnd.IntN(50))
		}
		must(b, m.Append(r))
		if i%1000 == 0 && m.OpenSize() >= offsetmap.BlockSize {
			if s, ok := m.Seal(); ok {
				blocks = append(blocks, s)
			}
		}
	}
	return m, blocks
}

func storedBytes(m *offsetmap.Map, blocks []offsetmap.Block) (n int) {
	for _, b := range blocks {
		n += len(b.Data)
	}
	return n + len(m.AppendTail(nil))
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func benchmarkNext(b *testing.B, n int, build func(testing.TB, int) (*offsetmap.Map, []offsetmap.Block)) {
	before := heap()
	m, stored := func() (*offsetmap.Map, int) {
		m, blocks := build(b, n) // the blocks are on the cluster by then
		return m, storedBytes(m, blocks)
	}()
	used := heap() - before
	rnd := rand.New(rand.NewPCG(3, 4))
	queries := make([]src, 1<<16)
	for i := range queries {
		queries[i] = src(rnd.Int64N(int64(m.Through())))
	}
	// Slices of 2,000 lookups tell what one costs on a machine that others use
	// as well: the mean counts their work, a quick slice does not.
	const slice = 2000
	var slices []float64
	sum := tgt(0)
	b.ResetTimer()
	for i := 0; i < b.N; i += slice {
		begin := time.Now()
		for k := i; k < i+slice; k++ {
			sum += m.Next(queries[k&(1<<16-1)]).Target
		}
		slices = append(slices, float64(time.Since(begin).Nanoseconds())/slice)
	}
	b.StopTimer()
	if sum == 0 {
		b.Fatal("no answers")
	}
	sort.Float64s(slices)
	b.ReportMetric(slices[0], "fastest-ns")
	b.ReportMetric(slices[len(slices)/2], "median-ns")
	b.ReportMetric(float64(stored)/float64(n), "stored-B/run")
	b.ReportMetric(float64(used)/float64(n), "heap-B/run")
	b.ReportMetric(float64(used)/1e6, "heap-MB")
	runtime.KeepAlive(m)
}

func BenchmarkNext10M(b *testing.B)      { benchmarkNext(b, 10_000_000, transactions) }
func BenchmarkNext10MShort(b *testing.B) { benchmarkNext(b, 10_000_000, short) }
func BenchmarkNext10MMixed(b *testing.B) { benchmarkNext(b, 10_000_000, mixed) }

// BenchmarkNext100M shows the memory of 100 M runs; building takes seconds.
func BenchmarkNext100M(b *testing.B)      { benchmarkNext(b, 100_000_000, transactions) }
func BenchmarkNext100MMixed(b *testing.B) { benchmarkNext(b, 100_000_000, mixed) }

func BenchmarkSource10M(b *testing.B) {
	m, _ := transactions(b, 10_000_000)
	rnd := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		if _, k := m.Source(tgt(rnd.Int64N(10_000_000))); k == 0 {
			b.Fatal("no answer")
		}
	}
}

func BenchmarkCount10M(b *testing.B) {
	m, _ := transactions(b, 10_000_000)
	rnd := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		if n := m.Count(tgt(rnd.Int64N(5_000_000)), 7_000_000); n < 2_000_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	b.ReportAllocs()
	m := offsetmap.New(offsetmap.Origin{})
	for i := range b.N {
		if err := m.Append(run(src(2*i), tgt(i), 1)); err != nil {
			b.Fatal(err)
		}
		if m.OpenSize() >= offsetmap.BlockSize {
			m.Seal()
		}
	}
}

// BenchmarkLoad loads 10 M runs an iteration.
func BenchmarkLoad(b *testing.B) {
	m, blocks := transactions(b, 10_000_000)
	tail := m.AppendTail(nil)
	b.SetBytes(int64(storedBytes(m, blocks)))
	for b.Loop() {
		got, err := offsetmap.Load(tail, blocks)
		if err != nil || len(got.Missing()) > 0 {
			b.Fatal(err, got.Missing())
		}
	}
}

func BenchmarkAppendTail(b *testing.B) {
	m, _ := transactions(b, 10_000_000)
	var buf []byte
	for b.Loop() {
		buf = m.AppendTail(buf[:0])
	}
	b.ReportMetric(float64(len(buf)), "tail-B")
}
