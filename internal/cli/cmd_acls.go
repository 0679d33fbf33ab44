package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/acls"
	"tidemark/internal/config"
)

type aclsOptions struct {
	flow, principal string
	json, commands  bool
}

func newACLs(e *env) *cobra.Command {
	var o aclsOptions
	cmd := &cobra.Command{
		Use:   "acls FILE",
		Short: "Say which access rights the flows of FILE need, the least of them, and why",
		Long: `Say which access rights the flows of FILE need on either cluster: the least that mirror everything that FILE asks for, each
with what it is needed for and with the setting that makes it unnecessary. Flows that share a cluster are taken together.

A topic or group that FILE names gets a rule of its own, a pattern such as orders-.* a rule for the prefix. For any other
pattern the rule is as narrow as a rule can be, and a sentence below the table says that it may be narrowed by hand.

Nothing is connected, so what is allowed already is not known. --commands prints the same as calls of Kafka's kafka-acls.sh.
Rights of the commands that only read are in docs/acls.md.` + "\n\nExit codes: 0 fine; 2 wrong usage or file.",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runACLs(e, args[0], o) },
	}
	cmd.Flags().StringVar(&o.flow, "flow", "", "only this flow, A:B")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document (docs/cli.md describes it)")
	cmd.Flags().BoolVar(&o.commands, "commands", false, "print calls of kafka-acls.sh")
	cmd.Flags().StringVar(&o.principal, "principal", "", "who gets the rights, User:NAME (default: who logs in by FILE, with PLAIN and SCRAM)")
	return cmd
}

func runACLs(e *env, file string, o aclsOptions) error {
	if o.json && o.commands {
		return usagef("--json and --commands are two forms of one answer: leave out one of them")
	}
	if kind, name, _ := strings.Cut(o.principal, ":"); o.principal != "" && (kind == "" || name == "") {
		return usagef("--principal %s: it takes a type and a name, such as User:%s", o.principal, strings.Trim(o.principal, ":"))
	}
	cfg, err := e.load(file)
	if err != nil {
		return err
	}
	flows, err := toGrant(cfg, o.flow)
	if err != nil {
		return err
	}
	report := acls.Of(cfg, flows, o.principal)
	if !o.commands {
		return e.print(report, o.json)
	}
	commands := report.Commands()
	if who := commands.Unnamed(); len(who) > 0 {
		return usagef("%s does not say as whom to log in to %s: name the principal with --principal User:NAME", file, strings.Join(who, " and "))
	}
	return e.print(commands, false)
}

// toGrant picks the flows to grant rights for: every enabled one, or the one that is named. Rights are granted before a
// flow is switched on, so one that is off can be named.
func toGrant(cfg *config.Config, name string) ([]config.Flow, error) {
	if name == "" {
		return pick(cfg, name)
	}
	f, err := oneToRead(cfg, name)
	if err != nil {
		return nil, err
	}
	return []config.Flow{f}, nil
}
