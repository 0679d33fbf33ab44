package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// mergeBelow builds a tidemark that merges batches below a wire size, whatever their codec: 0 never merges. The product
// has no such knob, as nobody should have to turn it; here the compiler is handed another body of lane.MergeBelow
// (go build -overlay), so that everything else is the product's.
func mergeBelow(b *testing.B, limit int) string {
	b.Helper()
	path, err := filepath.Abs("../lane/group.go")
	if err != nil {
		b.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	const head = "func MergeBelow(codec uint8) int {\n"
	text := strings.Replace(string(source), head, head+fmt.Sprintf("\tif true {\n\t\treturn %d\n\t}\n", limit), 1)
	if text == string(source) {
		b.Fatalf("%s has no %q", path, head)
	}
	dir := b.TempDir()
	changed, overlay, out := filepath.Join(dir, "group.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tidemark")
	mapping, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{changed: []byte(text), overlay: mapping} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.CommandContext(b.Context(), "go", "build", "-overlay", overlay, "-o", out, "tidemark/cmd/tidemark")
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build tidemark that merges below %d: %v: %s", limit, err, text)
	}
	return out
}

// built is tidemark run from another binary.
func built(name, path string) mirrorOf {
	return mirrorOf{name: name, start: func(b *testing.B, alias, topic, groups string) mirror {
		saved := binary
		defer func() { binary = saved }()
		binary = func() (string, error) { return path, nil }
		return tidemark().start(b, alias, topic, groups)
	}}
}

// BenchmarkMergeThreshold measures whether merging pays, by codec and size of the source's batches on the wire: the CPU
// of mirror and target broker together, with merging forced off and on, medians of three alternating runs
// after one of each that does not count.
// saved-us/batch is what merging saves for each source batch; where it turns negative lies the threshold that
// lane.MergeBelow should have:
//
//	go test ./internal/e2e -run '^$' -bench MergeThreshold -benchtime 1x -timeout 40m
func BenchmarkMergeThreshold(b *testing.B) {
	optimised(b)
	raw, merged := mergeBelow(b, 0), mergeBelow(b, 1<<30)
	for _, c := range []struct {
		codec   string
		by      kgo.CompressionCodec
		value   int
		batches []int32 // most bytes before compression; on the wire compressed ones have about half
	}{
		{"none", kgo.NoCompression(), 1000, []int32{8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10}},
		{"lz4", kgo.Lz4Compression(), 100, []int32{2 << 10, 4 << 10, 6 << 10, 9 << 10, 18 << 10}},
		{"zstd", kgo.ZstdCompression(), 100, []int32{1300, 2 << 10, 3 << 10, 6 << 10, 12 << 10}},
	} {
		for _, size := range c.batches {
			// 30,000 batches cost about a second of CPU; large ones would fill the disk before.
			const batches, bytes = 30_000, 600 << 20
			n := min(batches*int(size), bytes) / (c.value + 8)
			l := load{records: scaled(n), value: c.value, partitions: 6, batch: size, codec: c.by}
			b.Run(fmt.Sprintf("%s-%d", c.codec, size), func(b *testing.B) {
				for i := range b.N {
					threshold(b, fmt.Sprintf("t%s%d%d%d", c.codec, size, i, time.Now().UnixMilli()), l, built("raw", raw), built("merged", merged))
				}
			})
		}
	}
}

func threshold(b *testing.B, topic string, l load, raw, merged mirrorOf) {
	fillBatches(b, topic, l)
	records := ends(b, suite.source, topic)
	batches, err := testcluster.Batches(b.Context(), suite.source.Client(b), topic, 0)
	if err != nil {
		b.Fatal(err)
	}
	const header, runs = 61, 4
	wire := 0
	for _, v := range batches {
		wire += header + len(v.Payload)
	}
	total := float64(len(batches)) * float64(l.partitions)
	spent := map[string][]time.Duration{}
	mine := map[string][]time.Duration{}
	for i := range runs {
		for _, m := range []mirrorOf{raw, merged} {
			alias := fmt.Sprintf("%s%d%s", m.name, i, topic)
			c := measure(b, m, alias, topic, l, records)
			drop(b, suite.target, alias+"."+topic)
			if i == 0 {
				continue // the target's JVM compiles what these batches need
			}
			spent[m.name] = append(spent[m.name], c.cpu+c.target)
			mine[m.name] = append(mine[m.name], c.cpu)
		}
	}
	drop(b, suite.source, topic)
	for _, m := range []mirrorOf{raw, merged} {
		b.ReportMetric(median(spent[m.name]).Seconds(), m.name+"-cpu-s")
		b.ReportMetric(median(mine[m.name]).Seconds(), m.name+"-mirror-cpu-s")
	}
	b.ReportMetric(float64(wire)/float64(len(batches)), "wire-B/batch")
	b.ReportMetric(float64((median(spent[raw.name])-median(spent[merged.name])).Microseconds())/total, "saved-us/batch")
	b.ReportMetric(0, "ns/op")
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
