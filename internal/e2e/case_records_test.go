package e2e

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// oddRecords are the contents that copies get wrong, each with the name of what is odd. Partitions are named and follow
// no hash of the key. Without nullKeys all keys are there, as a compacted topic wants it.
func oddRecords(topic string, nullKeys bool) map[string]*kgo.Record {
	many := make([]kgo.RecordHeader, 1000)
	for i := range many {
		many[i] = kgo.RecordHeader{Key: fmt.Sprintf("h%d", i%7), Value: fmt.Appendf(nil, "%d", i)}
	}
	of := func(key, value []byte, headers ...kgo.RecordHeader) *kgo.Record {
		return &kgo.Record{Key: key, Value: value, Headers: headers}
	}
	k := func(name string) []byte { return []byte("key " + name) }
	now := time.Now()
	dated := func(name string, ms int64) *kgo.Record {
		r := of(k(name), []byte(name))
		r.Timestamp = time.UnixMilli(ms)
		return r
	}
	recs := map[string]*kgo.Record{
		"empty key":           of([]byte{}, []byte("v")),
		"0xff key":            of([]byte{0xff, 0xff, 0xff, 0xff}, []byte("v")),
		"key that starts 0":   of([]byte{0, 0, 0, 0, 1}, []byte("v")),
		"tombstone":           of(k("tombstone"), nil),
		"empty value":         of(k("empty value"), []byte{}),
		"value starts 0":      of(k("value starts 0"), []byte{0, 'a'}),
		"schema id":           of(k("schema id"), []byte{0, 0, 0, 0, 1, 'a'}),
		"not utf-8":           of(k("not utf-8"), []byte{0xc3, 0x28, 0xff, 0xfe}),
		"large":               of(k("large"), bytes.Repeat([]byte{0xa5, 0, 1}, 200_000)),
		"duplicate headers":   of(k("dup"), []byte("v"), kgo.RecordHeader{Key: "a", Value: []byte("1")}, kgo.RecordHeader{Key: "b"}, kgo.RecordHeader{Key: "a", Value: []byte("2")}),
		"null header value":   of(k("nullh"), []byte("v"), kgo.RecordHeader{Key: "a", Value: nil}),
		"empty header value":  of(k("emptyh"), []byte("v"), kgo.RecordHeader{Key: "a", Value: []byte{}}),
		"empty header name":   of(k("nameh"), []byte("v"), kgo.RecordHeader{Key: "", Value: []byte("v")}),
		"1000 headers":        of(k("many"), []byte("v"), many...),
		"tombstone, headers":  of(k("tombh"), nil, kgo.RecordHeader{Key: "why", Value: []byte("gone")}),
		"timestamp 0":         dated("timestamp 0", 0),
		"no timestamp":        dated("no timestamp", -1),
		"1970":                dated("1970", 86_400_000),
		"2100":                dated("2100", time.Date(2100, time.June, 1, 0, 0, 0, 1e6, time.UTC).UnixMilli()),
		"a day ahead of time": dated("tomorrow", now.Add(24*time.Hour).UnixMilli()),
	}
	if nullKeys {
		recs["null key"] = of(nil, []byte("v"))
		recs["null key, null value"] = of(nil, nil)
		recs["null key, empty value"] = of(nil, []byte{})
	}
	partition := int32(0)
	for _, r := range recs {
		r.Topic, r.Partition = topic, partition%4
		if r.Timestamp.IsZero() {
			r.Timestamp = now
		}
		partition++
	}
	return recs
}

// TestCase18RecordFidelity: key, value, headers with their order and nulls, timestamp and partition number of every odd
// record arrive to the byte, whether it came alone, in one batch with the others, compressed, or on a compacted topic.
func TestCase18RecordFidelity(t *testing.T) {
	t.Parallel()
	// By default the limits of timestamps are left to the target, which would refuse records from the future.
	f := newFlow(t, "c18", "c18-.*", "c18-.*", ", config_properties_exclude: []")
	future := map[string]string{"message.timestamp.after.max.ms": "9223372036854775807"}
	compacted := map[string]string{"message.timestamp.after.max.ms": "9223372036854775807", "cleanup.policy": "compact"}
	f.topic("c18-single", 4, future)
	f.topic("c18-batch", 4, future)
	f.topic("c18-compacted", 4, compacted)
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.ZstdCompression()} {
		cl := suite.source.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec))
		var recs []*kgo.Record
		for _, r := range oddRecords("c18-batch", true) {
			recs = append(recs, r)
		}
		if err := cl.ProduceSync(t.Context(), recs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	count := 0
	for _, r := range oddRecords("c18-single", true) {
		f.write(r)
		count++
	}
	for _, r := range oddRecords("c18-compacted", false) {
		f.write(r)
	}
	f.start()
	f.same("c18-single", "c18-batch", "c18-compacted")
	_, target := f.copied("c18-single", testcluster.ReadCommitted)
	if len(target) != count {
		t.Errorf("%d records on the target, want %d", len(target), count)
	}

	// Positions between them are exact too: what tells these records apart is not a number.
	at := spots{}
	for p := range int32(4) {
		for c := range f.sourceEnd("c18-single", p) + 1 {
			at.add(fmt.Sprintf("c18-%d", c), "c18-single", p, c)
		}
	}
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
}

// TestCase18NullKeysOnACompactedTarget: a topic got records without key while it was not compacted, and is compacted
// now. Brokers refuse these records on the remote topic: that partition stops and says so, its neighbours go on.
func TestCase18NullKeysOnACompactedTarget(t *testing.T) {
	t.Parallel()
	const topic = "c18n-t"
	f := newFlow(t, "c18n", topic, "c18n-.*", "")
	f.topic(topic, 2, nil)
	bare := numbered(topic, 0, 5)
	bare.Key = nil
	for seq := range int64(5) {
		f.write(numbered(topic, 0, seq))
	}
	f.write(bare)
	f.write(numbered(topic, 1, 100), numbered(topic, 1, 101))
	compact := "compact"
	if _, err := f.src.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &compact}}, topic); err != nil {
		t.Fatal(err)
	}
	at := spots{}
	at.add("c18n-g", topic, 0, 2)
	at.add("c18n-h", topic, 1, 1)
	f.commitAll(at)
	f.start()
	tcl := suite.target.Client(t)
	f.stopped(tcl, spot{"c18n-g", topic, 0}, "without key", "compacted")
	f.write(numbered(topic, 1, 102))
	f.until(30*time.Second, "the neighbour goes on", func(ctx context.Context) (bool, string) {
		ends, err := testcluster.Ends(ctx, tcl, f.remote(topic), testcluster.ReadUncommitted)
		return err == nil && ends[1] == 3, fmt.Sprint(ends, err)
	})
	f.reaches("c18n-h", topic, 1, 1)
}
