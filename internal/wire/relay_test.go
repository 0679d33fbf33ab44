package wire

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"tidemark/internal/batch"
	"tidemark/internal/partition"
)

// relay moves batches from one Net to another until at least records bytes
// have been acknowledged: fetch, patch in place, produce, release, want.
type relay struct {
	t      testing.TB
	f      *Fetcher
	p      *Producer
	target int64
	acked  atomic.Int64
	done   chan struct{}
}

func newRelay(t testing.TB, from, to *Net, o FetchOptions, depth int, target int64) *relay {
	r := &relay{t: t, target: target, done: make(chan struct{})}
	r.f = from.NewFetcher(o, r.forward)
	r.p = to.NewProducer(ProduceOptions{Depth: depth})
	return r
}

func (r *relay) forward(x Fetched) {
	if x.Code != 0 || x.Err != nil {
		r.t.Errorf("fetch: %+v", x)
		return
	}
	if len(x.Records) == 0 {
		return
	}
	var left atomic.Int32
	next := x.Offset
	var views []batch.View
	for rest := x.Records; len(rest) > 0; {
		v, behind, err := batch.Next(rest)
		if err != nil {
			r.t.Error(err)
			return
		}
		next = v.NextOffset()
		views, rest = append(views, v), behind
	}
	left.Store(int32(len(views)))
	for _, v := range views {
		batch.Patch(v, batch.NoStamp())
		r.p.Send(Batch{TP: x.TP, Bytes: v, Done: func(res Result) {
			if (res.Code != 0 || res.Err != nil) && r.acked.Load() < r.target {
				r.t.Errorf("produce: %+v", res)
			}
			if n := r.acked.Add(int64(len(v))); n >= r.target && n-int64(len(v)) < r.target {
				close(r.done)
			}
			if left.Add(-1) == 0 {
				x.Release()
				if r.acked.Load() < r.target {
					r.f.Want(x.TP, next, -1)
				}
			}
		}})
	}
}

// BenchmarkRelay forwards batches of the given size between two embedded
// clusters in this process, over 8 partitions. Their work is in the numbers:
// CPU and allocations are an upper bound.
func BenchmarkRelay(b *testing.B) {
	for _, kib := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%dKiB", kib), func(b *testing.B) {
			one := numbered(b, 0, 1, kib<<10, -1)
			source := fake(b, 1, "t", 8, kfake.SyntheticFetch(kfake.SyntheticBatch{Batch: one}))
			target := fake(b, 1, "t", 8, kfake.BlackholeProduce())
			r := newRelay(b, netTo(b, source, nil), netTo(b, target, nil), FetchOptions{}, 2, int64(b.N)*int64(len(one)))
			b.SetBytes(int64(len(one)))
			b.ReportAllocs()
			b.ResetTimer()
			stop := background(b, r.f.Run)
			stopProduce := background(b, r.p.Run)
			for part := range int32(8) {
				r.f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
			}
			<-r.done
			b.StopTimer()
			stop()
			stopProduce()
		})
	}
}

func TestRelay(t *testing.T) {
	source, target := fake(t, 2, "t", 4), fake(t, 2, "t", 4)
	from, to := netTo(t, source, nil), netTo(t, target, nil)
	fillers := startProducer(t, from, ProduceOptions{Depth: 5})
	var size int64
	for part := range int32(4) {
		fill(t, fillers, partition.ID{Topic: "t", Partition: part}, 100, 4, 300)
		size += 100 * int64(len(numbered(t, 0, 4, 300, -1)))
	}
	from.pool.freed = func(b []byte) {
		for i := range b {
			b[i] = 0xdb
		}
	}
	budget := NewBudget(1 << 20)
	r := newRelay(t, from, to, FetchOptions{Budget: budget, PartitionMaxBytes: 20_000}, 2, size)
	stop, stopProduce := background(t, r.f.Run), background(t, r.p.Run)
	for part := range int32(4) {
		r.f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
	}
	<-r.done
	for part := range int32(4) {
		wantRun(t, stored(t, to, partition.ID{Topic: "t", Partition: part}, 400), 400)
	}
	stop()
	stopProduce()
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are left", used)
	}
}
