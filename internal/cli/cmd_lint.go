package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/config/yamlfile"
	"tidemark/internal/configfile"
	"tidemark/internal/kafka"
	"tidemark/internal/lintfile"
	"tidemark/internal/topics"
)

type lintOptions struct {
	json, yaml, clients, connect, strict bool
	timeout                              time.Duration
}

// lintTimeout is for both clusters together; a broker that does not answer by then is a finding, not a reason to wait.
const lintTimeout = 15 * time.Second

func newLint(e *env) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint FILE",
		Short: "Say what FILE does, flow by flow, and what about it is wrong or risky",
		Long: `Say what FILE does, flow by flow and in sentences, and what is wrong with it: unknown and misspelt keys, keys that have no
effect or that MirrorMaker 2 ignores too, what Tidemark does differently, and what may surprise later: group positions that
are not committed on the target, flows in both directions, switches that leave a gap.

Files and variables that FILE names are read: what a run would be refused for is an error. Nothing is connected, unless --connect is given: then the clusters of enabled flows are asked how many brokers they have, and
replication factors are compared with that, and whether another mirror writes offset syncs where a flow would, or a
MirrorMaker 2 has filled remote topics, whose partitions a first run would stop, and which topics lose old records that are
to stay.

--yaml prints the same configuration as YAML, with the keys only that differ from their defaults. Passwords and keys are
never printed: what FILE takes from an environment variable or from a file of its own is named, anything else is to be put
where the comment says.

--clients prints what each client of each enabled flow works with, and which key of FILE each value comes from: addresses, login,
time-outs, sizes. Passwords and keys are hidden there too, and so is whatever a configuration provider gives.` + "\n\nExit codes: 0 fine, whatever the risks; 1 an error is among the findings (--strict: or a key that\nmost likely means nothing); 2 wrong usage, or FILE cannot be read.",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runLint(e, args[0], o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document (docs/cli.md describes it)")
	cmd.Flags().BoolVar(&o.yaml, "yaml", false, "print FILE as YAML instead")
	cmd.Flags().BoolVar(&o.clients, "clients", false, "print what each client works with instead, and where each value comes from")
	cmd.Flags().BoolVar(&o.connect, "connect", false, "ask the clusters how many brokers they have, and for traces of another mirror")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "keys that are misspelt, in the wrong place or weaker than what is done are errors")
	cmd.Flags().DurationVar(&o.timeout, "timeout", lintTimeout, "with --connect: give up asking after this long")
	return cmd
}

// errErrors ends a lint that found errors; the output says which.
var errErrors = errors.New("there are errors")

func runLint(e *env, file string, o lintOptions) error {
	switch {
	case o.timeout <= 0:
		return usagef("--timeout %v: it must be positive", o.timeout)
	case o.yaml && (o.json || o.connect):
		return usagef("--yaml prints a configuration: leave out --json and --connect")
	case o.clients && (o.connect || o.yaml):
		return usagef("--clients prints what is set: leave out --connect and --yaml")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return usagef("read configuration: %w", err)
	}
	read := configfile.Examine(file, data, provider.Process())
	if o.yaml {
		return e.printYAML(file, read)
	}
	if o.clients {
		if len(read.Problems) > 0 {
			return fmt.Errorf("lint %s: %w\n%s", file, errErrors, read.Problems.Error())
		}
		return e.print(lintfile.Clients(file, read), o.json)
	}
	var brokers map[string]lintfile.Brokers
	var used, idle report.Problems
	if read.Config != nil {
		used, idle = read.Config.Missing()
	}
	if o.connect && read.Config != nil {
		if brokers = e.askClusters(read.Config, used, o.timeout); e.ctx.Err() != nil {
			return errStopped
		}
	}
	report := lintfile.Look(file, read, brokers).With(used, idle)
	if err := e.print(report, o.json); err != nil {
		return err
	}
	if report.Count(lintfile.Error) > 0 {
		return fmt.Errorf("lint %s: %w", file, errErrors)
	}
	if vain := inVain(read.Remarks); o.strict && vain != "" {
		return fmt.Errorf("lint %s --strict: %s", file, vain)
	}
	return nil
}

// mostNamed is how many keys one line names.
const mostNamed = 5

