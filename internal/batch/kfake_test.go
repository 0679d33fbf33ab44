package batch

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bytes that a franz-go producer wrote and a broker gave back, patched,
// produced again as raw bytes, and read by an ordinary consumer.
func TestThroughAFakeCluster(t *testing.T) {
	ctx := t.Context()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "source-none", "source-gzip", "source-snappy", "source-lz4", "source-zstd", "target"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	raw := client(t, cluster)

	b := NewBuilder()
	var want []string
	seq := int32(0)
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		topic := "source-" + Codec(i).String()
		producer := client(t, cluster, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic))
		for part := range 2 { // two batches a topic
			var records []*kgo.Record
			for n := range 50 {
				value := fmt.Sprintf("%s %d %s", topic, part*50+n, bytes.Repeat([]byte("x"), 40))
				want = append(want, value)
				records = append(records, &kgo.Record{Value: []byte(value), Headers: []kgo.RecordHeader{{Key: "n", Value: []byte{byte(n)}}}})
			}
			if err := producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}

		var in []View
		for rest := fetch(ctx, t, raw, topic); len(rest) > 0; {
			var v View
			if v, rest, err = Next(rest); err != nil {
				t.Fatal(err)
			}
			if v.Codec() != Codec(i) {
				t.Fatalf("%s: codec %v", topic, v.Codec())
			}
			if a, r := Decide(v, false, Case{Position: v.BaseOffset()}); a != Raw {
				t.Fatalf("%s: %v (%s)", topic, a, r)
			}
			in = append(in, v)
		}
		// The first goes raw, the rest merged, so that both forms are read.
		merged, err := b.Rebuild(in[1:], RebuildOptions{})
		if err != nil || len(merged) != 1 {
			t.Fatalf("%s: %d outputs, %v", topic, len(merged), err)
		}
		for _, v := range []View{in[0], merged[0].Bytes} {
			Patch(v, Stamp{ProducerID: 4711, Epoch: 0, Sequence: seq})
			if err := b.Validate(v, Rules{}); err != nil {
				t.Fatalf("%s: %v", topic, err)
			}
			produce(ctx, t, raw, "target", v)
			seq = NextSequence(seq, v.Count())
		}
	}

	consumer := client(t, cluster, kgo.ConsumeTopics("target"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for n := 0; n < len(want); {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != int64(n) || string(r.Value) != want[n] || len(r.Headers) != 1 {
				t.Fatalf("record %d at offset %d is %q, want %q", n, r.Offset, r.Value, want[n])
			}
			n++
		})
	}
}

func client(t *testing.T, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// topicID also makes the client know its broker, which raw requests need.
func topicID(ctx context.Context, t *testing.T, cl *kgo.Client, topic string) (id [16]byte, leader int32) {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = new(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Fatalf("metadata of %s: %v", topic, err)
	}
	return resp.Topics[0].TopicID, resp.Topics[0].Partitions[0].Leader
}

func fetch(ctx context.Context, t *testing.T, cl *kgo.Client, topic string) []byte {
	t.Helper()
	id, leader := topicID(ctx, t, cl, topic)
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic, ft.TopicID = topic, id
	ft.Partitions = append(ft.Partitions, p)
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes = 1 << 20
	req.Topics = append(req.Topics, ft)
	resp, err := cl.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	got := resp.(*kmsg.FetchResponse)
	if len(got.Topics) != 1 || kerr.ErrorForCode(got.Topics[0].Partitions[0].ErrorCode) != nil {
		t.Fatalf("fetch of %s: %+v", topic, got)
	}
	return bytes.Clone(got.Topics[0].Partitions[0].RecordBatches)
}

func produce(ctx context.Context, t *testing.T, cl *kgo.Client, topic string, batch []byte) {
	t.Helper()
	id, leader := topicID(ctx, t, cl, topic)
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	pt := kmsg.NewProduceRequestTopic()
	pt.Topic, pt.TopicID = topic, id
	pt.Partitions = append(pt.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	req.Topics = append(req.Topics, pt)
	resp, err := cl.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if err := kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}
