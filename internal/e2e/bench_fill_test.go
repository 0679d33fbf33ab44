package e2e

import (
	encoding "encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
)

// load is what a benchmark writes to a topic before it starts a mirror.
type load struct {
	records    int
	value      int // bytes of a value
	partitions int32
	batch      int32 // most bytes of a batch before compression; 0 means one record a batch, uncompressed
	codec      kgo.CompressionCodec
}

// largeLoad is n records of 1,000 bytes in lz4 batches of some 460 KB on the wire.
func largeLoad(n int) load {
	return load{records: n, value: 1000, partitions: 6, batch: 1 << 20, codec: kgo.Lz4Compression()}
}

// values makes the values of records, each of a size in bytes: 46 % noise, the same on every run, and the rest repeats, as
// in JSON.
func values(size int) func(i int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	varied := size * 46 / 100
	fixed := fmt.Appendf(nil, "%0*d", size-varied, 0)
	return func(i int) []byte {
		const step = 0x9e3779b97f4a7c15 // scatters: neighbours that overlap would compress away
		at := int(uint64(i) * step >> 20 % uint64(len(noise)-varied))
		return append(append(make([]byte, 0, size), noise[at:at+varied]...), fixed...)
	}
}

// fillBatches creates a topic on the source and writes the load to it.
func fillBatches(b *testing.B, topic string, l load) {
	b.Helper()
	conn := suite.source.ClientOpts()
	if err := testcluster.CreateTopic(b.Context(), conn, topic, l.partitions, nil); err != nil {
		b.Fatal(err)
	}
	if l.batch == 0 {
		fillSingles(b, topic, l)
		return
	}
	const buffered = 64 << 20
	cl, err := kgo.NewClient(append(conn, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(l.codec),
		kgo.ProducerBatchMaxBytes(l.batch), kgo.ProducerLinger(200*time.Millisecond), kgo.MaxBufferedRecords(buffered/l.value))...)
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	value := values(l.value)
	for i := range l.records {
		r := &kgo.Record{Topic: topic, Partition: int32(i / 1000 % int(l.partitions)), Value: value(i)}
		cl.Produce(b.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// fillSingles writes every record as a batch of its own. kgo cannot: its least batch size is 1 KiB, which several small
// records share. The number of records is rounded up to full requests, and the topic's log ends say how many there are.
func fillSingles(b *testing.B, topic string, l load) {
	b.Helper()
	requests := int64(l.records+int(l.partitions)-1) / int64(l.partitions)
	value := values(l.value)
	var sent atomic.Int64
	g, ctx := errgroup.WithContext(b.Context())
	const connections, inFlight = 3, 4
	for range connections {
		// Version 9 names topics; from 13 on requests hold topic ids.
		cl := suite.source.Client(b, kgo.MaxVersions(kversion.V3_0_0()))
		for range inFlight {
			g.Go(func() error {
				for n := sent.Add(1); n <= requests; n = sent.Add(1) {
					req := singles(topic, l.partitions, value(int(n)), time.Now().UnixMilli())
					resp, err := req.RequestWith(ctx, cl.Broker(int(suite.source.NodeID(0))))
					if err != nil {
						return err
					}
					for _, p := range resp.Topics[0].Partitions {
						if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
							return fmt.Errorf("write %s-%d: %w", topic, p.Partition, err)
						}
					}
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// singles is a request with one record of one batch for each partition.
func singles(topic string, partitions int32, value []byte, now int64) *kmsg.ProduceRequest {
	record := append([]byte{0, 0, 0}, 1) // attributes, timestamp and offset deltas, no key
	record = encoding.AppendVarint(record, int64(len(value)))
	record = append(append(record, value...), 0) // no headers
	k := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: 1, Records: append(encoding.AppendVarint(nil, int64(len(record))), record...),
	}
	batch := k.AppendTo(nil)
	encoding.BigEndian.PutUint32(batch[8:], uint32(len(batch)-12))
	encoding.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, 10_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	for p := range partitions {
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = p, batch
		t.Partitions = append(t.Partitions, part)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// ends adds up the log ends of a topic of either cluster; 0 where it does not exist yet.
func ends(b *testing.B, r *testcluster.Real, topic string) int64 {
	b.Helper()
	listed, err := kadm.NewClient(r.Client(b)).ListEndOffsets(b.Context(), topic)
	if err != nil {
		b.Fatal(err)
	}
	sum := int64(0)
	listed.Each(func(o kadm.ListedOffset) { sum += max(o.Offset, 0) })
	return sum
}

// logSize is how many bytes a topic takes on a cluster of one broker.
func logSize(b *testing.B, r *testcluster.Real, topic string) int64 {
	b.Helper()
	var set kadm.TopicsSet
	set.Add(topic, 0, 1, 2, 3, 4, 5)
	dirs, err := kadm.NewClient(r.Client(b)).DescribeAllLogDirs(b.Context(), set)
	if err != nil {
		b.Fatal(err)
	}
	size := int64(0)
	dirs.Each(func(d kadm.DescribedLogDir) { size += d.Size() })
	return size
}

// drop deletes topics, so that a long benchmark does not fill the disk.
func drop(b *testing.B, r *testcluster.Real, topics ...string) {
	b.Helper()
	if _, err := kadm.NewClient(r.Client(b)).DeleteTopics(b.Context(), topics...); err != nil {
		b.Error(err)
	}
}
