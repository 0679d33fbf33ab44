package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// stream is one topic of the load and how it is written.
type stream struct {
	name       string
	partitions int32
	every      time.Duration // a burst each
	burst      int           // records, over all partitions
	codec      kgo.CompressionCodec
	how        how
	ages       []time.Duration // of a burst's records, drawn from these
	size       int             // of a record's value; 0: 40 to 120 bytes
}

type how int

const (
	plain how = iota
	idempotent
	transactional
)

// streams are the topics that every schedule has: hot and quiet ones, every codec, records of now, of last month, and both
// in one batch, and records of nearly the size that brokers take.
func streams() []stream {
	const month = 30 * 24 * time.Hour
	return []stream{
		{name: "plain", partitions: 3, every: 50 * time.Millisecond, burst: 30, codec: kgo.GzipCompression(), how: plain},
		{name: "hot", partitions: 3, every: 40 * time.Millisecond, burst: 50, codec: kgo.Lz4Compression(), how: idempotent},
		{name: "tx", partitions: 2, every: 30 * time.Millisecond, burst: 4, codec: kgo.NoCompression(), how: transactional},
		{name: "old", partitions: 2, every: 60 * time.Millisecond, burst: 12, codec: kgo.ZstdCompression(), how: idempotent, ages: []time.Duration{month}},
		{name: "mixed", partitions: 2, every: 60 * time.Millisecond, burst: 12, codec: kgo.SnappyCompression(), how: idempotent, ages: []time.Duration{0, 0, 0, month, 26 * time.Hour}},
		{name: "large", partitions: 1, every: 2 * time.Second, burst: 1, codec: kgo.NoCompression(), how: idempotent, size: 900_000},
		{name: "quiet", partitions: 4, every: 900 * time.Millisecond, burst: 1, codec: kgo.NoCompression(), how: idempotent},
	}
}

// load writes all streams until it is stopped.
type load struct {
	prefix string
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	acked map[string][]int64 // sequence numbers that the source has acknowledged, and committed where there are transactions
	said  []string           // trouble
}

func startLoad(ctx context.Context, conn []kgo.Opt, prefix string, seed uint64) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{prefix: prefix, cancel: cancel, acked: map[string][]int64{}}
	for i, s := range streams() {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		l.wg.Go(func() { l.run(ctx, conn, s, rnd) })
	}
	return l
}

// stop ends the load and waits for what is under way.
func (l *load) stop() {
	l.cancel()
	l.wg.Wait()
}

func (l *load) trouble(s stream, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf("%s: %v", s.name, err))
}

func (l *load) run(ctx context.Context, conn []kgo.Opt, s stream, rnd *rand.Rand) {
	opts := append([]kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(s.codec), kgo.ProducerBatchMaxBytes(int32(8<<10 + s.size)),
	}, conn...)
	switch s.how {
	case plain:
		opts = append(opts, kgo.DisableIdempotentWrite())
	case transactional:
		opts = append(opts, kgo.TransactionalID(l.prefix+s.name), kgo.TransactionTimeout(10*time.Second))
	case idempotent:
	}
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	next := int64(0)
	for ctx.Err() == nil {
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			l.trouble(s, err)
			return
		}
		for err == nil && ctx.Err() == nil {
			<-tick.C
			recs := l.burst(s, rnd, next)
			next += int64(len(recs))
			// What was begun is finished: a transaction that stays open would hide all that comes behind it.
			err = l.write(context.WithoutCancel(ctx), cl, s, recs, rnd.IntN(5) != 0)
		}
		if err != nil {
			l.trouble(s, err)
		}
		cl.Close()
	}
}

func (l *load) burst(s stream, rnd *rand.Rand, next int64) []*kgo.Record {
	recs := make([]*kgo.Record, s.burst)
	for i := range recs {
		at := time.Now()
		if len(s.ages) > 0 {
			at = at.Add(-s.ages[rnd.IntN(len(s.ages))])
		}
		seq, size := next+int64(i), s.size
		if size == 0 {
			size = 40 + rnd.IntN(80)
		}
		recs[i] = &kgo.Record{
			Topic: l.prefix + s.name, Partition: rnd.Int32N(s.partitions), Timestamp: at,
			Key: fmt.Appendf(nil, "key-%d", seq), Value: testcluster.Value(seq, size),
		}
	}
	return recs
}

// write sends a burst. A plain producer's errors are its own affair: what arrived twice or not at all is what the source
// holds. The others end their client.
func (l *load) write(ctx context.Context, cl *kgo.Client, s stream, recs []*kgo.Record, commit bool) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if s.how != transactional {
		err := l.send(ctx, cl, s, recs, true)
		if s.how == plain {
			return nil
		}
		return err
	}
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	err := l.send(ctx, cl, s, recs, false)
	end := kgo.TransactionEndTry(commit && err == nil)
	if endErr := cl.EndTransaction(ctx, end); endErr != nil {
		return endErr
	}
	if err == nil && commit {
		for _, r := range recs {
			l.note(s, r)
		}
	}
	return err
}

func (l *load) send(ctx context.Context, cl *kgo.Client, s stream, recs []*kgo.Record, counts bool) error {
	var first error
	for _, r := range cl.ProduceSync(ctx, recs...) {
		switch {
		case r.Err != nil && first == nil:
			first = r.Err
		case r.Err == nil && counts:
			l.note(s, r.Record)
		}
	}
	return first
}

func (l *load) note(s stream, r *kgo.Record) {
	seq, ok := testcluster.SeqOfRecord(r)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[s.name] = append(l.acked[s.name], seq)
}
