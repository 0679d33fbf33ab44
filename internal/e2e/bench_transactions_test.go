package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// fillTransactions writes n transactions of one record each to one partition.
func fillTransactions(b *testing.B, bootstrap []string, topic string, n int64) {
	b.Helper()
	var done atomic.Int64
	g, ctx := errgroup.WithContext(b.Context())
	for w := range 16 {
		g.Go(func() error {
			cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, w)), kgo.ProducerLinger(0))
			if err != nil {
				return err
			}
			defer cl.Close()
			for i := done.Add(1); i <= n; i = done.Add(1) {
				if err := cl.BeginTransaction(); err != nil {
					return err
				}
				if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "seq=%d", i)}).FirstErr(); err != nil {
					return err
				}
				if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOneRecordTransactions mirrors a partition of 1 M transactions of one record each, the worst case of an offset
// map, from an embedded source (a real broker takes ten minutes and more to write them) to the real target, and reports
// what the ledger then holds, how long it takes to load, and a lookup in it:
//
//	go test ./internal/e2e -run '^$' -bench OneRecordTransactions -benchtime 1x -timeout 30m
func BenchmarkOneRecordTransactions(b *testing.B) {
	const n = 1_000_000
	for i := range b.N {
		b.StopTimer()
		source, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("bench-source"), kfake.SeedTopics(1, "bt"))
		if err != nil {
			b.Fatal(err)
		}
		fillTransactions(b, source.ListenAddrs(), "bt", n)
		alias := fmt.Sprintf("bt%d%d", i, time.Now().Unix())
		f := benchFlow(b, alias, "bt")
		f.yaml = strings.Replace(f.yaml, suite.source.BootstrapString(), strings.Join(source.ListenAddrs(), ","), 1)
		b.StartTimer()
		began := time.Now()
		w := f.process("--instance-id", "bench")
		f.arrived("bt", n, began.Add(10*time.Minute))
		b.ReportMetric(time.Since(began).Seconds(), "wall-s")
		b.StopTimer()
		b.ReportMetric(w.peak(b), "rss-MB")
		if err := w.end(syscall.SIGTERM, 60*time.Second); err != nil {
			b.Fatal(err)
		}
		cpu := w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime()
		b.ReportMetric(cpu.Seconds(), "cpu-s")
		m, size, took := loadLedger(b, f, "bt")
		b.ReportMetric(float64(size)/1e6, "ledger-MB")
		b.ReportMetric(took.Seconds()*1000, "load-ms")
		b.ReportMetric(float64(lookups(m, 2*n).Nanoseconds()), "lookup-ns")
		source.Close()
	}
}

// loadLedger reads the flow's ledger as a lane would and gives the map of partition 0, the bytes of its newest records,
// and the time it took.
func loadLedger(b *testing.B, f *flow, topic string) (*offsetmap.Map, int, time.Duration) {
	b.Helper()
	cl, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: suite.target.Bootstrap()}, f.log)
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	net := wire.New(cl.Cluster(), kafka.NewMetadata(cl), f.log)
	defer net.Close()
	tp := partition.ID{Topic: ledger.TopicName(f.alias), Partition: ledger.LaneOf(topic, 0, 4)}
	ends, err := kadm.NewClient(suite.target.Client(b)).ListEndOffsets(b.Context(), tp.Topic)
	if err != nil {
		b.Fatal(err)
	}
	end, _ := ends.Lookup(tp.Topic, tp.Partition)
	began := time.Now()
	c := ledger.NewContents()
	newest := map[string]int{}
	builder := batch.NewBuilder()
	err = net.Scan(context.WithoutCancel(b.Context()), tp, 0, end.Offset, 0, func(v batch.View, _ bool) error {
		if v.Control() || v.Count() == 0 {
			return nil
		}
		return builder.Each(v, func(r batch.Record) error {
			newest[string(r.Key)] = len(r.Key) + len(r.Value)
			return c.Apply(r.Offset, r.Key, r.Value)
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	m, err := c.Map(partition.ID{Topic: topic, Partition: 0})
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	size := 0
	for _, n := range newest {
		size += n
	}
	return m, size, took
}

func lookups(m *offsetmap.Map, span int64) time.Duration {
	const n = 1_000_000
	rnd := rand.New(rand.NewPCG(1, 1))
	at := make([]offsetmap.SourceOffset, n)
	for i := range at {
		at[i] = offsetmap.SourceOffset(rnd.Int64N(span))
	}
	began := time.Now()
	var sum offsetmap.TargetOffset
	for _, c := range at {
		sum += m.Next(c).Target
	}
	if sum < 0 {
		panic("offsets are not negative")
	}
	return time.Since(began) / n
}
