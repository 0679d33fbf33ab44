package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

type groupsOptions struct {
	readOptions
	handoverOptions
}

func newGroups(e *env) *cobra.Command {
	var o groupsOptions
	cmd := &cobra.Command{
		Use:   "groups FILE [GROUP...]",
		Short: "Show every group's positions with their verdicts: source, lag, target, exact or why not",
		Long: `Show the positions of all groups, or of those named, in every enabled flow of FILE or in the one that --flow names (needed with
--json and with names where FILE has several): the committed offset on the source, its lag, the offset on the
target at which the group would resume, what the group has committed on the target now, and the verdict: exact, or why not.

The target is read (the verdicts topic), so it does not matter whether a run is going on. The source is asked for what
groups have committed now, and which groups are left out by which rule; where it does not answer, lags come from the
ledger, with their age.

Where no run has been and a MirrorMaker 2 has, the positions are those of its checkpoints, and the verdicts say so: they are
not exact, but never past an unread record, and say how many records would be read again at most.

With --check exit code 0 means that the groups, stopped on the source, can be started on the target and go on exactly
where they left off. It is 3
  - if a position is not exact, or the group has committed on the source since its verdict was made;
  - if the target's commit (ON TARGET) is absent or behind the translated position (TARGET);
  - if it is ahead of TARGET, as after a rehearsal there: the group would resume at ON TARGET; or beyond the target's log end;
  - if the group has members on the target: its position there is theirs;
  - if the source holds the group or the position no more: what is shown then is the last verdict, with its age;
  - if no worker runs, so that nothing is carried;
  - if group sync is off in FILE, so that no position is written to the target;
  - if the source does not answer, so that newest commits are not known;
  - if a group that was named is left out, or none of its positions is carried.
Positions that are left out on purpose (filtered, never committed) do not count otherwise.

With --write the translated positions are committed on the target, for a flow that does not do that itself (group sync off) and whose
source is lost: from what the target alone knows, by the rules of a run (whole groups, none with members there, nothing backwards).
The plan is shown first. --csv prints the positions for Kafka's own tool instead.` + exitCodesCheck,
		Args: atLeast("FILE", "GROUP"),
		RunE: func(_ *cobra.Command, args []string) error {
			return e.watched(o.readOptions, func(e *env) error { return runGroups(e, args[0], args[1:], o) })
		},
	}
	o.handoverOptions.add(cmd)
	o.addWatch(cmd)
	o.readOptions.add(cmd, "exit 3 if a position is not exact or not on the target, or the target's commit is ahead, the group has members there, it is gone from the source, it has committed on the source since, a named group is left out, group sync is off, no worker runs, or the source does not answer")
	return cmd
}

func runGroups(e *env, file string, names []string, o groupsOptions) error {
	byHand, err := o.wanted(o.readOptions)
	if err != nil {
		return err
	}
	cfg, err := e.load(file)
	if err != nil {
		return err
	}
	// All groups of all flows are a question that people ask; a group by its name, or one document, is about one flow.
	if o.flow == "" && len(names) == 0 && !byHand && !o.json && len(cfg.EnabledFlows()) > 1 {
		return groupsOfEach(e, cfg, o)
	}
	flow, err := oneToRead(cfg, o.flow)
	if err != nil {
		return err
	}
	if byHand {
		return runHandover(e, cfg, flow, names, o)
	}
	return groupsOf(e, cfg, flow, names, o)
}

// groupsOfEach shows the groups of every enabled flow. One that cannot answer keeps nothing from the others.
func groupsOfEach(e *env, cfg *config.Config, o groupsOptions) error {
	var failed, found error
	for i, flow := range cfg.EnabledFlows() {
		head := "flow " + flow.Name().String() + "\n"
		if i > 0 {
			head = "\n" + head
		}
		if _, err := io.WriteString(e.stdout, head); err != nil {
			return err
		}
		switch err := groupsOf(e, cfg, flow, nil, o); {
		case errors.Is(err, errStopped):
			return err
		case errors.Is(err, errFindings):
			found = err
		default:
			failed = errors.Join(failed, err)
		}
	}
	return cmp.Or(failed, found)
}

func groupsOf(e *env, cfg *config.Config, flow config.Flow, names []string, o groupsOptions) error {
	var s status.Groups
	err := e.ask(cfg, flow, o.readOptions, func(ctx context.Context, r *inspect.Reader) (err error) {
		s, err = r.Groups(ctx, names)
		return err
	})
	if err != nil {
		return err
	}
	if err := e.print(s, o.json); err != nil {
		return err
	}
	e.remarks(s.Header)
	for _, g := range s.Groups {
		if g.Named && g.Alive() && g.Moved == nil {
			e.say("group %s has members on %s now (%s): it goes on committing there; stop it before it is started on %s", status.Printable(g.Group), flow.Source, g.SourceState, flow.Target)
		}
	}
	if err := unknown(cfg, s, names); err != nil {
		return err
	}
	return e.verdict(o.readOptions, s.Complete(), s.Findings())
}

// unknown is the error about named groups that there is nothing to say about.
func unknown(cfg *config.Config, s status.Groups, names []string) error {
	var out []string
	has := "the verdicts topic"
	if s.Basis == status.BasisCheckpoints {
		has = "MirrorMaker 2's checkpoints topic"
	}
	for _, name := range names {
		i := slices.IndexFunc(s.Groups, func(g status.Group) bool { return g.Group == name })
		left := slices.ContainsFunc(s.Excluded, func(x status.Excluded) bool { return x.Group == name })
		if left || i >= 0 && (len(s.Groups[i].Positions) > 0 || s.Groups[i].Moved != nil) {
			continue
		}
		switch alias := strings.TrimSuffix(name, "-"); {
		case alias != name && cfg.Clusters[alias].Alias != "":
			_, err := config.ParseFlow(name)
			out = append(out, fmt.Sprintf("there is no group %q; if it was to be a flow: %v", name, err))
		case !s.Source.Reached:
			out = append(out, fmt.Sprintf("%s has no position of group %q, and the source cannot be asked why", has, name))
		case i >= 0 && s.Groups[i].Denied != "":
			out = append(out, fmt.Sprintf("%s has no position of group %q, and the source does not tell: %s", has, name, s.Groups[i].Denied))
		case i >= 0 && s.Groups[i].SourceState != "":
			out = append(out, fmt.Sprintf("group %q is on the source and has committed nothing there", name))
		case i >= 0 && len(s.Groups[i].TargetOnly) > 0:
			out = append(out, fmt.Sprintf("neither %s nor the source knows group %q; it has committed on remote topics on the target, and nothing else knows where it is", has, name))
		default:
			out = append(out, fmt.Sprintf("neither %s nor the source knows group %q%s", has, name, knownGroups(name, s.Known)))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(out, "\n"))
}

// listedGroups is how many groups are listed for who mistyped one.
const listedGroups = 10

// knownGroups is the group that was meant, or those that there are.
func knownGroups(name string, known []string) string {
	if near := report.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) == 0 {
		return ""
	}
	known = slices.Sorted(slices.Values(known))
	text := "; it has " + strings.Join(quotedNames(known[:min(listedGroups, len(known))]), ", ")
	if more := len(known) - listedGroups; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func quotedNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = status.Printable(n)
	}
	return out
}
