package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"tidemark/internal/notes"
	"tidemark/internal/status"
)

// Watch tells what the flows of this process are doing, to whoever has given it to Run. Safe for concurrent use.
type Watch struct {
	mu    sync.Mutex
	flows []*flow
}

// Live is a snapshot of every flow that runs here now, by name. What a lane does not tell before ctx ends is left out.
func (w *Watch) Live(ctx context.Context) []status.Live {
	w.mu.Lock()
	flows := slices.Clone(w.flows)
	w.mu.Unlock()
	out := make([]status.Live, 0, len(flows))
	for _, f := range flows {
		l := f.mirror.Live(ctx)
		for _, t := range f.troubles() {
			l.Waits = append(l.Waits, status.LiveWait{Since: t.Since, What: t.What, Why: t.Why})
		}
		f.members.addWaiting(&l)
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b status.Live) int { return cmp.Compare(a.Flow, b.Flow) })
	return out
}

// addWaiting adds the lanes that are assigned and not taken over yet, or any more, with what they wait for.
func (m *members) addWaiting(l *status.Live) {
	for _, n := range m.held() {
		if slices.ContainsFunc(l.Lanes, func(have status.LiveLane) bool { return have.Lane == n }) {
			continue
		}
		waits := status.LiveLane{Lane: n, Partitions: []status.LivePartition{}}
		m.board.do(func(b *notes.Board) { waits.Waits, waits.Why = b.Waiting(n) })
		l.Lanes = append(l.Lanes, waits)
	}
	slices.SortFunc(l.Lanes, func(a, b status.LiveLane) int { return cmp.Compare(a.Lane, b.Lane) })
}

// add has a flow shown until end is called.
func (w *Watch) add(f *flow) (end func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flows = append(w.flows, f)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.flows = slices.DeleteFunc(w.flows, func(have *flow) bool { return have == f })
	}
}