// inVain sums up the keys that most likely do not do what they were written for; empty where there is none. One is told in
// full, for several the output says what is wrong with each.
func inVain(remarks []report.Remark) string {
	var keys []string
	last := ""
	for _, r := range remarks {
		if r.Warn {
			keys, last = append(keys, fmt.Sprintf("%s (line %d)", r.Key, r.Line)), r.String()
		}
	}
	switch n := len(keys); {
	case n <= 1:
		return last
	case n <= mostNamed:
		return fmt.Sprintf("%d keys have no effect, as the risks say: %s", n, strings.Join(keys, ", "))
	default:
		return fmt.Sprintf("%d keys have no effect, as the risks say: %s and %d more", n, strings.Join(keys[:mostNamed], ", "), n-mostNamed)
	}
}

// printYAML prints the configuration. Relative names in it start at its own folder, which is not known here, so they are
// made absolute.
func (e *env) printYAML(file string, read config.Examined) error {
	if len(read.Problems) > 0 {
		// Not as Problems, whose exit code is that of a run that was not started: here the file is what was asked about.
		return fmt.Errorf("lint %s: %w\n%s", file, errErrors, read.Problems.Error())
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	text, err := yamlfile.Write(read.Config, here)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(text)
	return err
}

// askClusters asks every cluster of an enabled flow, but for those that cannot be reached for what is missing: that has been
// told with its line.
func (e *env) askClusters(cfg *config.Config, missing report.Problems, timeout time.Duration) map[string]lintfile.Brokers {
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	used := map[string]bool{}
	for _, f := range cfg.EnabledFlows() {
		used[f.Source], used[f.Target] = true, true
	}
	aliases := slices.Sorted(maps.Keys(used))
	answers, told := make([]lintfile.Brokers, len(aliases)), make([]bool, len(aliases))
	wanted := lintfile.Wanted(cfg)
	var all sync.WaitGroup // at once, so that one cluster that does not answer takes no time from the others
	for i, alias := range aliases {
		all.Go(func() {
			var err error
			if answers[i], err = brokersOf(ctx, cfg.Clusters[alias], wanted[alias]); err != nil {
				answers[i] = lintfile.Brokers{Trouble: err.Error()}
				p, ok := errors.AsType[report.Problem](err)
				told[i] = ok && slices.Contains(missing, p)
			}
		})
	}
	all.Wait()
	out := map[string]lintfile.Brokers{}
	for i, alias := range aliases {
		if !told[i] {
			out[alias] = answers[i]
		}
	}
	return out
}

// brokersOf counts the brokers that a cluster knows at this moment, and looks which of the topics exist and which of them
// lose old records. Of those that may not be described nothing is known.
func brokersOf(ctx context.Context, c config.Cluster, wanted []string) (lintfile.Brokers, error) {
	out := lintfile.Brokers{Topics: map[string]bool{}, Deleting: map[string]bool{}}
	described, err := c.Kafka()
	if err != nil {
		return out, err
	}
	if err := dial(ctx, described); err != nil {
		return out, err
	}
	cl, err := kafka.Open(described, nil)
	if err != nil {
		return out, err
	}
	defer cl.Close()
	if _, err := cl.ClusterID(ctx); err != nil { // it says why a login fails, where the next call knows only that time is up
		return out, err
	}
	brokers, err := cl.Admin().ListBrokers(ctx)
	if err != nil {
		return out, fmt.Errorf("list the brokers of cluster %s: %w", c.Alias, err)
	}
	out.Count, out.NoTransactions = len(brokers), cl.NoTransactions(ctx)
	if len(wanted) == 0 { // without a name all topics would be listed
		return out, nil
	}
	found, err := cl.DescribeTopics(ctx, wanted...)
	if err != nil {
		return out, err
	}
	var there []string
	for _, t := range found {
		if t.Err == nil || errors.Is(t.Err, kafka.ErrNoTopic) {
			out.Topics[t.Name] = t.Err == nil
		}
		if t.Err == nil {
			there = append(there, t.Name)
		}
	}
	settings, _, err := cl.TopicConfigs(ctx, there) // of those that it may not read nothing is known either
	for topic, s := range settings {
		if policy := s["cleanup.policy"].Value; policy != nil {
			out.Deleting[topic] = !topics.OnlyCompacts(*policy)
		}
	}
	return out, err
}

// dial tries the bootstrap servers until one takes a connection. The clients would go on trying for half a minute where
// nothing listens.
func dial(ctx context.Context, c kafka.Cluster) error {
	var last error
	for _, addr := range c.Bootstrap {
		conn, err := c.DialTLS(ctx, addr)
		if err == nil {
			return conn.Close()
		}
		last = err
	}
	return last
}
