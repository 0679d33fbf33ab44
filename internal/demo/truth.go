package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/partition"
)

// contents is what A holds, read by a consumer without a group that knows nothing of the mirror (DM1).
type contents map[partition.ID]*log

// log is a partition's committed records, in order.
type log struct {
	offsets []int64
	numbers []int64
	markers []int64 // offsets of transaction markers
	end     int64
}

// readAll reads every committed record of every topic.
func readAll(ctx context.Context, on *cluster) (contents, error) {
	ends, err := on.ends(ctx, topicNames()...)
	if err != nil {
		return nil, err
	}
	all, left := contents{}, map[partition.ID]bool{}
	for tp, end := range ends {
		all[tp] = &log{end: end}
		left[tp] = end > 0 // no topic here is trimmed to its end
	}
	cl, err := on.client(
		kgo.ConsumeTopics(topicNames()...), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for unread(left) {
		recs, err := poll(ctx, cl)
		if err != nil {
			return nil, fmt.Errorf("read all of A: %w", err)
		}
		for _, r := range recs {
			tp := partition.ID{Topic: r.Topic, Partition: r.Partition}
			l := all[tp]
			if r.Offset >= l.end-1 {
				left[tp] = false
			}
			if r.Attrs.IsControl() {
				l.markers = append(l.markers, r.Offset)
				continue
			}
			n, err := number(r)
			if err != nil {
				return nil, err
			}
			l.offsets, l.numbers = append(l.offsets, r.Offset), append(l.numbers, n)
		}
	}
	return all, nil
}

func (c contents) records() int {
	n := 0
	for _, l := range c {
		n += len(l.offsets)
	}
	return n
}

// below is how many records a partition holds below a limit.
func (l *log) below(limit int64) int {
	i, _ := slices.BinarySearch(l.offsets, limit)
	return i
}
