package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

// topicLists is what `topics` prints.
type topicLists struct {
	Flows []status.Topics `json:"flows"`
}

// Text is the flows, one after the other.
func (l topicLists) Text() string {
	parts := make([]string, len(l.Flows))
	for i, f := range l.Flows {
		parts[i] = f.Text()
	}
	return strings.Join(parts, "\n")
}

func newTopics(e *env) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "topics FILE",
		Short: "List which topics of the source FILE mirrors, and which rule keeps each other one out",
		Long: `List, for every enabled flow of FILE or the one named by --flow, which topics of the source are mirrored, under which
name and by which pattern, and for each other topic the rule that keeps it out. Patterns that no topic matches are named.

Only the source is asked, and nothing is changed on it, so this tells what a run would do before there is one. A topic that
is not listed at all is none that the source shows to this login: brokers leave out topics without DESCRIBE, silently.

Patterns and rules are named by MirrorMaker 2's keys: topics.exclude is topics_exclude in YAML.` + exitCodes + ".",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runTopics(e, args[0], o) },
	}
	o.add(cmd, "")
	cmd.Flag("flow").Usage = "list only this flow, A:B"
	return cmd
}

func runTopics(e *env, file string, o readOptions) error {
	out := topicLists{Flows: []status.Topics{}}
	err := e.askEach(file, o, func(ctx context.Context, r *inspect.Reader) error {
		t, err := r.Topics(ctx)
		if err == nil {
			out.Flows = append(out.Flows, t)
		}
		return err
	})
	if err != nil && (len(out.Flows) == 0 || errors.Is(err, errStopped)) {
		return err
	}
	if perr := e.print(out, o.json); perr != nil { // a flow whose source is away takes nothing from the others
		return perr
	}
	return err
}
