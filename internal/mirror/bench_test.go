package mirror

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/pause"
)

// BenchmarkTinyBatches mirrors one-record batches between embedded clusters, where everything that is kept per batch
// shows: run it with -memprofile.
func BenchmarkTinyBatches(b *testing.B) {
	const n = 100_000
	r := newRig(b, 1)
	r.create(r.src, "tiny", 1, nil)
	r.create(r.dst, "A.tiny", 1, nil)
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.source.ListenAddrs()...), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(1024))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	for range n {
		cl.Produce(b.Context(), &kgo.Record{Topic: "tiny", Value: make([]byte, 900)}, nil)
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		run := r.start(r.partitions("tiny"))
		for run.flow.Totals().Records.Load() < n {
			if !pause.For(b.Context(), 5*time.Millisecond) {
				b.Fatal("no end")
			}
		}
		t := run.flow.Totals()
		b.ReportMetric(float64(t.Batches.Load()), "batches")
		run.kill()
		run.wg.Wait()
		run.flow.Close()
	}
}
