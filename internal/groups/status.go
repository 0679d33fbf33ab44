package groups

import (
	"fmt"
	"strings"

	"tidemark/internal/translate"
)

// States gives the write state of every owned group.
func (o *Owner) States() map[string]translate.WriteState {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make(map[string]translate.WriteState, len(o.groups))
	for id, g := range o.groups {
		out[id] = g.state
	}
	return out
}

// Summary counts groups by the kind of their state, in one line for logs: "3 groups: 2 up-to-date, 1 waiting".
func Summary(states map[string]translate.WriteState) string {
	by := map[translate.WriteKind]int{}
	for _, s := range states {
		by[s.Kind]++
	}
	var parts []string
	for _, k := range translate.WriteKinds() {
		if by[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[k], k))
		}
	}
	switch len(states) {
	case 0:
		return "no groups"
	case 1:
		return "1 group: " + parts[0]
	}
	return fmt.Sprintf("%d groups: %s", len(states), strings.Join(parts, ", "))
}
