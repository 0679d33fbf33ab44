package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/pause"
)

// again is how often a flow is tried whose cluster was away at the start.
const again = 10 * time.Second

// startLater runs a flow as soon as its clusters can be reached: the other flows of the file go on meanwhile.
func startLater(ctx context.Context, cfg *config.Config, fc config.Flow, opts Options) error {
	for pause.For(ctx, again) {
		started, err := startOne(ctx, cfg, fc, opts)
		if started || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// startOne tries once; started is false while a cluster cannot be reached.
func startOne(ctx context.Context, cfg *config.Config, fc config.Flow, opts Options) (started bool, err error) {
	f, err := open(ctx, cfg, fc, opts)
	defer f.close()
	if _, unreachable := errors.AsType[*kafka.ErrUnreachable](err); unreachable {
		return false, nil
	}
	if err == nil {
		opts.Log.Info("flow starts now", "flow", fc.Name().String())
		err = f.run(ctx, opts)
	}
	if err != nil && ctx.Err() == nil {
		return true, fmt.Errorf("flow %s: %w", fc.Name(), err)
	}
	return true, nil
}
