package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirm asks at a terminal. Where there is none, --yes has to say it.
func (e *env) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usagef("nothing was changed: there is no terminal to ask at (%s), say it with --yes", question)
	}
	_, _ = fmt.Fprintf(e.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // no answer is none
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		if a == "y" || a == "yes" {
			return nil
		}
		return usagef("nothing was changed")
	case <-e.ctx.Done():
		return errStopped
	}
}
