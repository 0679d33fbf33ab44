package testcluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/pause"
)

// Isolation is a reader's isolation level, with Kafka's values.
type Isolation int8

const (
	// ReadUncommitted also returns records of open and aborted transactions.
	ReadUncommitted Isolation = 0
	// ReadCommitted returns what an exactly-once consumer sees, up to the last
	// stable offset.
	ReadCommitted Isolation = 1
)

// Rec is one record as a cluster holds it. A nil Key or Value is Kafka's null,
// an empty one is not.
type Rec struct {
	Partition int32
	Offset    int64
	Timestamp int64 // ms since 1970
	Key       []byte
	Value     []byte
	Headers   []kgo.RecordHeader
}

// Batch is what the header of one stored v2 batch says (KIP-98).
type Batch struct {
	Base, Last    int64 // first offset and last offset that the batch spans
	Count         int32 // records left in it; less than Last-Base+1 after compaction
	LeaderEpoch   int32
	Codec         int8 // 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
	Transactional bool
	Control       bool
	MaxTimestamp  int64
	ProducerID    int64 // -1 where the producer was not idempotent
	ProducerEpoch int16
	BaseSequence  int32
	Payload       []byte // the records, compressed as they are
}

// Read returns all records of a topic, by partition and then by offset, from
// the log starts to the log ends (or last stable offsets) as they are when Read
// is called. It fetches raw batches itself and asks the partition leaders only.
func Read(ctx context.Context, cl *kgo.Client, topic string, iso Isolation) ([]Rec, error) {
	ends, err := Ends(ctx, cl, topic, iso)
	if err != nil {
		return nil, err
	}
	starts, err := Starts(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	var recs []Rec
	for _, p := range slices.Sorted(maps.Keys(ends)) {
		err := scan(ctx, cl, topic, p, starts[p], ends[p], iso, func(part *kmsg.FetchResponseTopicPartition, from int64) (int64, error) {
			return appendRecords(&recs, part, topic, from, ends[p], iso)
		})
		if err != nil {
			return nil, fmt.Errorf("read %s-%d: %w", topic, p, err)
		}
	}
	return recs, nil
}

// ReadPartition is Read of one partition only.
func ReadPartition(ctx context.Context, cl *kgo.Client, topic string, partition int32, iso Isolation) ([]Rec, error) {
	recs, err := Read(ctx, cl, topic, iso)
	if err != nil {
		return nil, err
	}
	return OfPartition(recs, partition), nil
}

// OfPartition returns the records of one partition.
func OfPartition(recs []Rec, partition int32) []Rec {
	var out []Rec
	for _, r := range recs {
		if r.Partition == partition {
			out = append(out, r)
		}
	}
	return out
}

// Ends returns the log end of each partition, one past the last offset: the
// high watermark, or the last stable offset for ReadCommitted.
func Ends(ctx context.Context, cl *kgo.Client, topic string, iso Isolation) (map[int32]int64, error) {
	admin := kadm.NewClient(cl)
	list := admin.ListEndOffsets
	if iso == ReadCommitted {
		list = admin.ListCommittedOffsets
	}
	return offsets(ctx, topic, list)
}

// AwaitMarkers waits until no partition of a topic holds an open transaction.
// A producer's commit returns once the coordinator has decided; the markers
// reach the partitions after that, one by one, and a reader of committed
// records finds less until then.
func AwaitMarkers(ctx context.Context, cl *kgo.Client, topic string) error {
	return Await(ctx, "the transaction markers of "+topic, func(ctx context.Context) (bool, string, error) {
		ends, err := Ends(ctx, cl, topic, ReadUncommitted)
		if err != nil {
			return false, "", err
		}
		stable, err := Ends(ctx, cl, topic, ReadCommitted)
		if err != nil {
			return false, "", err
		}
		for p, end := range ends {
			if stable[p] < end {
				return false, fmt.Sprintf("partition %d is stable to %d of %d", p, stable[p], end), nil
			}
		}
		return true, "", nil
	})
}

// Starts returns the log start of each partition.
func Starts(ctx context.Context, cl *kgo.Client, topic string) (map[int32]int64, error) {
	return offsets(ctx, topic, kadm.NewClient(cl).ListStartOffsets)
}

func offsets(ctx context.Context, topic string, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (map[int32]int64, error) {
	listed, err := list(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	out := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	if len(out) == 0 {
		return nil, fmt.Errorf("list offsets of %s: %w", topic, kerr.UnknownTopicOrPartition)
	}
	return out, nil
}

// Batches returns the headers of all stored batches of a partition, in offset
// order: markers, aborted and emptied batches too.
func Batches(ctx context.Context, cl *kgo.Client, topic string, partition int32) ([]Batch, error) {
	ends, err := Ends(ctx, cl, topic, ReadUncommitted)
	if err != nil {
		return nil, err
	}
	starts, err := Starts(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	var batches []Batch
	err = scan(ctx, cl, topic, partition, starts[partition], ends[partition], ReadUncommitted,
		func(part *kmsg.FetchResponseTopicPartition, from int64) (int64, error) {
			got, err := parseBatches(part.RecordBatches)
			if err != nil {
				return 0, err
			}
			batches = append(batches, got...)
			return nextOffset(got, from), nil
		})
	if err != nil {
		return nil, fmt.Errorf("read batches of %s-%d: %w", topic, partition, err)
	}
	return batches, nil
}

// scan fetches a partition from next, its log start, until end is reached. take gets
// each answer that holds batches and returns the next offset to ask for.
func scan(ctx context.Context, cl *kgo.Client, topic string, partition int32, next, end int64, iso Isolation,
	take func(part *kmsg.FetchResponseTopicPartition, from int64) (next int64, err error),
) error {
	for next < end {
		part, err := fetch(ctx, cl, topic, partition, next, iso)
		if (kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err)) && ctx.Err() == nil {
			if !pause.For(ctx, 50*time.Millisecond) {
				return context.Cause(ctx) // a leader moves, a connection ended: ask for it again
			}
			continue
		}
		if err != nil {
			return err
		}
		if len(part.RecordBatches) == 0 {
			if !pause.For(ctx, time.Millisecond) {
				return fmt.Errorf("at offset %d of %d: %w", next, end, context.Cause(ctx))
			}
			continue
		}
		after, err := take(part, next)
		if err != nil {
			return err
		}
		if after <= next {
			return fmt.Errorf("no progress at offset %d", next)
		}
		next = after
	}
	return nil
}

// fetch asks the leader of a partition for records from offset on.
func fetch(ctx context.Context, cl *kgo.Client, topic string, partition int32, offset int64, iso Isolation) (*kmsg.FetchResponseTopicPartition, error) {
	leader, id, err := findLeader(ctx, cl, topic, partition)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 500, 1, 32<<20
	req.IsolationLevel = int8(iso)
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, id
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = partition, offset, 16<<20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, cl.Broker(int(leader)))
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errors.New("fetch answer does not hold the one partition asked for")
	}
	part := &resp.Topics[0].Partitions[0]
	return part, kerr.ErrorForCode(part.ErrorCode)
}

func findLeader(ctx context.Context, cl *kgo.Client, topic string, partition int32) (leader int32, id [16]byte, err error) {
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = new(topic)
	req.Topics = append(req.Topics, rt)
	const fresh = time.Second // one look-up for the fetches of a second
	resp, err := cl.RequestCachedMetadata(ctx, req, fresh)
	if err != nil {
		return 0, id, err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return 0, id, err
		}
		for _, p := range t.Partitions {
			if p.Partition == partition {
				return p.Leader, t.TopicID, kerr.ErrorForCode(p.ErrorCode)
			}
		}
	}
	return 0, id, kerr.UnknownTopicOrPartition
}

