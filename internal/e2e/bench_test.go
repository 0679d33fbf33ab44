package e2e

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// BenchmarkLargeBatches mirrors 2 M records of 1 KB in batches of some 460 KB (lz4) between real brokers and reports the
// mirror's whole CPU time, start included, its largest resident size, and whether the target holds the same payload:
//
//	go test ./internal/e2e -run '^$' -bench LargeBatches -benchtime 1x -timeout 20m
func BenchmarkLargeBatches(b *testing.B) {
	const records = 2_000_000
	for i := range b.N {
		b.StopTimer()
		topic := fmt.Sprintf("bl-%d-%d", i, time.Now().UnixNano())
		fillBatches(b, topic, largeLoad(records))
		f := benchFlow(b, "bench"+topic[3:], topic)
		b.StartTimer()
		began := time.Now()
		w := f.process("--instance-id", "bench")
		f.arrived(topic, records, began.Add(5*time.Minute))
		b.ReportMetric(time.Since(began).Seconds(), "wall-s")
		b.StopTimer()
		b.ReportMetric(w.peak(b), "rss-MB")
		if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
			b.Fatal(err)
		}
		cpu := w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime()
		b.ReportMetric(cpu.Seconds(), "cpu-s")
		same, err := payloads(b.Context(), suite.source.Client(b), topic, suite.target.Client(b), f.alias+"."+topic)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(same)/1e6, "same-payload-MB")
	}
}

// peak is the largest resident size that the process had, MB.
func (w *worker) peak(b *testing.B) float64 {
	b.Helper()
	return peakOf(b, w.cmd.Process.Pid)
}

// arrived waits until the remote topic's log ends add up to n.
func (f *flow) arrived(topic string, n int64, deadline time.Time) {
	f.tb.Helper()
	ctx, cancel := context.WithDeadline(f.tb.Context(), deadline)
	defer cancel()
	cl := suite.target.Client(f.tb)
	err := testcluster.Await(ctx, topic+" on the target", func(ctx context.Context) (bool, string, error) {
		ends, err := testcluster.Ends(ctx, cl, f.alias+"."+topic, testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the error is the reason that the waiter shows
		}
		sum := int64(0)
		for _, e := range ends {
			sum += e
		}
		return sum >= n, fmt.Sprintf("%d of %d", sum, n), nil
	})
	if err != nil {
		f.tb.Fatal(err)
	}
}

// payloads compares the stored payload bytes of two topics partition by partition and gives their size. Batches may be
// cut differently only where small ones were merged, which these are not.
func payloads(ctx context.Context, a *kgo.Client, topicA string, b *kgo.Client, topicB string) (int64, error) {
	var total int64
	for p := range int32(6) {
		x, err := testcluster.Batches(ctx, a, topicA, p)
		if err != nil {
			return 0, err
		}
		y, err := testcluster.Batches(ctx, b, topicB, p)
		if err != nil {
			return 0, err
		}
		if len(x) != len(y) {
			return 0, fmt.Errorf("partition %d: %d batches on the source, %d on the target", p, len(x), len(y))
		}
		for i := range x {
			if !bytes.Equal(x[i].Payload, y[i].Payload) {
				return 0, fmt.Errorf("partition %d batch %d differs", p, i)
			}
			total += int64(len(x[i].Payload))
		}
	}
	return total, nil
}
