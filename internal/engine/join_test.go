package engine

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"tidemark/internal/kafka"
)

// TestNoLoopOutlivesAFlowThatCannotJoin: a flow that cannot enter its lane group returns when all that it began has ended: what
// its loops use is closed next.
func TestNoLoopOutlivesAFlowThatCannotJoin(t *testing.T) {
	e := newEnds(t, "")
	f, err := open(t.Context(), e.cfg, e.cfg.Flows[0], Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	no := errors.New("no")
	f.enter = func() (*kafka.Client, error) {
		e.until("the loops run", func() bool { return len(loops()) > 3 })
		return nil, no
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nothing ends between the return and the look
	if err := f.run(t.Context(), Options{}); !errors.Is(err, no) {
		t.Errorf("it returned %v", err)
	}
	if left := loops(); len(left) > 0 {
		t.Errorf("%d loops still run, one:\n%s", len(left), left[0])
	}
}

// loops are the stacks of what flows have begun.
func loops() (out []string) {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "engine.(*flow).run.func") {
			out = append(out, stack)
		}
	}
	return out
}
