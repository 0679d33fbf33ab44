package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// ends completes rows with the ends of the logs on both sides, and with what they tell.
func (r *Reader) ends(ctx context.Context, h *status.Header, rows []*row) error {
	if len(rows) == 0 {
		return nil
	}
	// The target's ends before the source's: what the mirror writes in between cannot look like records of others then,
	// since the source's end is beyond what the ledger said (see surplus).
	if err := r.targetEnds(ctx, rows); err != nil {
		return err
	}
	if h.Source.Reached {
		tps := make([]partition.ID, len(rows))
		for i, w := range rows {
			tps[i] = w.source
		}
		if live := r.sourceEnds(ctx, h, tps); h.Source.Reached {
			var open []partition.ID
			for _, w := range rows {
				if w.fresh(live, h, r.flow.Isolation == config.ReadCommitted); w.Open > 0 {
					open = append(open, w.source)
				}
			}
			of := r.transactions(ctx, h, open)
			for _, w := range rows {
				w.Transaction = of[w.source]
			}
		}
	}
	if !h.Source.Reached {
		r.newest(ctx, h, rows)
	}
	for _, w := range rows {
		if w.SourceEnd != status.Unknown && w.MirroredTo != status.Unknown {
			w.Lag = max(0, w.SourceEnd-w.MirroredTo)
		}
		if w.Lag > 0 && !w.anew && w.mapEnd != status.Unknown && w.TargetEnd != status.Unknown {
			w.Arrived = min(w.Lag, max(0, w.TargetEnd-max(w.mapEnd, w.TargetStart)))
		}
	}
	return r.countOthers(ctx, h, rows)
}

// newest completes rows with the newest time stamps on the target: without the source they are what tells how old the copy is.
func (r *Reader) newest(ctx context.Context, h *status.Header, rows []*row) {
	topics := map[string]bool{}
	for _, w := range rows {
		if w.TargetEnd != status.Unknown {
			topics[w.remote.Topic] = true
		}
	}
	if len(topics) == 0 {
		return
	}
	got, err := r.target.Admin().ListMaxTimestampOffsets(ctx, slices.Sorted(maps.Keys(topics))...)
	if err != nil {
		h.Notes = append(h.Notes, "how old the newest records on the target are is not known: "+err.Error())
	}
	for _, w := range rows {
		if at, ok := got.Lookup(w.remote.Topic, w.remote.Partition); ok && at.Err == nil && at.Timestamp >= 0 && w.TargetEnd != status.Unknown {
			w.NewestAt = time.UnixMilli(at.Timestamp).UTC()
		}
	}
}

// live is what the source says about its partitions.
type live struct {
	end, stable map[partition.ID]int64
	failed      map[partition.ID]error
}

// sourceEnds asks the source for high watermarks and last stable offsets. That it did not answer is in the header.
func (r *Reader) sourceEnds(ctx context.Context, h *status.Header, tps []partition.ID) live {
	var out live
	err := r.askSource(ctx, func(ctx context.Context) (err error) {
		// The last stable offset is asked for last: where it is below an older high watermark a transaction is open. In the
		// other order records that came in between would look like that.
		if out.end, out.failed, err = r.source.ListOffsets(ctx, tps, kafka.Latest, false); err != nil {
			return err
		}
		out.stable, _, err = r.source.ListOffsets(ctx, tps, kafka.Latest, true)
		return err
	})
	r.sourceAnswered(h, err)
	return out
}

// fresh takes the source's own word about its end.
func (w *row) fresh(l live, h *status.Header, committed bool) {
	end, ok := l.end[w.source]
	if !ok {
		if err := l.failed[w.source]; err != nil && w.State != status.Stopped {
			w.remark("the source does not tell its end: " + err.Error())
		}
		return
	}
	w.SourceEnd, w.SourceAt, w.SourceLive, w.visible = end, h.At, true, end
	if end < w.MirroredTo {
		w.remark(fmt.Sprintf("the source's log ends at %d, below what was mirrored", end))
	}
	if stable, ok := l.stable[w.source]; ok && committed && stable < end {
		w.Open, w.visible = min(end-stable, max(0, end-w.MirroredTo)), stable
	}
}

