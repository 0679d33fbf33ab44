package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// readers is how many partitions are read at the same time. The brokers are somebody's production.
const readers = 8

// record is one record of a topic. Its slices are valid during the call that it is handed to.
type record struct {
	offset     int64
	at         time.Time
	key, value []byte // nil is null
}

// topic describes a topic; false where there is none.
func (s *side) topic(ctx context.Context, name string) (kafka.Topic, bool, error) {
	got, err := s.DescribeTopics(ctx, name)
	switch {
	case err != nil:
		return kafka.Topic{}, false, err
	case len(got) != 1:
		return kafka.Topic{}, false, fmt.Errorf("describe topic %s on cluster %s: %d answers", name, s.Cluster().Alias, len(got))
	case errors.Is(got[0].Err, kafka.ErrNoTopic):
		return kafka.Topic{}, false, nil
	}
	return got[0], true, got[0].Err
}

// extent is the part of a partition's log that there is to read.
type extent struct{ from, to int64 }

// extents asks for the ends of partitions, as a reader of committed records sees them.
func (s *side) extents(ctx context.Context, tps []partition.ID) (map[partition.ID]extent, map[partition.ID]error, error) {
	from, noStart, err := s.ListOffsets(ctx, tps, kafka.Earliest, true)
	if err != nil {
		return nil, nil, err
	}
	to, noEnd, err := s.ListOffsets(ctx, tps, kafka.Latest, true)
	if err != nil {
		return nil, nil, err
	}
	out := make(map[partition.ID]extent, len(tps))
	failed := map[partition.ID]error{}
	for _, tp := range tps {
		if err := errors.Join(noStart[tp], noEnd[tp]); err != nil {
			failed[tp] = err
			continue
		}
		out[tp] = extent{from[tp], to[tp]}
	}
	return out, failed, nil
}

// read hands every committed record of a stretch to fn.
func (s *side) read(ctx context.Context, tp partition.ID, e extent, fn func(record) error) error {
	if e.from >= e.to {
		return nil
	}
	b := batch.NewBuilder()
	return s.net.Scan(ctx, tp, e.from, e.to, 1, func(v batch.View, aborted bool) error {
		if v.Control() || aborted || v.Count() == 0 {
			return nil
		}
		return b.Each(v, func(r batch.Record) error {
			return fn(record{offset: r.Offset, at: time.UnixMilli(r.Timestamp).UTC(), key: r.Key, value: r.Value})
		})
	})
}

// readAll reads partitions of one topic to their ends, several at a time. take makes the receiver of a partition's
// records and is called for every partition before any is read; receivers run at the same time. What goes wrong with
// one partition is trouble of that one only.
func (r *Reader) readAll(ctx context.Context, s *side, topic string, partitions []int32, take func(partition int32) func(record) error) ([]status.Trouble, error) {
	tps := make([]partition.ID, len(partitions))
	into := make([]func(record) error, len(partitions))
	for i, p := range partitions {
		tps[i] = partition.ID{Topic: topic, Partition: p}
		into[i] = take(p)
	}
	ends, failed, err := s.extents(ctx, tps)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("reading %s on %s", topic, s.Cluster().Alias)
	var done atomic.Int32
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(readers)
	for i, tp := range tps {
		if failed[tp] != nil {
			continue
		}
		g.Go(func() error {
			err := s.read(ctx, tp, ends[tp], into[i])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[tp] = err
			}
			r.progress(what, int(done.Add(1)), len(tps))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var trouble []status.Trouble
	for _, tp := range tps {
		if err := failed[tp]; err != nil {
			trouble = append(trouble, status.Trouble{What: "read " + tp.String(), Error: err.Error()})
		}
	}
	return trouble, nil
}

// all is the partitions 0 to n-1.
func all(n int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
