package testcluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Codec is a compression codec by its name in topic configurations: "none",
// "gzip", "snappy", "lz4" or "zstd". The empty value is none.
type Codec string

// Codecs returns every codec of Kafka.
func Codecs() []Codec { return []Codec{"none", "gzip", "snappy", "lz4", "zstd"} }

func (c Codec) kgo() (kgo.CompressionCodec, error) {
	switch c {
	case "", "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	}
	return kgo.NoCompression(), fmt.Errorf("unknown codec %q", string(c))
}

// Load describes records to produce. Record i of Count has the sequence number
// First+i, goes to partition (First+i) mod Partitions and is stamped
// Start + i*Step, so that one Load always gives the same records.
type Load struct {
	Topic      string
	Partitions int32 // 1 where 0
	First      int64 // the first sequence number
	Count      int64
	Keys       int64 // how many different keys a partition has; 0: each record its own
	ValueBytes int   // size of a value; 60 where 0
	Codec      Codec
	BatchBytes int32     // upper bound of a batch; kgo's default (1 MB) where 0
	OneByOne   bool      // wait for each record before the next: one-record batches
	Start      time.Time // timestamp of the first record; now where zero
	Step       time.Duration
	// TombstoneEvery makes each n-th record a deletion: a null value, with the
	// sequence number in the header "seq".
	TombstoneEvery int64
	// Varied mixes in null and empty keys, empty and null header values, and
	// up to three headers.
	Varied bool
}

func (l Load) partitions() int64 { return int64(max(l.Partitions, 1)) }

// withStart fixes the time of the first record, so that a Load that is produced
// in several parts goes on where it was.
func (l Load) withStart() Load {
	if l.Start.IsZero() {
		l.Start = time.Now()
	}
	return l
}

// record makes record i, with i from 0.
func (l Load) record(i int64) *kgo.Record {
	seq := l.First + i
	size := l.ValueBytes
	if size == 0 {
		size = 60
	}
	r := &kgo.Record{
		Topic:     l.Topic,
		Partition: int32(seq % l.partitions()),
		Timestamp: l.Start.Add(time.Duration(i) * l.Step),
		Key:       []byte("key-" + strconv.FormatInt(seq, 10)),
		Value:     Value(seq, size),
	}
	if l.Keys > 0 {
		r.Key = []byte("key-" + strconv.FormatInt(seq/l.partitions()%l.Keys, 10))
	}
	if l.Varied {
		vary(r, seq)
	}
	if l.TombstoneEvery > 0 && seq%l.TombstoneEvery == l.TombstoneEvery-1 {
		r.Value = nil
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: sequenceHeader, Value: []byte(strconv.FormatInt(seq, 10))})
	}
	return r
}

// vary gives a record the shapes that copies get wrong most easily.
func vary(r *kgo.Record, seq int64) {
	switch seq % 11 {
	case 3:
		r.Key = nil
	case 7:
		r.Key = []byte{}
	}
	shapes := []kgo.RecordHeader{
		{Key: "trace", Value: []byte(strconv.FormatInt(seq, 16))},
		{Key: "", Value: []byte{}},
		{Key: "null", Value: nil},
	}
	r.Headers = append(r.Headers, shapes[:seq%4]...)
}

// Produce writes a load with an idempotent producer and waits for all acks.
func Produce(ctx context.Context, conn []kgo.Opt, l Load) error {
	p, err := NewProducer(conn, l)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Write(ctx, l.First)
}

// Producer writes loads that differ in their first sequence number only. One
// for each of them would cost the brokers more than the records do: connections,
// metadata, a producer id.
type Producer struct {
	cl   *kgo.Client
	load Load
}

// NewProducer makes an idempotent producer of loads such as l.
func NewProducer(conn []kgo.Opt, l Load) (*Producer, error) {
	cl, err := producer(conn, l)
	if err != nil {
		return nil, err
	}
	return &Producer{cl: cl, load: l}, nil
}

// Write writes the load from sequence number first on and waits for all acks.
func (p *Producer) Write(ctx context.Context, first int64) error {
	l := p.load.withStart()
	l.First = first
	return produce(ctx, p.cl, l, 0, l.Count)
}

