package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/configfile"
)

// Exit codes. They are part of the contract with scripts; see docs/cli.md.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the work could not be done; standard error says why
	ExitUsage       = 2   // the command line or the file is wrong; nothing was started
	ExitFindings    = 3   // with --check: the data is shown, and something in it is stopped, damaged or not exact
	ExitInterrupted = 130 // a signal ended the command before it was done; for run a second signal, before everything was released
)

// usageError is a mistake of the person who typed: exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errFindings ends a command that was asked to --check and found something; the output says what.
var errFindings = errors.New("something is stopped, damaged or not exact")

// errInterrupted is a second signal.
var errInterrupted = errors.New("interrupted before everything was released; the next start looks at the target's tail")

// env is what a command works with.
type env struct {
	ctx    context.Context //nolint:containedctx // ends at the first signal; cobra's own context has no second one
	abort  context.Context //nolint:containedctx // ends at the second
	stdout io.Writer
	stderr io.Writer
	log    logOptions
}

type logOptions struct{ format, level string }

// logger writes to standard error in the chosen format.
func (e *env) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(e.log.level)); err != nil {
		return nil, usagef("--log-level %q: use debug, info, warn or error", e.log.level)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch e.log.format {
	case "text":
		return slog.New(slog.NewTextHandler(e.stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(e.stderr, opts)), nil
	}
	return nil, usagef("--log-format %q: use text or json", e.log.format)
}

// signalsTogether is how close signals count as one.
const signalsTogether = 300 * time.Millisecond

// Main runs a command line and gives the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	abort, cancelAbort := context.WithCancel(context.Background())
	defer cancelAbort()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-abort.Done():
			return
		}
		// Whoever ends a process group can send one signal twice; a person takes longer to change their mind.
		settle := time.NewTimer(signalsTogether)
		defer settle.Stop()
		for waiting := true; waiting; {
			select {
			case <-signals:
			case <-settle.C:
				waiting = false
			case <-abort.Done():
				return
			}
		}
		select {
		case <-signals:
			cancelAbort()
		case <-abort.Done():
		}
	}()
	e := &env{ctx: ctx, abort: abort, stdout: stdout, stderr: stderr}
	root := newRoot(e)
	root.SetArgs(args)
	err := root.Execute()
	if err != nil && !errors.Is(err, errFindings) {
		fmt.Fprintf(stderr, "tidemark: %v\n", err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	var problems report.Problems
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errFindings):
		return ExitFindings
	case errors.Is(err, errInterrupted), errors.Is(err, errStopped):
		return ExitInterrupted
	case errors.As(err, &usage), errors.As(err, &problems):
		return ExitUsage
	}
	return ExitFailed
}

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "tidemark",
		Short: "Mirror topics between Kafka clusters, with every group's position exact",
		Long: `Tidemark copies topics from one Kafka cluster to another and carries every consumer group's
position across exactly, so that an application moves clusters with no record lost and none read twice.

FILE is YAML (docs/config.md) or one of MirrorMaker 2's: a properties file, a resource of Strimzi, JSON of connectors.

Exit codes: 0 fine; 1 failed; 2 wrong usage or file; 3 something is stopped, damaged or not exact
(with --check); 130 ended by a signal (run: by a second one) before it was done.`,
		Version:       buildVersion().Version,
		SilenceErrors: true, SilenceUsage: true,
		Args:                       knownCommand,
		RunE:                       func(root *cobra.Command, _ []string) error { return root.Help() },
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.PersistentFlags().StringVar(&e.log.format, "log-format", "text", "log lines on standard error: text or json")
	root.PersistentFlags().StringVar(&e.log.level, "log-level", "info", "least level of log lines: debug, info, warn or error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usagef("%w; see %s --help", err, cmd.CommandPath()) })
	root.AddCommand(newRun(e), newStatus(e), newGroups(e), newTranslate(e), newInspect(e), newLint(e), newTopics(e), newACLs(e), newDemo(e), newVersion(e))
	root.AddCommand(newControlled(e)...)
	return root
}

// knownCommand refuses a first word that is no command: cobra's own error would not be told from a failed command.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		text += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("%s; see tidemark --help", text)
}

// exactly says what a command's arguments are, in place of cobra's "accepts 1 arg(s)".
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return count(cmd, args, strings.Join(names, " and "))
	}
}

// atLeast is exactly for a command that takes FILE and any number of something.
func atLeast(name, more string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return count(cmd, args, name+" and optionally "+more+"...")
	}
}

// count is the error about a wrong number of arguments. One that looks like a flow, or like what a shell leaves of
// A->B, gets its own answer.
func count(cmd *cobra.Command, args []string, needs string) error {
	if needs == "" {
		needs = "nothing"
	}
	for _, arg := range args {
		if alias, cut := strings.CutSuffix(arg, "-"); cut && alias != "" && !strings.ContainsAny(alias, "./") {
			_, err := config.ParseFlow(arg)
			return usagef("%w, as --flow", err)
		}
		if f, err := config.ParseFlow(arg); err == nil {
			return usagef("%s takes %s; name the flow with --flow %s:%s", cmd.Name(), needs, f.Source, f.Target)
		}
	}
	arguments := "arguments"
	if len(args) == 1 {
		arguments = "argument"
	}
	return usagef("%s takes %s, got %d %s; see %s --help", cmd.Name(), needs, len(args), arguments, cmd.CommandPath())
}

// load reads FILE; the notes say what it does that is worth knowing.
func (e *env) load(file string) (*config.Config, error) {
	cfg, err := configfile.Load(file)
	if err == nil {
		return cfg, nil
	}
	if _, ok := errors.AsType[report.Problems](err); ok {
		return nil, err
	}
	return nil, usageError{err}
}

// oneFlow picks the flow that a command is about.
func oneFlow(cfg *config.Config, name string) (config.Flow, error) {
	flows, err := pick(cfg, name)
	if err != nil {
		return config.Flow{}, err
	}
	if len(flows) == 1 {
		return flows[0], nil
	}
	var names []string
	for _, f := range flows {
		names = append(names, f.Source+":"+f.Target)
	}
	return config.Flow{}, usagef("%s has several flows, say which: --flow %s", cfg.File, strings.Join(names, " or --flow "))
}

// pick gives the named flow, or every enabled one.
func pick(cfg *config.Config, name string) ([]config.Flow, error) {
	var out []config.Flow
	if name == "" {
		for _, f := range cfg.Flows {
			if f.Enabled {
				out = append(out, f)
			}
		}
		if len(out) == 0 {
			return nil, usagef("%s enables no flow", cfg.File)
		}
		return out, nil
	}
	want, err := config.ParseFlow(name)
	if err != nil {
		return nil, usageError{err}
	}
	var known []string
	for _, f := range cfg.Flows {
		if f.Name() == want {
			if !f.Enabled {
				return nil, usagef("flow %s is not enabled in %s", want, cfg.File)
			}
			return []config.Flow{f}, nil
		}
		known = append(known, f.Source+":"+f.Target)
	}
	return nil, usagef("%s has no flow %s; it has %s", cfg.File, name, strings.Join(known, ", "))
}