// targetEnds completes rows with the target's log ends, and says why a partition is not begun or cannot go on, as far
// as the target shows it.
func (r *Reader) targetEnds(ctx context.Context, rows []*row) error {
	tps := make([]partition.ID, len(rows))
	names := map[string]bool{}
	for i, w := range rows {
		tps[i] = w.remote
		names[w.remote.Topic] = true
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	described, err := r.target.DescribeTopics(ctx, list...)
	if err != nil {
		return err
	}
	topics := map[string]kafka.Topic{}
	var there []partition.ID
	for _, t := range described {
		topics[t.Name] = t
	}
	for _, tp := range tps {
		if t := topics[tp.Topic]; t.Err == nil && tp.Partition < t.Partitions {
			there = append(there, tp)
		}
	}
	start, noStart, err := r.target.ListOffsets(ctx, there, kafka.Earliest, false)
	if err != nil {
		return err
	}
	end, noEnd, err := r.target.ListOffsets(ctx, there, kafka.Latest, false)
	if err != nil {
		return err
	}
	for _, w := range rows {
		t := topics[w.remote.Topic]
		failed := errors.Join(noStart[w.remote], noEnd[w.remote])
		switch {
		case errors.Is(t.Err, kafka.ErrNoTopic):
			w.remark(fmt.Sprintf("remote topic %s does not exist on the target", w.remote.Topic))
			r.unseen(w)
		case t.Err != nil:
			w.remark(t.Err.Error())
		case w.remote.Partition >= t.Partitions:
			w.remark(fmt.Sprintf("remote topic %s has only %d partitions", w.remote.Topic, t.Partitions))
			r.unseen(w)
		case failed != nil:
			w.remark(failed.Error())
		default:
			w.TargetStart, w.TargetEnd = start[w.remote], end[w.remote]
			w.compare(t)
		}
	}
	wider(rows, topics)
	return nil
}

// wider remarks on the first partition of a topic that its remote topic has more partitions, which stay empty. Who reads by key on
// both sides must know.
func wider(rows []*row, remotes map[string]kafka.Topic) {
	of := map[string]int32{} // partitions of the source that are known, by remote topic
	for _, w := range rows {
		of[w.remote.Topic] = max(of[w.remote.Topic], w.remote.Partition+1)
	}
	for _, w := range rows {
		if n := remotes[w.remote.Topic].Partitions; w.remote.Partition == 0 && n > of[w.remote.Topic] {
			w.remark(fmt.Sprintf("remote topic %s has %d partitions and the source topic %d: the others stay empty", w.remote.Topic, n, of[w.remote.Topic]))
		}
	}
}

// unseen adds to what is said about a partition that nobody has begun with when it will be seen.
func (r *Reader) unseen(w *row) {
	if w.State == status.New {
		w.remark(r.seen())
	}
}

// seen says when a run sees what is new on the source. It looks every few seconds; the file's interval is an upper limit.
func (r *Reader) seen() string {
	if !r.flow.RefreshTopics {
		return fmt.Sprintf("a run sees a new topic or partition at its next start only: %s is off in %s", r.cfg.FlowKey("RefreshTopics"), r.cfg.File)
	}
	return "a run sees a new topic or partition within seconds"
}

// compare says what the ledger and the target's log do not agree on.
func (w *row) compare(t kafka.Topic) {
	switch {
	case another(t.ID, w.targetID):
		w.anew = true
		w.remark(fmt.Sprintf("remote topic %s was created anew on the target, and positions of the former one do not hold in it (docs/stopped.md)", w.remote.Topic))
	case w.State == status.New && w.TargetEnd > w.TargetStart:
		w.remark(fmt.Sprintf("remote topic %s holds %d offsets that Tidemark did not write", w.remote.Topic, w.TargetEnd-w.TargetStart))
	case w.State == status.New:
		w.remark("no worker has begun with it yet")
	}
}