// appendRecords decodes an answer with franz-go's decoder, which is not the one
// under test.
func appendRecords(recs *[]Rec, part *kmsg.FetchResponseTopicPartition, topic string, from, end int64, iso Isolation) (int64, error) {
	headers, err := parseBatches(part.RecordBatches)
	if err != nil {
		return 0, err
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: from, Topic: topic, Partition: part.Partition, IsolationLevel: kgo.ReadUncommitted()}
	if iso == ReadCommitted {
		opts.IsolationLevel = kgo.ReadCommitted()
	}
	fetched, _ := kgo.ProcessFetchPartition(opts, part, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil {
		return 0, fetched.Err
	}
	for _, r := range fetched.Records {
		if r.Offset >= end {
			break
		}
		*recs = append(*recs, Rec{
			Partition: part.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(),
			Key: r.Key, Value: r.Value, Headers: r.Headers,
		})
	}
	return nextOffset(headers, from), nil
}

// nextOffset is one past the last batch. It comes from headers and not from
// records, since the last batches may hold no record that a reader gets.
func nextOffset(batches []Batch, from int64) int64 {
	if len(batches) == 0 {
		return from
	}
	return max(from, batches[len(batches)-1].Last+1)
}

// headerLen is the length of a v2 batch header, frameLen of its first two
// fields, which the length field does not count.
const (
	headerLen = 61
	frameLen  = 12
)

// parseBatches reads batch headers. A cut last batch, which brokers send at
// their size limit, is left out.
func parseBatches(buf []byte) ([]Batch, error) {
	var batches []Batch
	for len(buf) >= frameLen {
		size := frameLen + int(int32(binary.BigEndian.Uint32(buf[8:])))
		if size > len(buf) {
			break
		}
		if size < headerLen || buf[16] != 2 {
			return nil, fmt.Errorf("batch of %d bytes with magic %d is not a v2 batch", size, buf[16])
		}
		base := int64(binary.BigEndian.Uint64(buf))
		attributes := binary.BigEndian.Uint16(buf[21:])
		batches = append(batches, Batch{
			Base:          base,
			Last:          base + int64(int32(binary.BigEndian.Uint32(buf[23:]))),
			LeaderEpoch:   int32(binary.BigEndian.Uint32(buf[12:])),
			Codec:         int8(attributes & 0x7),
			Transactional: attributes&0x10 != 0,
			Control:       attributes&0x20 != 0,
			MaxTimestamp:  int64(binary.BigEndian.Uint64(buf[35:])),
			ProducerID:    int64(binary.BigEndian.Uint64(buf[43:])),
			ProducerEpoch: int16(binary.BigEndian.Uint16(buf[51:])),
			BaseSequence:  int32(binary.BigEndian.Uint32(buf[53:])),
			Count:         int32(binary.BigEndian.Uint32(buf[57:])),
			Payload:       buf[headerLen:size:size],
		})
		buf = buf[size:]
	}
	return batches, nil
}
