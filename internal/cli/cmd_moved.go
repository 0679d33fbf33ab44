package cli

import (
	"context"
	"crypto/rand"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"tidemark/internal/consumer"
	"tidemark/internal/control"
	"tidemark/internal/inspect"
	"tidemark/internal/partition"
	"tidemark/internal/status"
)

func newMoved(e *env) *cobra.Command {
	var o decideOptions
	var undo bool
	var reason string
	cmd := &cobra.Command{
		Use:   "moved FILE GROUP [GROUP...]",
		Short: "Say that consumer groups live on the target now",
		Long: `Say that consumer groups have moved to the target for good. Their positions there are their own from then on: no run writes or
renews them, whatever the source says, and groups --check reports nothing about them, but for one thing: what they commit on the
source all the same, or members that they have there.

The command says how each group stands now, and warns where it is still at work on the source. With --undo the groups follow the
source again; it is refused where a run would then write over what a group has committed on the target and not read on yet.` + durable + decisionCodes,
		Args: between(2, math.MaxInt, "FILE GROUP [GROUP...]"),
		RunE: func(_ *cobra.Command, args []string) error { return e.moved(args[0], args[1:], undo, reason, o) },
	}
	o.add(cmd, &reason)
	cmd.Flags().BoolVar(&undo, "undo", false, "take it back: the groups follow the source again")
	return cmd
}

// moved says what is decided about each group, asks once, writes all, and waits until they are in force.
func (e *env) moved(file string, names []string, undo bool, reason string, o decideOptions) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	read := readOptions{timeout: inspect.DefaultTimeout}
	var ds []control.Decision
	var means []string
	err = e.ask(cfg, flow, read, func(ctx context.Context, in *inspect.Reader) error {
		w, _, err := decider(ctx, in, flow)
		if err != nil {
			return err
		}
		s, err := in.Groups(ctx, names)
		if err != nil {
			return err
		}
		if err := unknown(cfg, s, slices.DeleteFunc(slices.Clone(names), s.OnlyThere)); err != nil {
			return usageError{err}
		}
		for _, name := range names {
			w.ID = rand.Text()
			d, says, err := w.Move(member(s, name), undo, reason)
			if err != nil {
				return usageError{err}
			}
			ds, means = append(ds, d), append(means, says...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.carryOut(cfg, flow, ds, means, o)
}

// member is a group of a snapshot as decisions know it.
func member(s status.Groups, name string) control.Group {
	out := control.Group{ID: name, Written: s.NotWritten == ""}
	for _, x := range s.Excluded {
		if x.Group == name {
			out.LeftOut = x.Why
		}
	}
	i := slices.IndexFunc(s.Groups, func(g status.Group) bool { return g.Group == name })
	if i < 0 {
		return out
	}
	g := s.Groups[i]
	if consumer.Active(g.SourceState) {
		out.AtSource = g.SourceState
	}
	if consumer.Active(g.TargetState) {
		out.AtTarget = g.TargetState
	}
	switch {
	case !s.Source.Reached:
		out.Unseen = s.Source.Error
	case g.Denied != "":
		out.Unseen = g.Denied
	}
	for _, p := range g.Positions {
		at := control.Place{
			ID: partition.ID{Topic: p.Topic, Partition: p.Partition}, Remote: p.RemoteTopic, Carried: !p.Verdict.Final(), Committed: p.Now,
			Lag: p.Lag, Target: p.Target, OnTarget: p.OnTarget, Exact: p.Exact,
			Newest: !p.AsOf.IsZero() && (p.Gone || p.Now != status.Unknown && p.Now == p.Committed),
		}
		if out.Unseen != "" && p.Committed >= 0 {
			at.Committed = p.Committed
		}
		out.Places = append(out.Places, at)
	}
	return out
}
