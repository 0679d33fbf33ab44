package e2e

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

var (
	former = flag.String("former", "c7e2eac", "revision whose binary BenchmarkFormer measures beside this one: the first one measured beside MirrorMaker 2")
	turns  = flag.Int("turns", 5, "how often BenchmarkFormer measures each binary")
)

// BenchmarkFormer runs the binary of an earlier revision and this one in turns on the same brokers, each to a fresh remote
// topic, and reports the medians of what they took, and the largest resident size. One run of each would say nothing: on shared cores the same binary's
// CPU-seconds differ by a third.
//
//	go test ./internal/e2e -run '^$' -bench Former -former REV -benchtime 1x -timeout 40m
func BenchmarkFormer(b *testing.B) {
	path, err := testcluster.BuildRevision(*former, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	optimised(b)
	for _, w := range loads() {
		b.Run(w.name, func(b *testing.B) {
			for i := range b.N {
				inTurns(b, fmt.Sprintf("f%s%d%d", w.name, i, time.Now().UnixMilli()), w.load, []mirrorOf{tidemarkBy("former", path), tidemark()})
			}
		})
	}
}

func inTurns(b *testing.B, topic string, l load, mirrors []mirrorOf) {
	b.StopTimer()
	fillBatches(b, topic, l)
	records := ends(b, suite.source, topic)
	remotes := warm(b, topic, l, records)
	rows := []string{"load average " + loadAverage(b), costHeader}
	costs := make([][]cost, len(mirrors))
	for turn := range *turns {
		for i, m := range mirrors {
			alias := fmt.Sprintf("t%dm%d%s", turn, i, topic)
			c := measure(b, m, alias, topic, l, records)
			drop(b, suite.target, alias+"."+topic)
			rows = append(rows, c.row(m.name))
			costs[i] = append(costs[i], c)
		}
	}
	var medians []cost
	for i, m := range mirrors {
		c := costs[i][0]
		c.wall = medianOf(costs[i], func(c cost) time.Duration { return c.wall })
		c.cpu = medianOf(costs[i], func(c cost) time.Duration { return c.cpu })
		c.allCPU = medianOf(costs[i], func(c cost) time.Duration { return c.allCPU })
		c.target = medianOf(costs[i], func(c cost) time.Duration { return c.target })
		for _, turn := range costs[i] {
			c.rssMB = max(c.rssMB, turn.rssMB)
		}
		report(b, m.name, c)
		rows = append(rows, c.row("median "+m.name))
		medians = append(medians, c)
	}
	ratios(b, "", medians[1], medians[0])
	b.ReportMetric(0, "ns/op")
	b.Log("\n" + strings.Join(rows, "\n"))
	drop(b, suite.source, topic)
	drop(b, suite.target, remotes...)
}

// medianOf is the median of one figure.
func medianOf(costs []cost, of func(cost) time.Duration) time.Duration {
	var all []time.Duration
	for _, c := range costs {
		all = append(all, of(c))
	}
	return median(all)
}
