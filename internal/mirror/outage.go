package mirror

import (
	"sync"

	"tidemark/internal/events"
	"tidemark/internal/lane"
	"tidemark/internal/partition"
)

// outage says that partitions of the source cannot be read, and when that is over, in one line for all lanes of a flow: a
// cluster that is away for an hour would otherwise fill the log, with a line for each partition or lane every few seconds.
type outage struct {
	mu     sync.Mutex
	lanes  map[int32]unread // those that cannot read now
	since  int64            // ms; 0: all is well
	saidAt int64            // ms; 0: not said yet
}

// unread is what a lane cannot read; the zero value is nothing.
type unread struct {
	partitions int
	one        partition.ID // an example, and why
	err        error
}

const (
	gatherFor = 1_000  // ms from the first lane that cannot read to the first line, so that it counts those of the others
	tellEvery = 60_000 // ms from line to line while it lasts
)

// note takes what a lane sees at time t, in ms.
func (o *outage) note(say func(events.Kind, ...any), lane int32, u unread, t int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if u.partitions == 0 {
		delete(o.lanes, lane)
	} else {
		if o.lanes == nil {
			o.lanes = map[int32]unread{}
		}
		o.lanes[lane] = u
	}
	if len(o.lanes) == 0 {
		if o.saidAt != 0 {
			say(events.SourceBack)
		}
		o.since, o.saidAt = 0, 0
		return
	}
	if o.since == 0 {
		o.since = t
	}
	if t-o.since < gatherFor || o.saidAt != 0 && t-o.saidAt < tellEvery {
		return
	}
	o.saidAt = t
	n, example := 0, u
	for _, other := range o.lanes {
		n, example = n+other.partitions, other
	}
	say(events.SourceAway, "partitions", n, "one", example.one.String(), "error", example.err)
}

// tellUnreadable counts the partitions of the source that the lane cannot read at time t.
func (l *Lane) tellUnreadable(t int64) {
	var u unread
	for _, p := range l.parts {
		if p.core.Is(lane.Live) && p.unreadable != nil {
			u = unread{partitions: u.partitions + 1, one: p.TP, err: p.unreadable}
		}
	}
	l.flow.unread.note(l.flow.say, l.n, u, t)
}
