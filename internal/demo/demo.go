package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/errgroup"
)

// Options change what the demo shows. The zero value is what `tidemark demo` does.
type Options struct {
	// Log is the mirror's; nil discards it.
	Log *slog.Logger
	// Sabotage is called when the positions are on B and A is gone, before any consumer reads B. It is for tests, which
	// prove by it that the demo notices a position that is not exact.
	Sabotage func(ctx context.Context, b *kadm.Client) error

	giveUp time.Duration // how long a group waits on B for its next record; 0: ten seconds
}

// timeout bounds the whole demo, which takes some seconds, or twenty on a busy machine under the race detector.
const timeout = time.Minute

// Run does the demo and writes progress, a table and the outcome to out. The last line is "records lost 0, records read
// twice 0" where the failover was exact; any other outcome is an ErrNotExact, and what keeps it from coming to an end
// another error.
func Run(ctx context.Context, out io.Writer, o Options) error {
	s := newScreen(out)
	rs, err := newStage(s, o).failover(ctx)
	if err != nil {
		return err
	}
	return verdict(s, rs)
}

// stage is the demo's clusters and who works on them.
type stage struct {
	*screen
	Options
	a, b   *cluster
	w      *writer
	groups []*group
	all    contents // of A when it stops
}

func newStage(s *screen, o Options) *stage {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.giveUp == 0 {
		o.giveUp = 10 * time.Second
	}
	return &stage{screen: s, Options: o, groups: applications()}
}

// failover does it all and gives what became of each group. An error names what ended it first, such as the mirror's own.
func (st *stage) failover(ctx context.Context) ([]result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done within %s", timeout))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	rs, err := st.play(ctx, fail)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w; at that time: %w", cause, err)
	}
	return rs, err
}

// play is the order of events. fail ends ctx.
func (st *stage) play(ctx context.Context, fail context.CancelCauseFunc) ([]result, error) {
	if err := st.open(ctx); err != nil {
		return nil, err
	}
	defer st.a.close()
	defer st.b.close()
	m, err := startMirror(ctx, st.a, st.b, st.Log, fail)
	if err != nil {
		return nil, err
	}
	defer m.abandon()
	if err := st.live(ctx); err != nil {
		return nil, err
	}
	st.step("A is stopped, with the mirror still running; then the mirror too")
	st.a.close()
	if err := m.end(ctx); err != nil {
		return nil, err
	}
	if st.Sabotage != nil {
		if err := st.Sabotage(ctx, st.b.admin); err != nil {
			return nil, fmt.Errorf("sabotage: %w", err)
		}
	}
	return st.resume(ctx)
}

// open starts both clusters, fills A, and lets the groups read what each reads.
func (st *stage) open(ctx context.Context) (err error) {
	if st.a, err = startCluster(sourceAlias); err != nil {
		return err
	}
	if st.b, err = startCluster(targetAlias); err != nil {
		st.a.close()
		return err
	}
	defer func() {
		if err != nil {
			st.a.close()
			st.b.close()
		}
	}()
	st.step("two embedded clusters, A and B; applications write to A: plain topics, transactions with aborts, a compacted topic")
	st.w = newWriter(st.a)
	if err := st.w.fill(ctx); err != nil {
		return err
	}
	st.step("%d consumer groups read A and stop where translating is hard", len(st.groups))
	g, gctx := errgroup.WithContext(ctx)
	for _, app := range st.groups {
		g.Go(func() error { return app.readOnA(gctx, st.w) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	st.step("A compacts customers and deletes the first %d records of clicks", trimTo)
	st.a.Compact()
	for p := range int32(2) {
		if err := st.a.DeleteRecords("clicks", p, trimTo); err != nil {
			return fmt.Errorf("trim clicks-%d: %w", p, err)
		}
	}
	return nil
}

// live writes and reads on while the mirror runs, and waits until every position is on B.
func (st *stage) live(ctx context.Context) error {
	st.step("the mirror A->B runs; applications write on, group %s follows them", st.groups[0].name)
	if err := st.w.plain(ctx, "orders", 3, liveOrders); err != nil {
		return err
	}
	if err := st.w.transactions(ctx, livePayments); err != nil {
		return err
	}
	if err := st.groups[0].readOnA(ctx, st.w); err != nil {
		return err
	}
	var err error
	if st.all, err = readAll(ctx, st.a); err != nil {
		return err
	}
	h := newHandover(st.b, st.groups)
	if err := h.await(ctx, func(ready, of int) { st.working("positions that are exact on B: %d of %d", ready, of) }); err != nil {
		return err
	}
	st.step("%d records in %d partitions of A are mirrored, %d positions are exact on B", st.all.records(), len(st.all), h.positions())
	return nil
}

// resume lets the groups go on on B, and counts.
func (st *stage) resume(ctx context.Context) ([]result, error) {
	st.step("applications move to B: producers write one more record to each partition, groups resume at their positions")
	st.w.on = st.b
	last, err := st.w.last(ctx)
	if err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, app := range st.groups {
		g.Go(func() error { return app.readOnB(gctx, st.b, last, st.giveUp) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var rs []result
	ended := 0
	for _, app := range st.groups {
		rs = append(rs, tally(app, st.all, last, st.w.aborted))
		if app.gaveUp == nil {
			ended++
		}
	}
	st.step("%d of %d groups have read B to the end", ended, len(rs))
	return rs, nil
}
