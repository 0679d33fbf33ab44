package inspect

import (
	"context"
	"fmt"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
)

// DefaultStanding is how long a partition must not move to be called standing. While records flow a head follows them within a
// second or so, and the target's log at once.
const DefaultStanding = 5 * time.Second

// lookEvery is how often suspicious partitions are looked at: most have moved at the first look.
const lookEvery = 500 * time.Millisecond

// fresh is how young a head can be for its partition to be seen to move: one look is enough then.
const fresh = 3 * time.Second

// standing finds the partitions that do not move although records wait. Only those that look like it at first are looked at
// again, until they have moved or the time is over.
func (r *Reader) standing(ctx context.Context, h *status.Header, contents map[int32]*ledger.Contents, read []int64, rows []*row) error {
	suspects := map[*row]status.Look{}
	for _, w := range rows {
		if w.suspicious(h.At) {
			suspects[w] = w.look()
		}
	}
	began := time.Now()
	for len(suspects) > 0 {
		if !pause(ctx, lookEvery) {
			return nil // what is known so far is shown
		}
		if err := r.lookAgain(ctx, contents, read, suspects); err != nil {
			h.Notes = append(h.Notes, "whether partitions move is not known: "+err.Error())
			return ctx.Err()
		}
		for w, first := range suspects {
			if !status.Stands(first, w.look()) {
				delete(suspects, w)
			}
		}
		if took := time.Since(began); took >= r.opts.Standing {
			for w, first := range suspects {
				w.State = status.Standing
				w.remark(fmt.Sprintf("at least %d offsets of the source wait, and nothing moved in %v", first.Waiting(), took.Round(time.Second)))
			}
			return nil
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// look is what the row says about the partition now.
func (w *row) look() status.Look {
	return status.Look{MirroredTo: w.moved, Visible: w.visible, MapEnd: w.mapEnd, TargetEnd: w.targetEnd}
}

// suspicious says whether the partition may stand: its owner says that it runs, and records wait.
func (w *row) suspicious(now time.Time) bool {
	w.moved, w.targetEnd = w.MirroredTo, w.TargetEnd
	age := now.Sub(w.AsOf)
	return w.State == status.Running && w.selected && !w.anew && (age < 0 || age >= fresh) && w.look().Waiting() > 0
}

// lookAgain reads what the ledger got since, and the target's ends. Ends first: what is written in between is in the
// ledger then, or in the next look.
func (r *Reader) lookAgain(ctx context.Context, contents map[int32]*ledger.Contents, read []int64, suspects map[*row]status.Look) error {
	lanes := map[int32]bool{}
	var tps []partition.ID
	for w := range suspects {
		lanes[w.Lane] = true
		tps = append(tps, w.remote)
	}
	ends, _, err := r.target.ListOffsets(ctx, tps, kafka.Latest, false)
	if err != nil {
		return err
	}
	for n := range lanes {
		if err := r.readOn(ctx, n, contents[n], read); err != nil {
			return err
		}
	}
	for w := range suspects {
		if end, ok := ends[w.remote]; ok {
			w.targetEnd = end
		}
		if m, err := contents[w.Lane].Map(partition.ID{Topic: w.Topic, Partition: w.Partition.Partition}); err == nil {
			w.moved, w.mapEnd = int64(m.Through()), int64(m.TargetEnd())
		}
	}
	return nil
}

// readOn reads a lane's ledger partition from where it was read to.
func (r *Reader) readOn(ctx context.Context, n int32, c *ledger.Contents, read []int64) error {
	tp := partition.ID{Topic: r.ledger, Partition: n}
	ends, failed, err := r.target.Extents(ctx, []partition.ID{tp})
	if err != nil {
		return err
	}
	if failed[tp] != nil {
		return failed[tp]
	}
	e := ends[tp]
	e.From = max(e.From, read[n])
	return r.target.Read(ctx, tp, e, func(rec topiclog.Record) error {
		read[n] = rec.Offset + 1
		return c.Apply(rec.Offset, rec.Key, rec.Value)
	})
}
