package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// lags are how many records groups have still to read when their position is translated.
func lags() []int64 { return []int64{0, 1, 50, 100, 1000, 10_000, 100_000, 500_000, 900_000} }

// BenchmarkReplays mirrors a plain topic of 1 M records in one partition, then lets groups of several lags appear on the
// source, and reports how many records each would read again if it moved to the target at the position that the mirror
// gave it. On a plain topic the right position on the target is the same number as on the source:
//
//	go test ./internal/e2e -run '^$' -bench Replays -benchtime 1x -timeout 20m
//
// MirrorMaker 2 looks at groups every 5 s instead of every 60 s (10 minutes for new ones); offset.lag.max is its default.
// A position counts once none has changed for three of these rounds.
func BenchmarkReplays(b *testing.B) {
	const everyRound = "5"
	mm2 := mirrorMaker("mm2", map[string]string{
		"sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": everyRound,
		"emit.checkpoints.interval.seconds": everyRound, "refresh.groups.interval.seconds": everyRound,
	})
	for i := range b.N {
		b.StopTimer()
		topic := fmt.Sprintf("replays%d%d", i, time.Now().UnixMilli())
		l := load{records: 1_000_000, value: 100, partitions: 1, batch: 12_600, codec: kgo.Lz4Compression()}
		fillBatches(b, topic, l)
		b.StartTimer()
		header := fmt.Sprintf("%-10s", "lag")
		for _, lag := range lags() {
			header += fmt.Sprintf(" %8d", lag)
		}
		rows := []string{"records read again after a move, by the group's lag", header}
		for n, m := range []mirrorOf{tidemark(), mm2} {
			again := replays(b, m, fmt.Sprintf("r%d%s", n, topic), topic, int64(l.records))
			row, sum, missing := fmt.Sprintf("%-10s", m.name), int64(0), 0
			for _, lag := range lags() {
				v, ok := again[lag]
				if !ok {
					missing++
					row += fmt.Sprintf(" %8s", "none")
					continue
				}
				sum += v
				row += fmt.Sprintf(" %8d", v)
			}
			rows = append(rows, row)
			b.ReportMetric(float64(sum), m.name+"-replays")
			b.ReportMetric(float64(missing), m.name+"-missing")
		}
		b.ReportMetric(0, "ns/op")
		b.Log("\n" + strings.Join(rows, "\n"))
	}
}

// replays runs a mirror on its own groups and gives the records read again by lag, without groups that got no position.
// A position past the committed one would skip records, which no mirror may.
func replays(b *testing.B, m mirrorOf, alias, topic string, records int64) map[int64]int64 {
	b.Helper()
	group := func(lag int64) string { return fmt.Sprintf("%s-lag-%d", alias, lag) }
	run := m.start(b, alias, topic, alias+"-lag-.*")
	f := newFlow(b, alias, topic, "none", "")
	f.arrived(topic, records, time.Now().Add(5*time.Minute))
	for _, lag := range lags() {
		f.commit(group(lag), map[string]map[int32]int64{topic: {0: records - lag}})
	}
	var names []string
	for _, lag := range lags() {
		names = append(names, group(lag))
	}
	again := map[int64]int64{}
	since := time.Now()
	const quiet = 16 * time.Second
	f.until(3*time.Minute, m.name+" to give groups their positions", func(ctx context.Context) (bool, string) {
		if err := run.alive(); err != nil {
			b.Fatal(err)
		}
		got := f.dst.FetchManyOffsets(ctx, names...)
		if err := got.Error(); err != nil {
			return false, err.Error()
		}
		now := map[int64]int64{}
		for _, lag := range lags() {
			if o, ok := got[group(lag)].Fetched.Lookup(alias+"."+topic, 0); ok && o.At >= 0 {
				now[lag] = records - lag - o.At
			}
		}
		if !maps.Equal(now, again) {
			again, since = now, time.Now()
		}
		return len(now) > 0 && time.Since(since) > quiet, fmt.Sprintf("%d of %d groups have one", len(now), len(names))
	})
	for lag, n := range again {
		if n < 0 {
			b.Errorf("%s: a group of lag %d would skip %d records", m.name, lag, -n)
		}
	}
	if err := run.stop(); err != nil {
		b.Fatal(err)
	}
	if n, err := testcluster.Ends(b.Context(), suite.target.Client(b), alias+"."+topic, testcluster.ReadUncommitted); err != nil || n[0] != records {
		b.Error(errors.Join(fmt.Errorf("%s: the target's log ends at %d, the source's at %d", m.name, n[0], records), err))
	}
	return again
}
