package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tidemark/internal/ledger"
	"tidemark/internal/verdicts"
)

// version is what a build says about itself.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Ledger   int    `json:"ledger_format"`
	Verdicts int    `json:"verdicts_format"`
}

func newVersion(e *env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print version and the formats that this build reads and writes",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				return json.NewEncoder(e.stdout).Encode(v)
			}
			_, err := fmt.Fprintf(e.stdout, "tidemark %s, revision %s (%s, ledger format %d, verdicts format %d)\n", v.Version, cmp.Or(v.Revision, "not known: built without git"), v.Go, v.Ledger, v.Verdicts)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func buildVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), Ledger: ledger.Version, Verdicts: verdicts.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
