package testcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/pause"
)

// CreateTopic creates a topic with as many replicas as the brokers' default
// says (all brokers of a real cluster). An existing topic is an error.
func CreateTopic(ctx context.Context, conn []kgo.Opt, name string, partitions int32, configs map[string]string) error {
	cl, err := kgo.NewClient(conn...)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	values := make(map[string]*string, len(configs))
	for k, v := range configs {
		values[k] = &v
	}
	res, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, -1, values, name)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	// Creation is answered by the controller; produce and fetch ask leaders,
	// which learn of it a moment later.
	return Await(ctx, "leaders of "+name, func(ctx context.Context) (bool, string, error) {
		ends, err := Ends(ctx, cl, name, ReadUncommitted)
		if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) && !kerr.IsRetriable(err) {
			return false, "", err
		}
		return err == nil && len(ends) == int(partitions), fmt.Sprint(err), nil
	})
}

// Trim deletes the records of a partition below offset (DeleteRecords): the log
// start moves there.
func Trim(ctx context.Context, conn []kgo.Opt, topic string, partition int32, offset int64) error {
	cl, err := kgo.NewClient(conn...)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	var o kadm.Offsets
	o.AddOffset(topic, partition, offset, -1)
	res, err := kadm.NewClient(cl).DeleteRecords(ctx, o)
	if err == nil {
		err = res.Error()
	}
	if err != nil {
		return fmt.Errorf("trim %s-%d to %d: %w", topic, partition, offset, err)
	}
	return nil
}

// CompactedConfigs are topic settings under which a real broker compacts
// within about a second: a segment ends when a record is 100 ms younger (by
// timestamp) than its first one, and everything but the active segment is dirty
// enough at once. segment.bytes is the least that Kafka 4 takes.
func CompactedConfigs() map[string]string {
	return map[string]string{
		"cleanup.policy":            "compact",
		"segment.ms":                "100",
		"segment.bytes":             "1048576",
		"min.cleanable.dirty.ratio": "0.001",
		"max.compaction.lag.ms":     "500",
	}
}

// ProduceCompacted writes a load with repeating keys to a topic with
// [CompactedConfigs] so that compaction must happen: in four parts whose
// timestamps lie a second apart, each of which ends the segment of the part
// before, and one more record in each partition, which ends the last of them.
// Those last records have the sequence numbers First+Count onwards and a key of
// their own. Step and a zero Start are set by it: the load ends now.
func ProduceCompacted(ctx context.Context, conn []kgo.Opt, l Load) error {
	const parts = 4
	if l.Keys <= 0 {
		return fmt.Errorf("produce to compacted topic %s: no repeating keys (Keys is 0)", l.Topic)
	}
	if l.Start.IsZero() {
		l.Start = time.Now().Add(-(parts + 1) * time.Second)
	}
	l.Step = 0
	l.Varied = false // null keys are refused on compacted topics
	cl, err := producer(conn, l)
	if err != nil {
		return err
	}
	defer cl.Close()
	start := l.Start
	for part := range int64(parts) {
		l.Start = start.Add(time.Duration(part) * time.Second)
		if err := produce(ctx, cl, l, part*l.Count/parts, (part+1)*l.Count/parts); err != nil {
			return err
		}
	}
	for p := range l.partitions() {
		seq := l.First + l.Count + p
		last := &kgo.Record{
			Topic: l.Topic, Partition: int32(p), Timestamp: start.Add(parts * time.Second),
			Key: []byte("last"), Value: Value(seq, l.ValueBytes),
		}
		if err := cl.ProduceSync(ctx, last).FirstErr(); err != nil {
			return fmt.Errorf("produce to %s: %w", l.Topic, err)
		}
	}
	return nil
}

// WaitCompacted waits until compaction has been at work in a partition and has
// finished: the stored batches have gaps, and a second look after several
// rounds of the cleaner finds the same ones. It looks at raw batches, since a
// consumer cannot tell a compacted record from a filtered one.
func WaitCompacted(ctx context.Context, cl *kgo.Client, topic string, partition int32) error {
	const settled = 600 * time.Millisecond // three times log.cleaner.backoff.ms of a real cluster
	what := fmt.Sprintf("compaction of %s-%d", topic, partition)
	return Await(ctx, what, func(ctx context.Context) (bool, string, error) {
		before, err := Batches(ctx, cl, topic, partition)
		if err != nil {
			return false, "", err
		}
		if gaps(before) == 0 {
			return false, fmt.Sprintf("%d batches without a gap", len(before)), nil
		}
		if !pause.For(ctx, settled) {
			return false, "", context.Cause(ctx)
		}
		after, err := Batches(ctx, cl, topic, partition)
		if err != nil {
			return false, "", err
		}
		return len(after) == len(before) && gaps(after) == gaps(before), "compaction goes on", nil
	})
}

// gaps counts the offsets between the first and the last batch that hold no
// record.
func gaps(batches []Batch) int64 {
	var n int64
	for i, b := range batches {
		n += b.Last - b.Base + 1 - int64(b.Count)
		if i > 0 {
			n += b.Base - batches[i-1].Last - 1
		}
	}
	return n
}
