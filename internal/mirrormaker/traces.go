package mirrormaker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/topiclog"
)

// Trace names a topic on the target that only a MirrorMaker 2 can have left there, as no run of ours has; empty where
// there is none. It adds to what is said, so that one cannot be looked for is no trouble.
func (r *Reader) Trace(ctx context.Context) string {
	if _, ok, err := r.Target.Topic(ctx, r.offsets()); err == nil && ok {
		return r.offsets()
	}
	if is, err := r.find(ctx, r.Checkpoints()); err == nil && is.Exists {
		return is.Name
	}
	return ""
}

// silent is how long a MirrorMaker 2 can have written nothing about its offsets and count as one that runs. It does once a
// minute, unless there is nothing to mirror and its heartbeats are off.
const silent = 10 * time.Minute

// Besides is the note that MirrorMaker 2 ran this flow too where what is shown is Tidemark's own; empty where it did not,
// or nobody can tell. What it cannot find out within a time is no trouble: it only adds to an answer that stands.
// Heartbeats, checkpoints and offset syncs say nothing about when a MirrorMaker 2 was here last: ours are in the same
// topics and look the same.
func (r *Reader) Besides(ctx context.Context, now time.Time, within time.Duration) string {
	t, ok, err := r.Target.Topic(ctx, r.offsets())
	if err != nil || !ok {
		return ""
	}
	last := r.newest(ctx, t, within)
	if !last.IsZero() && now.Sub(last) > silent {
		return fmt.Sprintf("a MirrorMaker 2 ran this flow too; its last record in %s on %s is of %s. If it is gone for good, delete that topic and this note ends", t.Name, r.TargetCluster, last.Format(time.RFC3339))
	}
	return fmt.Sprintf("a MirrorMaker 2 ran this flow too (its topic %s is on %s): shown is what Tidemark itself knows; `tidemark inspect checkpoints` and `offset-syncs` show what MirrorMaker 2 left", t.Name, r.TargetCluster)
}

// newest is the time of a topic's newest record; zero where there is none, or it cannot be read soon.
func (r *Reader) newest(ctx context.Context, t kafka.Topic, within time.Duration) time.Time {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	const tail = 10 // offsets: the last ones can be markers of transactions
	var ps []partition.ID
	for n := range t.Partitions {
		ps = append(ps, partition.ID{Topic: t.Name, Partition: n})
	}
	ends, _, err := r.Target.Extents(ctx, ps)
	if err != nil {
		return time.Time{}
	}
	var mu sync.Mutex
	var last time.Time
	var g errgroup.Group
	g.SetLimit(topiclog.Readers)
	for p, e := range ends {
		g.Go(func() error {
			return r.Target.Read(ctx, p, topiclog.Extent{From: max(e.From, e.To-tail), To: e.To}, func(rec topiclog.Record) error {
				mu.Lock()
				defer mu.Unlock()
				if rec.At.After(last) {
					last = rec.At
				}
				return nil
			})
		})
	}
	if g.Wait() != nil {
		return time.Time{} // the newest may be where nothing could be read
	}
	return last
}
