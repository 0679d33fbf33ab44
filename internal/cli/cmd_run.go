package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/engine"
	"tidemark/internal/kafka"
)

type runOptions struct{ flow, instance string }

func newRun(e *env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Mirror what FILE says until told to stop",
		Long: `Mirror what FILE says until told to stop: every enabled flow, or the one named by --flow.

Several processes with the same FILE share the work. SIGINT or SIGTERM: drain what is in flight, write the
ledger, release the lanes, exit 0. A second signal ends at once; the next start then looks at the target's
tail and goes on without loss. SIGUSR1: print what this worker is doing now, lane by lane and partition by
partition where something waits.`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runRun(e, args[0], o) },
	}
	cmd.Flags().StringVar(&o.flow, "flow", "", "run only this flow, A:B")
	cmd.Flags().StringVar(&o.instance, "instance-id", "", "static member id: a restarted worker takes its lanes back at once (unique per worker)")
	return cmd
}

// frugal makes the collector run at half of Go's default headroom. What lives is a few dozen MiB of pooled buffers, so
// the headroom is pure resident size: 143 MB against 112 MB at the same CPU time (docs/performance.md). GOGC still wins.
func frugal() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// whichAddress adds to the error about a cluster that cannot be reached where its address comes from.
func whichAddress(cfg *config.Config, err error) error {
	u, ok := errors.AsType[*kafka.ErrUnreachable](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w; is %s in %s right, and do its brokers run?", err, cfg.BootstrapKey(u.Cluster), cfg.File)
}

func runRun(e *env, file string, o runOptions) error {
	log, err := e.logger()
	if err != nil {
		return err
	}
	cfg, err := e.load(file)
	if err != nil {
		return err
	}
	flows, err := pick(cfg, o.flow)
	if err != nil {
		return err
	}
	for _, n := range cfg.Warnings {
		log.Warn("a key of the file has no effect and may be a mistake", "note", n, "file", cfg.File)
	}
	for _, n := range cfg.Notes {
		log.Info("worth knowing about the file", "note", n, "file", cfg.File)
	}
	for _, f := range cfg.Flows {
		if !f.Enabled {
			log.Info("flow is not enabled in the file", "flow", f.Name().String())
		}
	}
	frugal()
	watch := &engine.Watch{}
	done := make(chan error, 1)
	go func() {
		done <- engine.Run(e.ctx, cfg, flows, engine.Options{InstanceID: o.instance, Log: log, Watch: watch})
	}()
	asked, end := showOn()
	defer end()
	for told := e.ctx.Done(); ; {
		select {
		case err = <-done:
			return ended(e, cfg, file, err)
		case <-told:
			told = nil
			log.Info("stopping: what is in flight is drained and the lanes are released; a second signal ends at once")
		case <-e.abort.Done():
			return errInterrupted
		case <-asked:
			e.show(watch)
		}
	}
}

// ended is what the command says of the end of its flows.
func ended(e *env, cfg *config.Config, file string, err error) error {
	if err != nil && e.ctx.Err() == nil {
		return fmt.Errorf("run %s: %w", file, whichAddress(cfg, err))
	}
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// showWithin bounds how long lanes are waited for that are asked what they do.
const showWithin = 5 * time.Second

// show prints what the flows of this process are doing.
func (e *env) show(watch *engine.Watch) {
	ctx, cancel := context.WithTimeout(e.ctx, showWithin)
	defer cancel()
	for _, l := range watch.Live(ctx) {
		_, _ = fmt.Fprint(e.stdout, l.Text())
	}
}
