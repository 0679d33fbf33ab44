package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

// flows is what `status` prints.
type flows struct {
	Flows []status.Flow `json:"flows"`
}

// Text is the flows, one after the other.
func (f flows) Text() string {
	parts := make([]string, len(f.Flows))
	for i, flow := range f.Flows {
		parts[i] = flow.Text()
	}
	return strings.Join(parts, "\n")
}

func newStatus(e *env) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "status FILE",
		Short: "Show flows, lanes and every partition: mirrored to, lag, running or stopped and why",
		Long: `Show every enabled flow of FILE, or the one named by --flow: who owns which lane, and for each partition how far it
is mirrored, its lag, and whether it runs or why not.

The target is read (the ledger topic), so it does not matter whether a run is going on. The source is asked for its
log ends; where it does not answer, they come from the ledger, with their age. A topic that is new on the source shows at
once, as new: a run sees it within seconds, or with refresh_topics off at its next start.

Where no run has created the ledger of any flow shown there is nothing to show: exit code 1 (with --check 3).` + exitCodesCheck,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return e.watched(o, func(e *env) error { return runStatus(e, args[0], o) })
		},
	}
	o.add(cmd, "exit 3 if a partition is stopped, standing, held by a transaction that hangs, damaged or not begun, FILE names a topic that is not there, others wrote to a remote topic, a lane has no owner or does not run, a worker waits or has another file, a part of an offset map is missing, or the source does not answer")
	o.addWatch(cmd)
	cmd.Flag("flow").Usage = "show only this flow, A:B"
	return cmd
}

func runStatus(e *env, file string, o readOptions) error {
	out := flows{Flows: []status.Flow{}}
	err := e.askEach(file, o, func(ctx context.Context, r *inspect.Reader) error {
		s, err := r.Flow(ctx)
		if err == nil {
			out.Flows = append(out.Flows, s)
		}
		return err
	})
	if err != nil && (len(out.Flows) == 0 || errors.Is(err, errStopped)) {
		return err
	}
	if perr := e.print(out, o.json); perr != nil {
		return perr
	}
	complete, ever, theirs := true, false, false
	var findings []string
	for _, s := range out.Flows {
		e.remarks(s.Header)
		ever, theirs = ever || s.Ledger.Exists, theirs || s.MirrorMaker != ""
		complete = complete && s.Complete()
		findings = append(findings, s.Findings()...)
	}
	switch {
	case err != nil:
		return err
	case !ever && !o.check && theirs:
		return errors.New("there is no state of Tidemark's to show: read docs/from-mirrormaker.md before you start a run")
	case !ever && !o.check:
		return fmt.Errorf("there is no state to show: start tidemark run %s, or check that the file means the right clusters", file)
	}
	return e.verdict(o, complete, findings)
}

// pickToRead is every enabled flow, or the named one even if it is switched off.
func pickToRead(cfg *config.Config, name string) ([]config.Flow, error) {
	if name == "" {
		return pick(cfg, name)
	}
	f, err := oneToRead(cfg, name)
	return []config.Flow{f}, err
}
