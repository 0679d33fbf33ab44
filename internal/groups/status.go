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

// standing is how often a group was judged so far, and whether the target did not do what it was last asked about some group.
func (o *Owner) standing() (judged int, failing bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.groups {
		failing = failing || g.failing
	}
	return o.judged, failing
}

// summary is the Summary of the groups that this process owns, which says so where others own some, too.
func (o *Owner) summary() string {
	s := Summary(o.States())
	o.mu.Lock()
	owned := len(o.owned)
	o.mu.Unlock()
	switch owned {
	case int(o.lanes):
		return s
	case 0:
		return "none here: this worker has no lane now"
	}
	return fmt.Sprintf("%s (this worker's part: %d of %d lanes)", s, owned, o.lanes)
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
