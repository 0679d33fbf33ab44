package config

import (
	"errors"
	"fmt"
	"strings"
)

// FlowName names one direction of mirroring by its two aliases.
type FlowName struct{ Source, Target string }

// String writes the name as a MirrorMaker 2 properties file does: "A->B".
func (n FlowName) String() string { return n.Source + "->" + n.Target }

// ParseFlow reads a flow's name from a command line: "A:B", or "A->B" in quotes. Its errors say what to type.
func ParseFlow(s string) (FlowName, error) {
	s = strings.TrimSpace(s)
	source, target, ok := strings.Cut(s, "->")
	more := ">"
	if !ok {
		more = ":>"
		source, target, ok = strings.Cut(s, ":")
	}
	source, target = strings.TrimSpace(source), strings.TrimSpace(target)
	switch {
	case !ok && strings.HasSuffix(s, "-") && len(s) > 1:
		// `tidemark status A->B` reaches the program as "A-": the shell took >B as "write the output into file B".
		alias := strings.TrimSuffix(s, "-")
		return FlowName{}, fmt.Errorf("flow %q: the shell took the > of %s->... as a redirection (and created a file); write %s:B, or '%s->B' in quotes", s, alias, alias, alias)
	case !ok:
		return FlowName{}, fmt.Errorf("flow %q: two aliases are needed; write A:B, or 'A->B' in quotes", s)
	case source == "" || target == "":
		return FlowName{}, fmt.Errorf("flow %q: an alias is missing; write A:B, or 'A->B' in quotes", s)
	case strings.ContainsAny(target, more) || strings.Contains(source, ":"):
		return FlowName{}, fmt.Errorf("flow %q: more than two aliases; write A:B, or 'A->B' in quotes", s)
	}
	return FlowName{Source: source, Target: target}, nil
}

// ErrNoFlow is wrapped by Config.Flow where the file has no flow of that name.
var ErrNoFlow = errors.New("no such flow")

// Flow finds the flow that a command line means. The empty string means the only enabled one.
func (c *Config) Flow(arg string) (Flow, error) {
	if arg == "" {
		enabled := c.EnabledFlows()
		if len(enabled) != 1 {
			return Flow{}, fmt.Errorf("%s has %d enabled flows: name one of %s", c.File, len(enabled), flowList(c.Flows))
		}
		return enabled[0], nil
	}
	name, err := ParseFlow(arg)
	for _, f := range c.Flows {
		if f.Source+":"+f.Target == arg || err == nil && f.Name() == name { // the alias of a target may have colons
			return f, nil
		}
	}
	if err != nil {
		return Flow{}, err
	}
	return Flow{}, fmt.Errorf("flow %s: %w in %s, it has %s", name, ErrNoFlow, c.File, flowList(c.Flows))
}

// EnabledFlows are the flows to run, in the order of Flows.
func (c *Config) EnabledFlows() []Flow {
	var out []Flow
	for _, f := range c.Flows {
		if f.Enabled {
			out = append(out, f)
		}
	}
	return out
}

// flowList writes names in the form that needs no quotes in a shell.
func flowList(flows []Flow) string {
	if len(flows) == 0 {
		return "none"
	}
	names := make([]string, len(flows))
	for i, f := range flows {
		names[i] = f.Source + ":" + f.Target
	}
	return strings.Join(names, ", ")
}
