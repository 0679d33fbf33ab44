package inspect

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/status"
)

// On a compacted topic the log cleaner removes a delete (a record without value) delete.retention.ms after it was cleaned first. A
// mirror that was away for longer never sees it, and the key's last record stays on the target.

// away is how old the ledger's word about a partition with lag must be for its topic's settings to be asked for.
const away = time.Minute

// forEver is a retention that no age reaches; the largest values do not fit into a duration.
const forEver = 100 * 365 * 24 * time.Hour

// tombstones marks partitions of compacted topics that wait for longer than their source keeps deletes.
func (r *Reader) tombstones(ctx context.Context, h *status.Header, rows []*row) {
	if !h.Source.Reached {
		return
	}
	waits := map[string][]*row{}
	for _, w := range rows {
		if w.selected && w.SourceLive && w.Lag > 0 && !w.AsOf.IsZero() && h.At.Sub(w.AsOf) >= away {
			waits[w.Topic] = append(waits[w.Topic], w)
		}
	}
	if len(waits) == 0 {
		return
	}
	var keeps map[string]time.Duration
	err := r.askSource(ctx, func(ctx context.Context) error {
		configs, _, err := r.source.TopicConfigs(ctx, slices.Sorted(maps.Keys(waits))) // where a topic's may not be read, nobody knows
		keeps = map[string]time.Duration{}
		for topic, entries := range configs {
			policy, retention := entries["cleanup.policy"].Value, entries["delete.retention.ms"].Value
			if policy == nil || retention == nil || !strings.Contains(*policy, "compact") {
				continue
			}
			if ms, bad := strconv.ParseInt(*retention, 10, 64); bad == nil && ms < int64(forEver/time.Millisecond) {
				keeps[topic] = time.Duration(ms) * time.Millisecond
			}
		}
		return err
	})
	if err != nil {
		h.Notes = append(h.Notes, "whether deletes on compacted topics can have gone unseen is not known: "+err.Error())
	}
	for topic, ws := range waits {
		for _, w := range ws {
			if d, compacted := keeps[topic]; compacted && h.At.Sub(w.AsOf) > d {
				w.UnseenSince = w.AsOf
			}
		}
	}
}
