package demo

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/partition"
)

// How much is written to A. Twice as much takes about twice as long; the shapes need no more.
const (
	orders       = 20_000 // records in each partition, before the mirror starts
	clicks       = 10_000 // the same
	trimTo       = 7_777  // the log start of clicks: inside a batch, as retention by DeleteRecords leaves it
	customers    = 3_000  // the same, of which compaction leaves about a fifth
	keys         = 600    // different customers in each partition
	payments     = 400    // transactions before the mirror starts
	liveOrders   = 2_000  // in each partition, while the mirror runs
	livePayments = 100
)

// shape is one topic of A.
type shape struct {
	name       string
	partitions int32
	configs    map[string]string
}

func shapes() []shape {
	return []shape{
		{name: "orders", partitions: 3},
		{name: "payments", partitions: 2}, // transactions, one in five aborted
		{name: "customers", partitions: 2, configs: map[string]string{"cleanup.policy": "compact"}},
		{name: "clicks", partitions: 2},   // trimmed head
		{name: "settings", partitions: 1}, // three records
		{name: "audit", partitions: 2},    // empty
	}
}

func topicNames() []string {
	var names []string
	for _, s := range shapes() {
		names = append(names, s.name)
	}
	return names
}

// writer gives every record a number of its own and writes it to one cluster.
type writer struct {
	on     *cluster
	next   int64 // the next record's number
	random *rand.Rand

	// markers are offsets of commit markers right behind a record, by partition; stale are offsets of customers records
	// that a later record of their key replaces.
	markers map[partition.ID][]int64
	stale   map[partition.ID][]int64
	aborted map[int64]bool // numbers of records that nobody may be given
}

// newWriter writes the same records in every run.
func newWriter(on *cluster) *writer {
	return &writer{
		on: on, random: rand.New(rand.NewPCG(1, 1)),
		markers: map[partition.ID][]int64{}, stale: map[partition.ID][]int64{}, aborted: map[int64]bool{},
	}
}

// record makes the next record. The number stands in its value, so that it survives any copy of the record.
func (w *writer) record(tp partition.ID, key string) *kgo.Record {
	value := fmt.Appendf(nil, "seq=%d %s of key %s, padded to the size of a small order: %030d", w.next, tp.Topic, key, w.next*w.next)
	w.next++
	return &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Key: []byte(key), Value: value}
}

// number reads back what record wrote.
func number(r *kgo.Record) (int64, error) {
	rest, ok := bytes.CutPrefix(r.Value, []byte("seq="))
	if digits, _, found := bytes.Cut(rest, []byte(" ")); ok && found {
		if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("record %s-%d offset %d has no number: %.60q", r.Topic, r.Partition, r.Offset, r.Value)
}

// fill writes everything that is on A before the mirror starts, but trims and compacts nothing yet.
func (w *writer) fill(ctx context.Context) error {
	for _, s := range shapes() {
		if err := w.on.CreateTopic(s.name, s.partitions, s.configs); err != nil {
			return fmt.Errorf("create topic %s: %w", s.name, err)
		}
	}
	if err := w.plain(ctx, "orders", 3, orders); err != nil {
		return err
	}
	if err := w.plain(ctx, "clicks", 2, clicks); err != nil {
		return err
	}
	if err := w.plain(ctx, "settings", 1, 3); err != nil {
		return err
	}
	if err := w.keyed(ctx); err != nil {
		return err
	}
	return w.transactions(ctx, payments)
}

// plain writes count records to each partition.
func (w *writer) plain(ctx context.Context, topic string, partitions int32, count int) error {
	recs := make([]*kgo.Record, 0, count*int(partitions))
	for i := range count {
		for p := range partitions {
			recs = append(recs, w.record(partition.ID{Topic: topic, Partition: p}, strconv.Itoa(i)))
		}
	}
	return w.send(ctx, recs)
}

// keyed writes customers, whose keys come again in no order, so that compaction leaves holes of all sizes. It does so in
// many batches: the newest batch of a partition is never compacted.
func (w *writer) keyed(ctx context.Context) error {
	newest := map[partition.ID]map[string]int64{}
	for from := 0; from < customers; from += 100 {
		var recs []*kgo.Record
		for i := from; i < from+100; i++ {
			for p := range int32(2) {
				tp, key := partition.ID{Topic: "customers", Partition: p}, strconv.Itoa(w.random.IntN(keys))
				if newest[tp] == nil {
					newest[tp] = map[string]int64{}
				}
				if o, again := newest[tp][key]; again {
					w.stale[tp] = append(w.stale[tp], o)
				}
				newest[tp][key] = int64(i) // the first producer of a partition writes offset i as its record i
				recs = append(recs, w.record(tp, key))
			}
		}
		if err := w.send(ctx, recs); err != nil {
			return err
		}
	}
	return nil
}

// send writes records and waits for all answers.
func (w *writer) send(ctx context.Context, recs []*kgo.Record) error {
	cl, err := w.on.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	var once sync.Once
	var failed error // the first one: the others follow from it
	for _, r := range recs {
		cl.Produce(ctx, r, func(r *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failed = fmt.Errorf("write to %s-%d: %w", r.Topic, r.Partition, err) })
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return failed
}

// transactions writes count transactions of one to five payments, of which one in five is aborted after its records are
// in the log.
func (w *writer) transactions(ctx context.Context, count int) error {
	cl, err := w.on.client(kgo.TransactionalID("demo-payments"))
	if err != nil {
		return err
	}
	defer cl.Close()
	for range count {
		if err := cl.BeginTransaction(); err != nil {
			return fmt.Errorf("begin transaction: %w", err)
		}
		first := w.next
		var recs []*kgo.Record
		for range 1 + w.random.IntN(5) {
			recs = append(recs, w.record(partition.ID{Topic: "payments", Partition: w.random.Int32N(2)}, strconv.FormatInt(w.next, 10)))
		}
		if err := cl.ProduceSync(ctx, recs...).FirstErr(); err != nil {
			return fmt.Errorf("write in a transaction: %w", err)
		}
		commit := kgo.TransactionEndTry(w.random.IntN(5) != 0)
		if err := cl.EndTransaction(ctx, commit); err != nil {
			return fmt.Errorf("end transaction: %w", err)
		}
		last := map[partition.ID]int64{}
		for i, r := range recs {
			if !commit {
				w.aborted[first+int64(i)] = true
				continue
			}
			last[partition.ID{Topic: r.Topic, Partition: r.Partition}] = r.Offset
		}
		for tp, o := range last {
			w.markers[tp] = append(w.markers[tp], o+1)
		}
	}
	return nil
}

// last writes one record to each partition of each remote topic on B, as the producers do that moved with their
// consumers. It gives their numbers: a consumer that has them all has read to the end, however idle a partition was.
func (w *writer) last(ctx context.Context) (map[partition.ID]int64, error) {
	numbers := map[partition.ID]int64{}
	var recs []*kgo.Record
	for _, s := range shapes() {
		for p := range s.partitions {
			numbers[partition.ID{Topic: s.name, Partition: p}] = w.next
			recs = append(recs, w.record(partition.ID{Topic: remote(s.name), Partition: p}, "last"))
		}
	}
	return numbers, w.send(ctx, recs)
}

// remote is a topic's name on B.
func remote(topic string) string { return sourceAlias + "." + topic }
