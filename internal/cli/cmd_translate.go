package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

type translateOptions struct {
	readOptions
	query inspect.Query
	csv   bool
}

func newTranslate(e *env) *cobra.Command {
	var o translateOptions
	cmd := &cobra.Command{
		Use:   "translate FILE GROUP [--reverse] | FILE --topic T --partition P --offset N [--reverse]",
		Short: "Translate a group's positions, or one offset, to the target",
		Long: `With GROUP: print where the group would resume on the target, as MirrorMaker's RemoteClusterUtils.translateOffsets
does: target topic, partition, offset, metadata. Partitions without a place on the target are named on standard error, and
those where the group has committed on the target itself, ahead of the translated offset: it would resume there.

With --topic, --partition and --offset: ask the partition's offset map directly. Offsets are the next record to read.
--reverse translates an offset of the target to the source; with GROUP, what the group has committed on remote topics of the
flow: where it goes on when it moves back.

Only the target is read.

Where no run has been and a MirrorMaker 2 has, GROUP is answered from its checkpoints and --offset from its offset syncs
(exact where one is about that very offset, otherwise one past the nearest below, as MirrorMaker 2 does; --reverse by the
same rule the other way round); the answer says so, and how many records would be read again at most. For that the source is
asked too if the offset syncs are there; without it the bounds of GROUP are wider, and --offset has no answer.

A remote topic that somebody has deleted, or created anew, since it was mirrored gives no place: offsets of the former one
mean other records there, or none.` + exitCodesCheck,
		Args: o.validate,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 2 && o.query.Reverse:
				return runReturn(e, args[0], args[1], o)
			case len(args) == 2:
				return runTranslate(e, args[0], args[1], o)
			}
			return runLookup(e, args[0], o)
		},
	}
	o.add(cmd, "exit 3 if a position is not exact (positions that are left out on purpose do not count), or the target's own commit is ahead of it and the group has no members there")
	cmd.Flags().StringVar(&o.query.Topic, "topic", "", "source topic (with --reverse its name on the target will do)")
	cmd.Flags().Int32Var(&o.query.Partition, "partition", 0, "partition of --topic")
	cmd.Flags().Int64Var(&o.query.Offset, "offset", 0, "offset to translate: the next record to read")
	cmd.Flags().BoolVar(&o.query.Reverse, "reverse", false, "from the target to the source")
	cmd.Flags().BoolVar(&o.csv, "csv", false, "with GROUP and --reverse: print lines for Kafka's own tool (kafka-consumer-groups.sh --reset-offsets --from-file)")
	return cmd
}

// validate says which of the two forms is meant.
func (o *translateOptions) validate(cmd *cobra.Command, args []string) error {
	given := 0
	for _, name := range []string{"topic", "partition", "offset"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	switch {
	case o.csv && (len(args) != 2 || given > 0 || !o.query.Reverse || o.json):
		return usagef("translate: --csv goes with GROUP and --reverse (the way to the target: tidemark groups FILE GROUP --csv)")
	case len(args) == 1 && given == 3:
		if o.query.Topic == "" || o.query.Partition < 0 || o.query.Offset < 0 {
			return usagef("translate: --topic must not be empty, --partition and --offset not negative")
		}
		return nil
	case len(args) == 2 && given == 0:
		return nil
	case len(args) == 2 && given > 0:
		return usagef("translate takes GROUP or --topic, --partition and --offset, not both; see tidemark translate --help")
	case len(args) == 1 && given > 0:
		return usagef("translate needs all of --topic, --partition and --offset; see tidemark translate --help")
	case o.query.Reverse:
		return usagef("translate --reverse needs GROUP, or --topic, --partition and --offset")
	}
	return count(cmd, args, "FILE and GROUP, or FILE with --topic, --partition and --offset")
}

func runTranslate(e *env, file, group string, o translateOptions) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	var t status.Translation
	err = e.ask(cfg, flow, o.readOptions, func(ctx context.Context, r *inspect.Reader) (err error) {
		t, err = r.Translate(ctx, group)
		return err
	})
	if err != nil {
		return err
	}
	if len(t.Offsets) > 0 || o.json {
		if err := e.print(t, o.json); err != nil {
			return err
		}
	}
	e.remarks(t.Header)
	findings := t.Findings()
	for _, n := range t.None() {
		if !o.check || n.Final || len(t.Offsets) == 0 { // otherwise it is a finding, and said as such
			e.say("%s", n)
		}
	}
	for _, a := range t.Ahead() {
		if !o.check || !slices.Contains(findings, a) {
			e.say("%s", a)
		}
	}
	for _, d := range t.Damage {
		e.say("a record of %s-%d is damaged (offset %d): %s", d.Topic, d.Partition, d.Offset, d.Error)
	}
	if len(t.Offsets) == 0 {
		return fmt.Errorf("group %q has no position on the target; `%s` says why", group, t.Command("groups", group))
	}
	return e.verdict(o.readOptions, t.Complete(), findings)
}

// runReturn is translate of a group, the other way round.
func runReturn(e *env, file, group string, o translateOptions) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	var t status.Return
	err = e.ask(cfg, flow, o.readOptions, func(ctx context.Context, r *inspect.Reader) (err error) {
		t, err = r.Return(ctx, group)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case o.csv:
		if _, err := io.WriteString(e.stdout, t.CSV()); err != nil {
			return err
		}
	case len(t.Offsets) > 0 || o.json:
		if err := e.print(t, o.json); err != nil {
			return err
		}
	}
	e.remarks(t.Header)
	if len(t.Offsets) == 0 {
		return fmt.Errorf("group %q has committed nothing on a remote topic of the flow on %s", group, flow.Target)
	}
	return e.verdict(o.readOptions, t.Complete(), t.Findings())
}

func runLookup(e *env, file string, o translateOptions) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	var l status.Lookup
	err = e.ask(cfg, flow, o.readOptions, func(ctx context.Context, r *inspect.Reader) (err error) {
		l, err = r.Lookup(ctx, o.query)
		return err
	})
	if err != nil {
		return err
	}
	if err := e.print(l, o.json); err != nil {
		return err
	}
	e.remarks(l.Header)
	if l.Answer() == status.Unknown && !o.check {
		return fmt.Errorf("offset %d of %s-%d has no place on the other side", o.query.Offset, o.query.Topic, o.query.Partition)
	}
	return e.verdict(o.readOptions, true, l.Findings())
}
