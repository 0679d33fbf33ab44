package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
)

// Records that others wrote into a remote topic get into the offset map with the next batch that a worker writes behind
// them. On a topic that rests that can be never, and consumers of the remote topic read them now.

// looked is how many batches behind the map's end are looked at; offsets behind them count as they are.
const looked = 1000

// errLooked ends a look.
var errLooked = errors.New("looked at enough")

// surplus is the stretch behind the map's end that the flow can have written nothing into but markers of fences: all that
// the source had, after the target was asked for its end, was in the map by then. Where the source did not answer, or is
// at another place, nobody knows.
func (w *row) surplus() (topiclog.Extent, bool) {
	e := topiclog.Extent{From: w.mapEnd, To: w.TargetEnd}
	rests := w.SourceLive && w.SourceEnd == w.MirroredTo
	return e, rests && !w.anew && w.mapEnd != status.Unknown && w.TargetStart != status.Unknown && e.From < e.To
}

// countOthers adds to what the maps know of others the records behind their ends. It looks at headers there: the marker of
// a fence stands in the log some seconds before it is in the map, and with no worker for long.
func (r *Reader) countOthers(ctx context.Context, h *status.Header, rows []*row) error {
	var g errgroup.Group
	g.SetLimit(topiclog.Readers)
	found := make([]error, len(rows))
	for i, w := range rows {
		e, ok := w.surplus()
		if !ok {
			continue
		}
		e.From = max(e.From, w.TargetStart)
		g.Go(func() error {
			n, err := byOthers(ctx, r.target, w, e)
			w.Others += n
			found[i] = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, err := range found {
		if err != nil {
			h.Notes = append(h.Notes, fmt.Sprintf("who wrote the records behind offset %d of %s is not known: %v", rows[i].mapEnd, rows[i].remote, err))
		}
	}
	return ctx.Err()
}

// byOthers counts the offsets of a stretch that batches of others have. Markers are none: those of our fences can come from
// an identity that the ledger does not know yet, and no consumer reads one.
func byOthers(ctx context.Context, on *topiclog.Client, w *row, e topiclog.Extent) (n int64, err error) {
	batches, next := 0, e.From
	err = on.Batches(ctx, w.remote, e, func(v batch.View) error {
		if batches++; batches > looked {
			return errLooked
		}
		from := max(v.BaseOffset(), e.From)
		next = min(v.NextOffset(), e.To)
		if !v.Control() && v.Count() > 0 && !slices.Contains(w.ours, v.ProducerID()) {
			n += max(0, next-from)
		}
		return nil
	})
	if errors.Is(err, errLooked) {
		return n + e.To - next, nil
	}
	return n, err
}
