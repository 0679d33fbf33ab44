package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/configfile"
	"tidemark/internal/engine"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
)

// Aliases of the clusters in the mirror's file.
const (
	sourceAlias = "A"
	targetAlias = "B"
)

// mirror is a running engine.
type mirror struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // once done is closed
}

// file is what `tidemark run` would be given.
func file(a, b *cluster) string {
	return fmt.Sprintf(`
clusters:
  %s: {bootstrap: %q}
  %s: {bootstrap: %q}
flows:
  - {from: %s, to: %s, lanes: 4, positions_interval: 100ms, replication_factor: 1, offset_syncs_replication_factor: 1,
     checkpoints_replication_factor: 1, heartbeats_replication_factor: 1}
`, sourceAlias, strings.Join(a.ListenAddrs(), ","), targetAlias, strings.Join(b.ListenAddrs(), ","), sourceAlias, targetAlias)
}

// startMirror starts the engine. When it ends by itself, fail is called with its error.
func startMirror(ctx context.Context, a, b *cluster, log *slog.Logger, fail context.CancelCauseFunc) (*mirror, error) {
	cfg, err := configfile.Parse("demo.yaml", []byte(file(a, b)))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	m := &mirror{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.err = engine.Run(ctx, cfg, cfg.Flows, engine.Options{Log: log})
		if ctx.Err() == nil {
			fail(fmt.Errorf("the mirror ended: %w", m.err))
		}
	}()
	return m, nil
}

// end stops the engine and waits until it has released its lanes.
func (m *mirror) end(ctx context.Context) error {
	m.stop()
	select {
	case <-m.done:
	case <-ctx.Done():
		return fmt.Errorf("wait for the mirror's end: %w", context.Cause(ctx))
	}
	if m.err != nil && !errors.Is(m.err, context.Canceled) {
		return fmt.Errorf("stop the mirror: %w", m.err)
	}
	return nil
}

// abandon stops the engine where the demo does not come to an end, and waits a little, so that it does not work on
// clusters that are gone.
func (m *mirror) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = m.end(ctx) // whatever it says, the demo's own error is the cause
}

// handover waits until every position that the groups committed on A is on B, as the verdicts topic says it.
type handover struct {
	b      *cluster
	groups []*group
	rows   map[verdicts.Key]verdicts.Row
}

func newHandover(b *cluster, groups []*group) *handover {
	return &handover{b: b, groups: groups, rows: map[verdicts.Key]verdicts.Row{}}
}

// positions is how many positions there are.
func (h *handover) positions() int {
	n := 0
	for _, g := range h.groups {
		n += len(g.at)
	}
	return n
}

// await returns when each committed position has an exact verdict and B holds what that verdict says (DM2). seen is told
// how many do.
func (h *handover) await(ctx context.Context, seen func(ready, of int)) error {
	cl, err := h.b.client(kgo.ConsumeTopics(ledger.VerdictsName(sourceAlias)), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	last := "nothing was asked yet"
	for {
		if err := h.read(ctx, cl); err != nil {
			return err
		}
		var missing []string
		for _, g := range h.groups {
			m, err := h.missing(ctx, g)
			if ctx.Err() != nil {
				return fmt.Errorf("wait for positions on B: %w; last seen: %s", context.Cause(ctx), last)
			}
			if err != nil {
				return err
			}
			missing = append(missing, m...)
		}
		seen(h.positions()-len(missing), h.positions())
		if len(missing) == 0 {
			return nil
		}
		last = fmt.Sprintf("%d missing: %s", len(missing), strings.Join(missing, "; "))
	}
}

// read takes rows for as long as a round may take.
func (h *handover) read(ctx context.Context, cl *kgo.Client) error {
	const round = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, round)
	defer cancel()
	return h.take(cl.PollFetches(ctx))
}

// take takes rows in. A poll that ended with its time brings records all the same, and brings them only once.
func (h *handover) take(fs kgo.Fetches) error {
	for _, e := range fs.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) && !errors.Is(e.Err, context.Canceled) {
			return fmt.Errorf("read verdicts: %w", e.Err)
		}
	}
	for _, r := range fs.Records() {
		key, err := verdicts.ParseKey(r.Key)
		if err != nil {
			return err
		}
		if r.Value == nil {
			delete(h.rows, key)
			continue
		}
		row, err := verdicts.ParseRow(r.Value)
		if err != nil {
			return err
		}
		h.rows[key] = row
	}
	return nil
}

// missing says which of a group's positions are not exact on B yet, and why.
func (h *handover) missing(ctx context.Context, g *group) ([]string, error) {
	onB, err := h.b.committed(ctx, g.name)
	if err != nil {
		return nil, err
	}
	var out []string
	say := func(tp partition.ID, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s on %s: ", g.name, tp)+fmt.Sprintf(format, args...))
	}
	byName := func(a, b partition.ID) int { return strings.Compare(a.String(), b.String()) }
	for _, tp := range slices.SortedFunc(maps.Keys(g.at), byName) {
		row, ok := h.rows[verdicts.Key{Group: g.name, Topic: tp.Topic, Partition: tp.Partition}]
		switch there, committed := onB[partition.ID{Topic: remote(tp.Topic), Partition: tp.Partition}]; {
		case !ok:
			say(tp, "no verdict")
		case row.Committed != g.at[tp]:
			say(tp, "the verdict is about offset %d, committed is %d", row.Committed, g.at[tp])
		case !row.Verdict.IsExact():
			say(tp, "%s", row.Verdict)
		case !committed:
			say(tp, "%s, not committed on B", row.Verdict)
		case there != int64(row.Verdict.Target):
			say(tp, "%s, committed on B is %d", row.Verdict, there)
		}
	}
	return out, nil
}
