package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/inspect"
	"tidemark/internal/status"
)

// readOptions are what commands that print data have in common.
type readOptions struct {
	flow    string
	json    bool
	check   bool
	timeout time.Duration
	watch   time.Duration // 0: once
}

func (o *readOptions) add(cmd *cobra.Command, check string) {
	cmd.Flags().StringVar(&o.flow, "flow", "", "the flow, A:B (needed where FILE has several)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document (docs/cli.md describes it)")
	cmd.Flags().DurationVar(&o.timeout, "timeout", inspect.DefaultTimeout, "give up after this long")
	if check != "" {
		cmd.Flags().BoolVar(&o.check, "check", false, check)
	}
}

// exitCodes ends the help of commands that print data.
const exitCodes = "\n\nExit codes: 0 fine; 1 failed, or the answer is not complete; 2 wrong usage or file"

const exitCodesCheck = exitCodes + "; 3 with --check: see there."

// errIncomplete ends a command whose output lacks something; what it is was said before.
var errIncomplete = errors.New("the answer is not complete")

// errStopped ends a command that waits for nothing but an answer, at the first signal.
var errStopped = errors.New("interrupted")

// snapshot is what a command prints.
type snapshot interface{ Text() string }

// reader opens what the commands read with. The clients below keep silent unless asked with --log-level debug: what
// went wrong is in the snapshot, and lines of theirs between ours would only repeat it.
func (e *env) reader(cfg *config.Config, flow config.Flow, o readOptions) (*inspect.Reader, error) {
	log, err := e.logger()
	if err != nil {
		return nil, err
	}
	if !log.Enabled(e.ctx, slog.LevelDebug) {
		log = nil
	}
	if o.timeout <= 0 {
		return nil, usagef("--timeout %v: it must be positive", o.timeout)
	}
	return inspect.Open(cfg, flow, inspect.Options{Timeout: o.timeout, Log: log, Progress: newProgress(e.stderr).show})
}

// ask opens the reader of a flow for one question. Whatever the question's error, it is the flow's.
func (e *env) ask(cfg *config.Config, flow config.Flow, o readOptions, question func(context.Context, *inspect.Reader) error) error {
	r, err := e.reader(cfg, flow, o)
	if err != nil {
		return err
	}
	defer r.Close()
	began := time.Now()
	err = question(e.ctx, r)
	switch {
	case err == nil:
		return nil
	case e.ctx.Err() != nil:
		return errStopped
	case errors.Is(err, context.DeadlineExceeded) && time.Since(began) >= o.timeout:
		return fmt.Errorf("flow %s: %w; it took longer than %v, --timeout gives more time", flow.Name(), err, o.timeout)
	}
	return fmt.Errorf("flow %s: %w", flow.Name(), err)
}

// askEach asks the same of every enabled flow of the file, or of the one that is named. One that cannot answer keeps
// nothing from the others; being told to stop does.
func (e *env) askEach(file string, o readOptions, question func(context.Context, *inspect.Reader) error) error {
	cfg, err := e.load(file)
	if err != nil {
		return err
	}
	chosen, err := pickToRead(cfg, o.flow)
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range chosen {
		err := e.ask(cfg, f, o, question)
		if errors.Is(err, errStopped) {
			return err
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// oneToRead picks the flow that a reading command is about. A flow that is switched off can be read when it is named:
// after a failover that is the one to look at.
func oneToRead(cfg *config.Config, name string) (config.Flow, error) {
	if name == "" {
		return oneFlow(cfg, name)
	}
	f, err := cfg.Flow(name)
	if err != nil {
		return config.Flow{}, usageError{err}
	}
	return f, nil
}

// loadOne reads a file and picks the flow of it that a reading command is about.
func (e *env) loadOne(file, name string) (*config.Config, config.Flow, error) {
	cfg, err := e.load(file)
	if err != nil {
		return nil, config.Flow{}, err
	}
	flow, err := oneToRead(cfg, name)
	return cfg, flow, err
}

// print writes data to standard output.
func (e *env) print(s any, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(s)
	}
	text, ok := s.(snapshot)
	if !ok {
		return fmt.Errorf("nothing prints a %T as text", s)
	}
	_, err := io.WriteString(e.stdout, text.Text())
	return err
}

// remarks says on standard error what the data does not: that the source did not answer, and what could not be read.
func (e *env) remarks(h status.Header) {
	if h.Source.Asked && !h.Source.Reached {
		e.say("flow %s: the source cannot be asked, so its offsets are as old as shown: %s", h.Flow, h.Source.Error)
	}
	for _, n := range h.Notes {
		e.say("flow %s: %s", h.Flow, n)
	}
	for _, t := range h.Trouble {
		e.say("flow %s: %s", h.Flow, t)
	}
}

// say writes one line to standard error.
func (e *env) say(format string, args ...any) {
	line := status.Printable(fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintln(e.stderr, "tidemark: "+line) // where standard error is gone nobody reads a complaint either
}

// saidFindings is how many findings are listed; the data itself has all.
const saidFindings = 20

// verdict is a command's result once its data is printed.
func (e *env) verdict(o readOptions, complete bool, findings []string) error {
	if o.check && len(findings) > 0 {
		for i, f := range findings {
			if i == saidFindings {
				e.say("check: and %d more", len(findings)-saidFindings)
				break
			}
			e.say("check: %s", f)
		}
		return errFindings
	}
	if !complete {
		return errIncomplete
	}
	return nil
}
