// Package topiclog reads what topics of a cluster hold, record by record, up to the ends that their logs had when it
// began. It joins no group and writes nothing. It is for looks at a topic as it is; who has to follow one reads it with a
// consumer.
package topiclog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
)

// Readers is how many partitions are read at the same time. The brokers are somebody's production.
const Readers = 8

// A Client is one cluster and the ways to read it.
type Client struct {
	*kafka.Client
	net *wire.Net
}

// Open prepares to read a cluster; nothing is connected yet.
func Open(c kafka.Cluster, log *slog.Logger) (*Client, error) {
	cl, err := kafka.Open(c, log)
	if err != nil {
		return nil, err
	}
	return &Client{Client: cl, net: wire.New(c, kafka.NewMetadata(cl), log)}, nil
}

// Close ends the connections.
func (c *Client) Close() {
	c.net.Close()
	c.Client.Close()
}

// Record is one record of a topic. Its slices are valid during the call that it is handed to.
type Record struct {
	Offset     int64
	At         time.Time
	Key, Value []byte // nil is null
}

// KeyText is the key as text; bytes that are none are quoted.
func (r Record) KeyText() string {
	s := string(r.Key)
	if q := strconv.Quote(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}

// Extent is the part of a partition's log that there is to read: From is its first offset, To one past its last.
type Extent struct{ From, To int64 }

// Topic describes a topic; false where there is none.
func (c *Client) Topic(ctx context.Context, name string) (kafka.Topic, bool, error) {
	got, err := c.DescribeTopics(ctx, name)
	switch {
	case err != nil:
		return kafka.Topic{}, false, err
	case len(got) != 1:
		return kafka.Topic{}, false, fmt.Errorf("describe topic %s on cluster %s: %d answers", name, c.Cluster().Alias, len(got))
	case errors.Is(got[0].Err, kafka.ErrNoTopic):
		return kafka.Topic{}, false, nil
	}
	return got[0], true, got[0].Err
}

// Extents asks for the ends of partitions, as a reader of committed records sees them. The second result says why those
// that are not in the first one have none.
func (c *Client) Extents(ctx context.Context, ps []partition.ID) (map[partition.ID]Extent, map[partition.ID]error, error) {
	from, noStart, err := c.ListOffsets(ctx, ps, kafka.Earliest, true)
	if err != nil {
		return nil, nil, err
	}
	to, noEnd, err := c.ListOffsets(ctx, ps, kafka.Latest, true)
	if err != nil {
		return nil, nil, err
	}
	out := make(map[partition.ID]Extent, len(ps))
	failed := map[partition.ID]error{}
	for _, p := range ps {
		if err := errors.Join(noStart[p], noEnd[p]); err != nil {
			failed[p] = err
			continue
		}
		out[p] = Extent{from[p], to[p]}
	}
	return out, failed, nil
}

// Read hands every committed record of a stretch to fn.
func (c *Client) Read(ctx context.Context, p partition.ID, e Extent, fn func(Record) error) error {
	if e.From >= e.To {
		return nil
	}
	b := batch.NewBuilder()
	return c.net.Scan(ctx, p, e.From, e.To, 1, func(v batch.View, aborted bool) error {
		if v.Control() || aborted || v.Count() == 0 {
			return nil
		}
		return b.Each(v, func(r batch.Record) error {
			return fn(Record{Offset: r.Offset, At: time.UnixMilli(r.Timestamp).UTC(), Key: r.Key, Value: r.Value})
		})
	})
}

// Batches hands every batch of a stretch to fn as it stands in the log, markers and what was aborted too.
func (c *Client) Batches(ctx context.Context, p partition.ID, e Extent, fn func(batch.View) error) error {
	return c.net.Scan(ctx, p, e.From, e.To, 0, func(v batch.View, _ bool) error { return fn(v) })
}

// Progress is told how many of so many partitions were read. It may be nil, and is not called at the same time twice by
// one ReadAll.
type Progress func(what string, done, of int)

// ReadAll reads partitions of one topic to their ends, several at a time. take makes the receiver of a partition's
// records and is called for every partition before any is read; receivers run at the same time. What goes wrong with
// one partition is in the result, and stops that one only.
func (c *Client) ReadAll(ctx context.Context, topic string, partitions []int32, told Progress, take func(partition int32) func(Record) error) (map[partition.ID]error, error) {
	ps := make([]partition.ID, len(partitions))
	into := make([]func(Record) error, len(partitions))
	for i, n := range partitions {
		ps[i] = partition.ID{Topic: topic, Partition: n}
		into[i] = take(n)
	}
	ends, failed, err := c.Extents(ctx, ps)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("reading %s on %s", topic, c.Cluster().Alias)
	done := 0
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(Readers)
	for i, p := range ps {
		e, known := ends[p]
		if !known {
			continue
		}
		g.Go(func() error {
			err := c.Read(ctx, p, e, into[i])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[p] = err
			}
			if done++; told != nil {
				told(what, done, len(ps))
			}
			return nil
		})
	}
	return failed, g.Wait()
}

// All is the partitions 0 to n-1, for ReadAll.
func All(n int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
