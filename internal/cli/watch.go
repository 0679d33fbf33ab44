package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark/internal/pause"
)

// leastWatch keeps a slip of the finger from asking brokers without a pause.
const leastWatch = 500 * time.Millisecond

// clearScreen puts a terminal's cursor at its top left and empties it: ECMA-48, as clear(1) does on every terminal of today.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

func (o *readOptions) addWatch(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&o.watch, "watch", 0, "show it again and again, with this pause between (2s, say), until CTRL-C")
}

// watched does once what a command does, or again and again where --watch says so. Then what cannot be shown now is said, and shown
// once it can be; what no repetition mends (wrong usage, a file that cannot be read) ends it. Each picture is complete before it
// takes the place of the last one.
func (e *env) watched(o readOptions, once func(*env) error) error {
	switch {
	case o.watch == 0:
		return once(e)
	case o.watch < leastWatch:
		return usagef("--watch %v: use %v or more", o.watch, leastWatch)
	case o.check:
		return usagef("--watch does not end, so --check has nothing to say: use one of them")
	}
	f, ok := e.stdout.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	for {
		var out, said bytes.Buffer
		view := *e
		view.stdout, view.stderr = &out, &said
		err := once(&view)
		if e.ctx.Err() != nil {
			return nil //nolint:nilerr // the end of a watch is no failure
		}
		if exitCode(err) == ExitUsage {
			return err
		}
		head := fmt.Sprintf("every %v, at %s\n\n", o.watch, time.Now().Format(time.TimeOnly))
		switch {
		case o.json:
			head = ""
		case terminal:
			head = clearScreen + head
		}
		if _, werr := io.WriteString(e.stdout, head+out.String()); werr != nil {
			return werr
		}
		if _, werr := said.WriteTo(e.stderr); werr != nil {
			return werr
		}
		if err != nil {
			e.say("%v", err)
		}
		if !o.json && !terminal {
			_, _ = io.WriteString(e.stdout, "\n") // pictures in a file or a pipe stand one below the other
		}
		if !pause.For(e.ctx, o.watch) {
			return nil
		}
	}
}
