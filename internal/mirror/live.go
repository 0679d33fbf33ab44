package mirror

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tidemark/internal/lane"
	"tidemark/internal/status"
)

// describe asks a lane for its part of Flow.Live.
type describe struct{ reply chan<- status.LiveLane }

// Live is what this process knows of the flow now. A lane that does not answer before ctx ends is left out; those that are
// still being taken over are too.
func (f *Flow) Live(ctx context.Context) status.Live {
	out := status.Live{
		Flow: f.Source + "->" + f.Target, At: time.Now().UTC(), Records: f.counters.Records.Load(), Bytes: f.counters.Bytes.Load(),
		Used: f.budget.Used(), Memory: f.budget.Total(), Lanes: []status.LiveLane{}, OfLanes: int(f.Lanes),
	}
	asked := 0
	replies := make(chan status.LiveLane, f.Lanes) // a lane that answers late finds room
	f.tell(func(l *Lane) {
		asked++
		l.post(describe{replies})
	})
	for len(out.Lanes) < asked && ctx.Err() == nil {
		select {
		case l := <-replies:
			out.Lanes = append(out.Lanes, l)
		case <-ctx.Done():
		}
	}
	slices.SortFunc(out.Lanes, func(a, b status.LiveLane) int { return cmp.Compare(a.Lane, b.Lane) })
	return out
}

// live is the lane's part of it.
func (l *Lane) live() status.LiveLane {
	out := status.LiveLane{Lane: l.n, Partitions: []status.LivePartition{}}
	if l.ledger.Stalled() {
		out.Waits, out.Why = "waiting until "+l.ledger.tp.String()+" can be written", l.ledger.trouble
	}
	for _, p := range l.parts {
		state, since := p.core.State()
		_, held, _ := p.feed.state()
		w := status.LivePartition{
			Topic: p.TP.Topic, Partition: p.TP.Partition, State: state.String(), Since: time.UnixMilli(since).UTC(), Reason: p.core.Reason(),
			MirroredTo: status.Unknown, ReadTo: status.Unknown, TargetEnd: status.Unknown, SourceEnd: int64(p.core.Seen().SourceEnd), Held: held,
		}
		if p.core.Opened() && state != lane.Opening {
			w.MirroredTo, w.ReadTo, w.TargetEnd = int64(p.core.Map().Through()), int64(p.core.Next()), int64(p.core.Map().TargetEnd())
		}
		out.Partitions = append(out.Partitions, w)
	}
	slices.SortFunc(out.Partitions, func(a, b status.LivePartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}
