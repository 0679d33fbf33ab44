package e2e

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tuned is what one sets in MirrorMaker 2 for throughput: compressed batches of up to 1 MB that wait up to 50 ms, and
// 5 MB a partition in a fetch. The producer of records is the Connect worker's, so its keys are the target's.
func tuned() map[string]string {
	return map[string]string{
		"T.producer.compression.type": "lz4", "T.producer.batch.size": "1048576", "T.producer.linger.ms": "50",
		"SOURCE.consumer.max.partition.fetch.bytes": "5242880",
	}
}

// BenchmarkSideBySide runs `tidemark run`, MirrorMaker 2 as it comes and MirrorMaker 2 tuned on the same brokers, one after
// the other, each to a fresh remote topic, and reports what each took and the ratios, theirs by ours:
//
//	go test ./internal/e2e -run '^$' -bench SideBySide -benchtime 1x -timeout 40m
//
// Runs of Tidemark that do not count go first, until the JVM of the target broker has compiled what it needs. "cpu" and
// "target-cpu" begin with the first mirrored record, "all-cpu" with the process: MirrorMaker 2 starts for some 15 s. All
// of it took 11 minutes on two cores that other work kept busy (load 20); -part makes it shorter.
func BenchmarkSideBySide(b *testing.B) {
	optimised(b)
	for _, w := range loads() {
		b.Run(w.name, func(b *testing.B) {
			for i := range b.N {
				sideBySide(b, fmt.Sprintf("%s%d%d", w.name, i, time.Now().UnixMilli()), w.load)
			}
		})
	}
}

// work is a load with the name of its row in docs/performance.md.
type work struct {
	name string
	load load
}

func loads() []work {
	return []work{
		{"large", largeLoad(scaled(2_000_000))},
		// 117 records of 100 bytes compress to about 5.6 KB.
		{"small", load{records: scaled(10_000_000), value: 100, partitions: 6, batch: 12_600, codec: kgo.Lz4Compression()}},
		{"single", load{records: scaled(2_000_000), value: 300, partitions: 6}},
	}
}

func sideBySide(b *testing.B, topic string, l load) {
	b.StopTimer()
	fillBatches(b, topic, l)
	records := ends(b, suite.source, topic)
	wire := logSize(b, suite.source, topic)
	rows := []string{fmt.Sprintf("%d records, %.0f MB on the source, load average %s", records, float64(wire)/1e6, loadAverage(b)), costHeader}
	remotes := warm(b, topic, l, records)
	b.StartTimer()
	var costs []cost
	for i, m := range []mirrorOf{tidemark(), mirrorMaker("mm2", nil), mirrorMaker("mm2tuned", tuned())} {
		alias := fmt.Sprintf("m%d%s", i, topic)
		c := measure(b, m, alias, topic, l, records)
		remotes = append(remotes, alias+"."+topic)
		rows = append(rows, c.row(m.name))
		costs = append(costs, c)
		report(b, m.name, c)
	}
	b.StopTimer()
	ratios(b, "", costs[0], costs[1])
	ratios(b, "tuned-", costs[0], costs[2])
	b.ReportMetric(0, "ns/op") // the sum of three mirrors and their starts says nothing
	b.Log("\n" + strings.Join(rows, "\n"))
	drop(b, suite.source, topic)
	drop(b, suite.target, remotes...)
}

// warm mirrors the topic until the target broker no longer needs much less CPU than the time before, and gives the remote
// topics. One run is not enough: the broker then still paid 7 s for what later took it 3.4 s, and that would count
// against whichever mirror goes first.
func warm(b *testing.B, topic string, l load, records int64) []string {
	const most, steady = 5, 0.9
	var remotes []string
	last := time.Duration(math.MaxInt64)
	for i := range most {
		alias := fmt.Sprintf("warm%d%s", i, topic)
		remotes = append(remotes, alias+"."+topic)
		c := measure(b, tidemark(), alias, topic, l, records)
		if c.target.Seconds() > steady*last.Seconds() {
			break
		}
		last = c.target
	}
	return remotes
}

const costHeader = "              wall s   cpu s  all-cpu s  target-cpu s  rss MB  stored MB  start s  first seen"

func (c cost) row(name string) string {
	return fmt.Sprintf("%-10s %9.2f %7.2f %10.2f %13.2f %7.0f %10.0f %8.1f %11d", name, c.wall.Seconds(), c.cpu.Seconds(),
		c.allCPU.Seconds(), c.target.Seconds(), c.rssMB, float64(c.stored)/1e6, c.started.Seconds(), c.seen)
}

func report(b *testing.B, name string, c cost) {
	b.ReportMetric(c.wall.Seconds(), name+"-wall-s")
	b.ReportMetric(c.cpu.Seconds(), name+"-cpu-s")
	b.ReportMetric(c.allCPU.Seconds(), name+"-all-cpu-s")
	b.ReportMetric(c.target.Seconds(), name+"-target-cpu-s")
	b.ReportMetric(c.rssMB, name+"-rss-MB")
	b.ReportMetric(float64(c.stored)/1e6, name+"-stored-MB")
}

// ratios reports theirs by ours: above 1 Tidemark takes less.
func ratios(b *testing.B, kind string, ours, theirs cost) {
	const tick = 0.01 // of the CPU clock: a scaled down run may use less
	by := func(theirs, ours float64) float64 { return theirs / max(ours, tick) }
	b.ReportMetric(by(theirs.wall.Seconds(), ours.wall.Seconds()), kind+"wall-ratio")
	b.ReportMetric(by(theirs.cpu.Seconds(), ours.cpu.Seconds()), kind+"cpu-ratio")
	b.ReportMetric(by(theirs.allCPU.Seconds(), ours.allCPU.Seconds()), kind+"all-cpu-ratio")
	b.ReportMetric(by(theirs.target.Seconds(), ours.target.Seconds()), kind+"target-cpu-ratio")
	b.ReportMetric(by(theirs.rssMB, ours.rssMB), kind+"rss-ratio")
}

// loadAverage is the machine's, over one minute: numbers taken beside other work are worth less.
func loadAverage(b *testing.B) string {
	b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
