package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

func newInspect(e *env) *cobra.Command {
	const what = "ledger, checkpoints, offset-syncs or heartbeats"
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show the records of Tidemark's ledger and of MirrorMaker 2's topics",
		Long: `Show what a topic holds: the newest record of each key, and records that cannot be used.

checkpoints and heartbeats are on the target; offset-syncs are on the cluster that offset_syncs_location names. Whether
Tidemark or a MirrorMaker 2 wrote them makes no difference. Checkpoints and offset syncs in topics that were named with
another separator are found too, and named.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("inspect: %q is none of %s", args[0], what)
			}
			return usagef("inspect needs one of %s", what)
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(
		newInspectLedger(e),
		newInspectMM2(e, "checkpoints", "Show MirrorMaker 2's checkpoints", (*inspect.Reader).Checkpoints),
		newInspectMM2(e, "offset-syncs", "Show MirrorMaker 2's offset syncs", (*inspect.Reader).OffsetSyncs),
		newInspectMM2(e, "heartbeats", "Show MirrorMaker 2's heartbeats", (*inspect.Reader).Heartbeats),
	)
	return cmd
}

func newInspectLedger(e *env) *cobra.Command {
	var o readOptions
	var runs bool
	cmd := &cobra.Command{
		Use:   "ledger FILE",
		Short: "Show the ledger: claims, heads, blocks, offset maps, damage",
		Long: `Show the newest record of each key of the ledger topic, the offset maps that they add up to (bounded ones say which
blocks are missing), and records that are damaged.` + exitCodes + ".",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runInspectLedger(e, args[0], o, runs) },
	}
	o.add(cmd, "")
	cmd.Flags().BoolVar(&runs, "runs", false, "list the runs of every offset map too (there can be millions)")
	return cmd
}

func runInspectLedger(e *env, file string, o readOptions, runs bool) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	var l status.LedgerRecords
	err = e.ask(cfg, flow, o, func(ctx context.Context, r *inspect.Reader) (err error) {
		l, err = r.Ledger(ctx, runs)
		return err
	})
	if err != nil {
		return err
	}
	if err := e.print(l, o.json); err != nil {
		return err
	}
	e.remarks(l.Header)
	return e.verdict(o, l.Complete(), nil)
}

func newInspectMM2(e *env, name, short string, read func(*inspect.Reader, context.Context) (status.MM2Records, error)) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use: name + " FILE", Short: short,
		Long: short + `, the newest of each key, and records that are malformed.` + exitCodes + ".",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runInspectMM2(e, args[0], o, read) },
	}
	o.add(cmd, "")
	return cmd
}

func runInspectMM2(e *env, file string, o readOptions, read func(*inspect.Reader, context.Context) (status.MM2Records, error)) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	var m status.MM2Records
	err = e.ask(cfg, flow, o, func(ctx context.Context, r *inspect.Reader) (err error) {
		m, err = read(r, ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := e.print(m, o.json); err != nil {
		return err
	}
	e.remarks(m.Header)
	return e.verdict(o, m.Complete(), nil)
}
