package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/control"
)

func newThrottle(e *env) *cobra.Command {
	var bytes string
	cmd := decides(e, control.Request{Kind: control.Throttle}, &cobra.Command{
		Use:   "throttle FILE --bytes 50MB|off",
		Short: "Bound how many bytes a second a flow copies",
		Long: `Bound how many bytes of records a second the flow of FILE reads from the source, and so copies: all workers together, of which each
has the share of its partitions. Positions of groups and the ledger are not slowed down, nor are looks at the logs after an unclean
stop. "off" ends it.` + durable,
		Args: exactly("FILE"),
	})
	cmd.Flags().StringVar(&bytes, "bytes", "", "bytes a second, such as 50MB or 64MiB; off: no bound")
	return cmd
}

// perSecond reads a rate. Rates of links are told in powers of ten, so kB, MB and GB are those; KiB, MiB and GiB are powers of two.
func perSecond(text string) (bytes int64, off bool, err error) {
	if text == "off" {
		return 0, true, nil
	}
	number, unit := strings.TrimSpace(text), int64(1)
	for suffix, n := range map[string]int64{"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = strings.TrimSpace(rest), n
			break // none of them ends with another
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, false, usagef("--bytes %q: write bytes a second, such as 50MB or 64MiB, or off", text)
	}
	return n * unit, false, nil
}
