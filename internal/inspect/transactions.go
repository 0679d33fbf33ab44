package inspect

import (
	"context"
	"fmt"

	"tidemark/internal/partition"
	"tidemark/internal/status"
)

// transactions names the oldest open transaction of each partition: readers of committed records, the mirror among them, wait in
// front of it. That it cannot be told is a note; what is known of it then is that it is open.
func (r *Reader) transactions(ctx context.Context, h *status.Header, tps []partition.ID) map[partition.ID]*status.Transaction {
	out := map[partition.ID]*status.Transaction{}
	if len(tps) == 0 {
		return out
	}
	err := r.askSource(ctx, func(ctx context.Context) error {
		open, err := r.source.OpenTransactions(ctx, tps, h.At)
		for tp, t := range open {
			of := status.Transaction(t)
			out[tp] = &of
		}
		return err
	})
	if err != nil {
		h.Notes = append(h.Notes, fmt.Sprintf("whose transaction is open on %s is not known: %v", r.flow.Source, err))
	}
	return out
}
