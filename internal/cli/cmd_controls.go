package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/internal/control"
	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

// durable ends the help of each command that decides something.
const durable = `

The decision is a record of tidemark-controls.SOURCE.internal on the target, with who made it, when and why. Every worker obeys
it, also those that start later. The command says what it means, asks, writes it, and waits until all lanes say that it is in
force; those that do not in time are named, and obey when they can. Without a worker the next start obeys.`

// newControlled are the commands that decide something, and the one that lists what was decided.
func newControlled(e *env) []*cobra.Command {
	return []*cobra.Command{newPause(e), newResume(e), newSkip(e), newRestart(e), newForget(e), newMoved(e), newThrottle(e), newControls(e)}
}

func newPause(e *env) *cobra.Command {
	return decides(e, control.Request{Kind: control.Pause}, &cobra.Command{
		Use:   "pause FILE [TOPIC [PARTITION]]",
		Short: "Stop copying a flow, a topic or a partition until it is told to resume",
		Long: `Stop copying the flow of FILE, one of its topics or one partition. What is on its way to the target arrives first. Positions of
groups stay as they are; status --check reports what is paused.` + durable,
		Args: between(1, 3, "FILE [TOPIC [PARTITION]]"),
	})
}

func newResume(e *env) *cobra.Command {
	return decides(e, control.Request{Kind: control.Pause, Off: true}, &cobra.Command{
		Use:   "resume FILE [TOPIC [PARTITION]]",
		Short: "Let go on what was paused",
		Long: `End a pause of the flow of FILE, of one of its topics or of one partition: the same that was paused. It goes on where it
stood.` + durable,
		Args: between(1, 3, "FILE [TOPIC [PARTITION]]"),
	})
}

func newSkip(e *env) *cobra.Command {
	return decides(e, control.Request{Kind: control.Skip}, &cobra.Command{
		Use:   "skip FILE TOPIC PARTITION FIRST[-LAST]",
		Short: "Pass over records that can never be copied",
		Long: `Pass over the source offsets FIRST to LAST of a partition, or FIRST alone: a damaged batch, or a record that the target does not
take. status says which offsets stop a partition. The records are never copied, which cannot be taken back; groups that would read
them next go on behind them.` + durable,
		Args: between(4, 4, "FILE TOPIC PARTITION FIRST[-LAST]"),
	})
}

func newRestart(e *env) *cobra.Command {
	var from string
	cmd := decides(e, control.Request{Kind: control.Restart}, &cobra.Command{
		Use:   "restart FILE TOPIC [PARTITION] --from earliest|latest|OFFSET|TIME",
		Short: "Copy a topic or a partition anew",
		Long: `Copy a topic or one partition anew, from its oldest record, from its end, from an offset of one partition, or from a time such as
2026-11-01T00:00:00Z. It is the answer where a topic was deleted and created again, on either side, where the source's log was
truncated, or where a record of the ledger is damaged.

What the remote topic holds stays there and the new copy comes behind it: whoever reads it from the start reads records twice. Delete
the remote topic first where that matters; Tidemark creates it again. Positions of groups follow in the new copy.` + durable,
		Args: between(2, 3, "FILE TOPIC [PARTITION]"),
	})
	cmd.Flags().StringVar(&from, "from", "", "where the new copy begins: earliest, latest, an offset (of one partition), or a time")
	return cmd
}

func newForget(e *env) *cobra.Command {
	return decides(e, control.Request{Kind: control.Forget}, &cobra.Command{
		Use:   "forget FILE TOPIC",
		Short: "Drop what is known of a topic that has ended",
		Long: `Drop what is known of a topic that the source does not have any more, or that the file leaves out: status does not show it any
more, and positions in it are not translated any more. Its remote topic stays. A topic of that name that comes later is another
one.` + durable,
		Args: between(2, 2, "FILE TOPIC"),
	})
}

func newControls(e *env) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "controls FILE",
		Short: "List what people have decided about the flow, and what of it is in force",
		Long: `List the decisions about a flow, the newest first: what, about what, by whom and why, whether it counts, and which lanes do not
obey yet. A decision is void where another one about the same was made at the same time and was first.` + exitCodes + ".",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, flow, err := e.loadOne(args[0], o.flow)
			if err != nil {
				return err
			}
			var s status.Controls
			err = e.ask(cfg, flow, o, func(ctx context.Context, r *inspect.Reader) (err error) {
				s, err = r.Controls(ctx)
				return err
			})
			if err != nil {
				return err
			}
			if err := e.print(s, o.json); err != nil {
				return err
			}
			e.remarks(s.Header)
			return e.verdict(o, s.Complete(), nil)
		},
	}
	o.add(cmd, "")
	return cmd
}

// between is exactly for a command with optional arguments.
func between(least, most int, needs string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return count(cmd, args, needs)
	}
}

// decides completes a command that decides something.
func decides(e *env, r control.Request, cmd *cobra.Command) *cobra.Command {
	var o decideOptions
	o.add(cmd, &r.Reason)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := r
		if from := cmd.Flag("from"); from != nil {
			if r.From = from.Value.String(); r.From == "" {
				return usagef("restart needs --from: earliest, latest, an offset of one partition, or a time such as 2026-11-01T00:00:00Z")
			}
		}
		if bytes := cmd.Flag("bytes"); bytes != nil {
			var err error
			if r.Bytes, r.Off, err = perSecond(bytes.Value.String()); err != nil {
				return err
			}
		}
		if err := arguments(&r, args[1:]); err != nil {
			return err
		}
		return e.decide(args[0], r, o)
	}
	cmd.Long += decisionCodes
	return cmd
}

// decisionCodes ends the help of commands that decide something.
const decisionCodes = "\n\nExit codes: 0 it is in force, or waits for the next start; 1 failed, or not all lanes obey yet; 2 wrong usage, or nothing to decide."

func (o *decideOptions) add(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(&o.flow, "flow", "", "the flow, A:B (needed where FILE has several)")
	cmd.Flags().StringVar(reason, "reason", "", "why, for whoever looks later")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what it means, and decide nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().DurationVar(&o.wait, "wait", time.Minute, "how long to wait until all lanes obey")
}

// arguments reads TOPIC, PARTITION and FIRST-LAST.
func arguments(r *control.Request, args []string) error {
	r.Partition = control.AllPartitions
	if len(args) > 0 {
		if r.Topic = args[0]; r.Topic == "" {
			return usagef("the topic is empty")
		}
	}
	if len(args) > 1 {
		n, err := strconv.ParseInt(args[1], 10, 32)
		if err != nil || n < 0 {
			return usagef("partition %q: write its number", args[1])
		}
		r.Partition = int32(n)
	}
	if len(args) > 2 {
		first, last, several := strings.Cut(args[2], "-")
		if !several {
			last = first
		}
		var errs [2]error
		r.First, errs[0] = strconv.ParseInt(first, 10, 64)
		r.Last, errs[1] = strconv.ParseInt(last, 10, 64)
		if errs[0] != nil || errs[1] != nil {
			return usagef("offsets %q: write FIRST or FIRST-LAST", args[2])
		}
	}
	return nil
}