// Close ends the producer. What is not acknowledged is given up.
func (p *Producer) Close() { p.cl.Close() }

func producer(conn []kgo.Opt, l Load, more ...kgo.Opt) (*kgo.Client, error) {
	codec, err := l.Codec.kgo()
	if err != nil {
		return nil, err
	}
	opts := append([]kgo.Opt{}, conn...)
	opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec))
	if l.BatchBytes > 0 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(l.BatchBytes))
	}
	if l.OneByOne {
		opts = append(opts, kgo.ProducerLinger(0))
	}
	cl, err := kgo.NewClient(append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("make producer: %w", err)
	}
	return cl, nil
}

// produce writes the records from index from (included) to index to.
func produce(ctx context.Context, cl *kgo.Client, l Load, from, to int64) error {
	if l.OneByOne {
		for i := from; i < to; i++ {
			if err := cl.ProduceSync(ctx, l.record(i)).FirstErr(); err != nil {
				return fmt.Errorf("produce seq %d to %s: %w", l.First+i, l.Topic, err)
			}
		}
		return nil
	}
	failed := make(chan error, 1) // the first failure; later ones follow from it
	for i := from; i < to; i++ {
		cl.Produce(ctx, l.record(i), func(_ *kgo.Record, err error) {
			if err == nil {
				return
			}
			select {
			case failed <- err:
			default:
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return fmt.Errorf("produce to %s: %w", l.Topic, err)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("produce to %s: %w", l.Topic, err)
	default:
		return nil
	}
}

// Transactions says how ProduceTransactions groups a load.
type Transactions struct {
	ID   string // transactional id; "tidemark-load-" and the topic where empty
	Seed uint64 // what decides about sizes and aborts
}

// ProduceTransactions writes a load in transactions of 1 to 5 records, about
// one in five of them aborted after its records are in the log. It returns the
// sequence numbers of each outcome, in order. Every transaction leaves a marker
// in each partition that it wrote. A transaction whose records were refused is
// aborted and written again, as an application does it: kfake on a busy machine
// answered OUT_OF_ORDER_SEQUENCE_NUMBER once in some thousand. When it returns,
// readers of committed records find all that was committed.
func ProduceTransactions(ctx context.Context, conn []kgo.Opt, l Load, t Transactions) (committed, aborted []int64, err error) {
	if t.ID == "" {
		t.ID = "tidemark-load-" + l.Topic
	}
	cl, err := producer(conn, l, kgo.TransactionalID(t.ID), kgo.ProducerLinger(0))
	if err != nil {
		return nil, nil, err
	}
	defer cl.Close()
	l = l.withStart()
	rng := rand.New(rand.NewPCG(t.Seed, 1))
	for i := int64(0); i < l.Count; {
		n := min(1+rng.Int64N(5), l.Count-i)
		commit := kgo.TransactionEndTry(rng.IntN(5) != 0)
		err := transact(ctx, cl, l, i, i+n, commit)
		for retries := 0; errors.Is(err, kerr.OutOfOrderSequenceNumber) && retries < 3; retries++ {
			err = transact(ctx, cl, l, i, i+n, commit)
		}
		if err != nil {
			return committed, aborted, err
		}
		for seq := l.First + i; seq < l.First+i+n; seq++ {
			if commit {
				committed = append(committed, seq)
			} else {
				aborted = append(aborted, seq)
			}
		}
		i += n
	}
	return committed, aborted, AwaitMarkers(ctx, cl, l.Topic)
}

func transact(ctx context.Context, cl *kgo.Client, l Load, from, to int64, commit kgo.TransactionEndTry) error {
	if err := cl.BeginTransaction(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// The records must be acknowledged before an abort: kgo drops what it
	// still buffers, and the log would hold nothing to filter.
	err := produce(ctx, cl, l, from, to)
	if err != nil {
		commit = kgo.TryAbort
	}
	if endErr := cl.EndTransaction(ctx, commit); endErr != nil {
		err = errors.Join(err, fmt.Errorf("end transaction: %w", endErr))
	}
	return err
}
