package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/handover"
	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

// handoverOptions are how positions are written by hand.
type handoverOptions struct {
	write, csv, yes, dryRun bool
	as                      string
}

func (o *handoverOptions) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.write, "write", false, "commit the translated positions on the target, from what the target alone knows: shows what, and asks first")
	cmd.Flags().BoolVar(&o.csv, "csv", false, "print the translated positions as kafka-consumer-groups.sh --reset-offsets --from-file reads them")
	cmd.Flags().StringVar(&o.as, "as", "", "with --write or --csv: the prefix of the groups on the target that get the positions")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "with --write: do not ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "with --write: show only what would be written")
}

// wanted says whether positions are to be handed over, and refuses flags that do not go together.
func (o *handoverOptions) wanted(also readOptions) (bool, error) {
	switch {
	case (o.write || o.csv) && also.watch != 0:
		return false, usagef("groups: --watch shows, it does not go with --write and --csv")
	case !o.write && !o.csv && (o.as != "" || o.yes || o.dryRun):
		return false, usagef("groups: --as, --yes and --dry-run go with --write (--as with --csv too)")
	case o.write && o.csv:
		return false, usagef("groups: --write writes positions, --csv prints them for another tool: one of both")
	case (o.write || o.csv) && also.check:
		return false, usagef("groups: --check does not go with --write and --csv; use it afterwards")
	}
	return o.write || o.csv, nil
}

func runHandover(e *env, cfg *config.Config, flow config.Flow, names []string, o groupsOptions) error {
	var plan status.Handover
	ask := func(into *status.Handover) error {
		return e.ask(cfg, flow, o.readOptions, func(ctx context.Context, r *inspect.Reader) (err error) {
			*into, err = r.Handover(ctx, names, o.as)
			return err
		})
	}
	if err := ask(&plan); err != nil {
		return err
	}
	if o.csv {
		if _, err := io.WriteString(e.stdout, plan.CSV()); err != nil {
			return err
		}
		for _, g := range plan.Groups {
			if without := g.Without(); without > 0 || len(g.Positions) == 0 {
				e.say("group %s: %d of its positions have no place on the target; `%s` says why", g.Group, without, plan.Command("groups", g.Group))
			}
		}
		e.remarks(plan.Header)
		return e.verdict(o.readOptions, plan.Complete(), nil)
	}
	if err := e.print(plan, o.json); err != nil {
		return err
	}
	e.remarks(plan.Header)
	n, groups := plan.Writes()
	switch {
	case !plan.Complete():
		return errIncomplete
	case n == 0 || o.dryRun:
		return nil
	case plan.Worker && flow.SyncGroupOffsets && o.as == "":
		return usagef("a worker runs, and %s is on in %s: it writes these positions itself; --as PREFIX writes them under other names", cfg.FlowKey("SyncGroupOffsets"), cfg.File)
	}
	if err := e.confirm(fmt.Sprintf("write what is shown to %s (positions: %d, groups: %d)?", flow.Target, n, groups), o.yes); err != nil {
		return err
	}
	var now status.Handover
	if err := ask(&now); err != nil { // a consumer can have been started while somebody read the plan
		return err
	}
	results, err := handover.Write(e.ctx, cfg, flow, nil, plan, now)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range results {
		if r.Err != nil {
			failed++
			e.say("group %s: %d of %d positions written: %v", r.Group.As, r.Written, r.Group.Writes, r.Err)
			continue
		}
		e.say("group %s: positions written: %d", r.Group.As, r.Written)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d groups were not written as planned", failed, len(results))
	}
	return nil
}
