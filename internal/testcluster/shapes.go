package testcluster

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Shape is one kind of topic that a mirror has to get right: its settings and
// what is written to it.
type Shape struct {
	Load          Load // Load.Topic names the topic
	Configs       map[string]string
	Transactional bool
	Compacted     bool
	// TrimTo moves the log start of each partition there after the load; 0 leaves it.
	TrimTo int64
}

// old is when the records of the "old" shape were written. Brokers forget the
// producer state of such batches within minutes.
func old() time.Time { return time.Date(2023, time.March, 14, 9, 26, 53, 0, time.UTC) }

// Shapes returns the standard set: one topic for each codec, and one each that
// is transactional, compacted, trimmed, full of one-record batches, empty,
// filled in 2023, and stamped by the broker. Names start with prefix.
func Shapes(prefix string) []Shape {
	var shapes []Shape
	for _, codec := range Codecs() {
		shapes = append(shapes, Shape{Load: Load{
			Topic: prefix + "plain-" + string(codec), Partitions: 3, Count: 300, Codec: codec, Varied: true, Step: time.Millisecond,
		}})
	}
	return append(shapes,
		Shape{Load: Load{Topic: prefix + "transactional", Partitions: 2, Count: 150, Codec: "lz4"}, Transactional: true},
		Shape{
			Load:      Load{Topic: prefix + "compacted", Partitions: 2, Count: 400, Keys: 20, TombstoneEvery: 50},
			Configs:   CompactedConfigs(),
			Compacted: true,
		},
		// 77 lies inside a batch: a reader gets the batch whole and must crop it.
		Shape{Load: Load{Topic: prefix + "trimmed", Partitions: 2, Count: 400, Codec: "zstd"}, TrimTo: 77},
		Shape{Load: Load{Topic: prefix + "tiny", Count: 60, OneByOne: true}},
		Shape{Load: Load{Topic: prefix + "empty", Partitions: 2}},
		Shape{Load: Load{Topic: prefix + "old", Count: 100, Start: old(), Step: time.Second}},
		Shape{
			Load:    Load{Topic: prefix + "append-time", Count: 100, Start: old(), Codec: "snappy"},
			Configs: map[string]string{"message.timestamp.type": "LogAppendTime"},
		},
	)
}

// Fill creates the topic of a shape and writes its load. Compaction goes on
// after it returns: see [WaitCompacted].
func (s Shape) Fill(ctx context.Context, conn []kgo.Opt) error {
	partitions := int32(s.Load.partitions())
	if err := CreateTopic(ctx, conn, s.Load.Topic, partitions, s.Configs); err != nil {
		return err
	}
	var err error
	switch {
	case s.Transactional:
		_, _, err = ProduceTransactions(ctx, conn, s.Load, Transactions{Seed: 1})
	case s.Compacted:
		err = ProduceCompacted(ctx, conn, s.Load)
	default:
		err = Produce(ctx, conn, s.Load)
	}
	for p := int32(0); err == nil && s.TrimTo > 0 && p < partitions; p++ {
		err = Trim(ctx, conn, s.Load.Topic, p, s.TrimTo)
	}
	return err
}
