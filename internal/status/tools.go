package status

import (
	"strings"

	"tidemark/internal/prose"
)

// Tools is what commands need that are printed for people: they run as printed, so a cluster is named by its addresses and
// never by its alias, which means nothing outside of the file.
type Tools struct {
	Source, Target Reach
	File           string // the file that the snapshot was made with
	Several        bool   // the file has several flows, so that commands of ours need --flow
}

// Reach is how Kafka's own tools reach a cluster.
type Reach struct {
	Alias     string
	Bootstrap []string
	Secured   bool // they need a file that says how to log in, or whom to trust
}

// command is a call of one of Kafka's tools; what follows it is the caller's.
func (r Reach) command(tool string) string {
	text := tool + " --bootstrap-server " + prose.ShellWord(strings.Join(r.Bootstrap, ","))
	if r.Secured {
		text += " --command-config FILE" // which we do not have; see login
	}
	return text
}

// login explains FILE of command; empty where there is none.
func (r Reach) login() string {
	if !r.Secured {
		return ""
	}
	return " (FILE: a client's properties with which it logs in to " + Printable(r.Alias) + ")"
}

// Command is a call of ours about the snapshot's flow.
func (h Header) Command(verb string, args ...string) string {
	words := []string{"tidemark", verb, prose.ShellWord(h.Tools.File)}
	if source, target, ok := strings.Cut(h.Flow, "->"); ok && h.Tools.Several {
		words = append(words, "--flow", prose.ShellWord(source+":"+target))
	}
	for _, a := range args {
		words = append(words, prose.ShellWord(a))
	}
	return strings.Join(words, " ")
}
