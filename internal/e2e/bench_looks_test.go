package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

// BenchmarkLooksAfterKill ends a worker of 32 lanes with 100 partitions each by SIGKILL, with something on the target of most
// of them that the ledger does not know, and reports how long the next one takes until all of them are mirrored again and
// the largest resident size that it has meanwhile.
//
//	go test ./internal/e2e -run '^$' -bench LooksAfterKill -benchtime 1x -timeout 20m
func BenchmarkLooksAfterKill(b *testing.B) {
	const lanes, partitions, records = 32, 3200, 3200 * 60
	path, err := failing()
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		f := newFlow(b, fmt.Sprintf("looks%d", i), `lo-.*`, `none`, "")
		f.yaml = strings.Replace(f.yaml, "lanes: 4,", fmt.Sprintf("lanes: %d,", lanes), 1)
		conn := suite.source.ClientOpts()
		if err := testcluster.CreateTopic(b.Context(), conn, "lo-many", partitions, nil); err != nil {
			b.Fatal(err)
		}
		if err := testcluster.Produce(b.Context(), conn, testcluster.Load{Topic: "lo-many", Partitions: partitions, Count: records, ValueBytes: 1000, BatchBytes: 30_000}); err != nil {
			b.Fatal(err)
		}
		w := f.worker(path, []string{fmt.Sprintf("TIDEMARK_FAILPOINTS=after-ack=%d", partitions)}, "--instance-id", "one")
		select {
		case <-w.done:
		case <-time.After(2 * time.Minute):
			b.Fatalf("the worker does not come to its %dth acknowledgement", partitions)
		}
		known := f.total(f.remote("lo-many"))
		b.StartTimer()
		began := time.Now()
		w = f.process("--instance-id", "one")
		f.until(5*time.Minute, "all records on the target", func(context.Context) (bool, string) {
			n := f.total(f.remote("lo-many"))
			return n >= records, fmt.Sprintf("%d of %d", n, records)
		})
		b.StopTimer()
		b.ReportMetric(time.Since(began).Seconds(), "mirrored-s")
		b.ReportMetric(float64(known), "known-records")
		b.ReportMetric(w.peak(b), "rss-MB")
		f.faultless("lo-many")
		_ = w.end(syscall.SIGTERM, 60*time.Second)
	}
}

// total is the sum of a topic's log ends on the target.
func (f *flow) total(topic string) (sum int64) {
	f.tb.Helper()
	ends, err := testcluster.Ends(f.tb.Context(), f.targetClient(), topic, testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	for _, e := range ends {
		sum += e
	}
	return sum
}
