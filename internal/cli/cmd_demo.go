package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/internal/demo"
)

func newDemo(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show a failover between two embedded clusters, and count what it cost",
		Long: `Show a failover, in this process and within seconds: two embedded clusters, topics and consumer groups whose
positions are hard to carry across, a mirror, the end of the source, and the same groups on the target.

It counts, by a unique number in each record, what every group lost and read twice; the last line says so.
Exit code 1 unless both are 0. --log-level shows the mirror's own log on standard error.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := e.logger()
			if err != nil {
				return err
			}
			var o demo.Options
			if cmd.Flags().Changed("log-level") {
				o.Log = log
			}
			if err := demo.Run(e.ctx, e.stdout, o); err != nil {
				return fmt.Errorf("demo: %w", err)
			}
			return nil
		},
	}
}
