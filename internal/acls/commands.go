package acls

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/prose"
)

// mostNames is how many resources one command names: each command starts a Java process, and a line should still be
// readable.
const mostNames = 20

// Commands is the report as lines for a shell, with Kafka's own tool. Resources with the same rights share a line.
func (r Report) Commands() Commands { return Commands{r} }

// Commands is a report whose text are commands.
type Commands struct{ report Report }

// Unnamed are the aliases of clusters for which no command can be made, since nobody said who logs in there.
func (c Commands) Unnamed() (aliases []string) {
	for _, k := range c.report.Clusters {
		if k.Principal == "" {
			aliases = append(aliases, k.Alias)
		}
	}
	return aliases
}

// Text are the commands, one a line. Notes are comments.
func (c Commands) Text() string {
	var b strings.Builder
	for i, k := range c.report.Clusters {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# Cluster %s. Add --command-config FILE where it asks who you are; you need ALTER on the cluster.\n", k.Alias)
		for _, n := range k.notes() {
			b.WriteString("# " + strings.Join(strings.Fields(n), " ") + "\n")
		}
		for _, line := range k.commands() {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func (c Cluster) commands() []string {
	type shape struct{ resource, pattern, operations string }
	var order []shape
	names := map[shape][]string{}
	for _, r := range c.Rules {
		s := shape{resource: string(r.Resource), pattern: r.Pattern}
		for _, right := range r.Rights {
			s.operations += " --operation " + right.Operation.command()
		}
		if names[s] == nil {
			order = append(order, s)
		}
		names[s] = append(names[s], r.Name)
	}
	var out []string
	for _, s := range order {
		for some := range slices.Chunk(names[s], mostNames) {
			var line strings.Builder
			fmt.Fprintf(&line, "kafka-acls.sh --bootstrap-server %s --add --allow-principal %s%s", prose.ShellWord(strings.Join(c.Bootstrap, ",")), prose.ShellWord(c.Principal), s.operations)
			for _, name := range some {
				line.WriteString(" --" + s.resource)
				if s.resource != string(ClusterResource) { // the tool knows the one name
					line.WriteString(" " + prose.ShellWord(name))
				}
			}
			if s.pattern == Prefixed {
				line.WriteString(" --resource-pattern-type prefixed")
			}
			out = append(out, line.String())
		}
	}
	return out
}
