package acls

import (
	"cmp"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/mm2"
)

// cluster is what is needed on one cluster, not merged yet.
type cluster struct {
	rules map[id]*entry
	notes []string
}

func (k *cluster) note(text string) {
	if !slices.Contains(k.notes, text) {
		k.notes = append(k.notes, text)
	}
}

// entry is what is needed of one pattern.
type entry struct {
	reasons map[Operation][]Reason
	notes   []string
}

// add adds a reason; what several flows need for the same reason is one.
func (e *entry) add(op Operation, why Reason) {
	for i, r := range e.reasons[op] {
		if r.Need == why.Need && r.Included == why.Included && r.Unless == why.Unless {
			for _, f := range why.Flows {
				if !slices.Contains(r.Flows, f) {
					r.Flows = append(slices.Clip(r.Flows), f)
				}
			}
			e.reasons[op][i] = r
			return
		}
	}
	e.reasons[op] = append(e.reasons[op], why)
}

// includes gives the operation of e that includes op: op itself before a stronger one.
func (e *entry) includes(op Operation) (Operation, bool) {
	if len(e.reasons[op]) > 0 {
		return op, true
	}
	for _, o := range operations() {
		if len(e.reasons[o]) > 0 && o.includes(op) {
			return o, true
		}
	}
	return "", false
}

// covers says whether every resource of b is one of a, and a is the wider pattern.
func (a id) covers(b id) bool {
	switch {
	case a.resource != b.resource || a == b || b.pattern == Literal && b.name == "*":
		return false
	case a.pattern == Literal:
		return a.name == "*"
	}
	return strings.HasPrefix(b.name, a.name)
}

// order sorts patterns for a reader: by resource, then name.
func (a id) order(b id) int {
	rank := func(r Resource) int {
		return slices.Index([]Resource{ClusterResource, Topic, Group, TransactionalID}, r)
	}
	return cmp.Or(cmp.Compare(rank(a.resource), rank(b.resource)), cmp.Compare(a.name, b.name), cmp.Compare(a.pattern, b.pattern))
}

// merged are the rules with nothing in them twice (AC3).
func (k *cluster) merged() []Rule {
	ids := make([]id, 0, len(k.rules))
	for at := range k.rules {
		ids = append(ids, at)
	}
	slices.SortFunc(ids, id.order)
	kept := map[id]*entry{}
	for _, at := range ids {
		kept[at] = &entry{reasons: map[Operation][]Reason{}, notes: k.rules[at].notes}
	}
	for _, at := range ids {
		for _, op := range operations() {
			for _, why := range k.rules[at].reasons[op] {
				place, as := k.place(ids, at, op)
				if as != op && why.Included == "" {
					why.Included = op
				}
				kept[place].add(as, why)
			}
		}
	}
	out := []Rule{}
	for _, at := range ids {
		r := Rule{Resource: at.resource, Pattern: at.pattern, Name: at.name, Notes: kept[at].notes}
		for _, op := range operations() {
			if why := kept[at].reasons[op]; len(why) > 0 {
				why = needed(why)
				// The main reason first: what the operation itself is needed for, then what it is needed for as well.
				slices.SortStableFunc(why, func(a, b Reason) int { return cmp.Compare(len(a.Included), len(b.Included)) })
				r.Rights = append(r.Rights, Right{Operation: op, Reasons: why})
			}
		}
		if len(r.Rights) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// needed leaves out what a setting would end, where the same is needed by the same flows whatever is set.
func needed(reasons []Reason) (out []Reason) {
	for _, r := range reasons {
		for _, o := range reasons {
			if r.Unless != "" && o.Unless == "" && o.Need == r.Need && o.Included == r.Included {
				r.Flows = slices.DeleteFunc(slices.Clone(r.Flows), func(f string) bool { return slices.Contains(o.Flows, f) })
			}
		}
		if len(r.Flows) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// place is where a need is met: the widest pattern that covers it and has an operation that includes it. Whatever
// covers that one would cover the need too, so it is the place for good. Within the pattern the strongest operation that
// includes the need is the one that stays.
func (k *cluster) place(ids []id, at id, op Operation) (id, Operation) {
	best, as := at, op
	for _, a := range ids {
		if !a.covers(best) {
			continue
		}
		if o, ok := k.rules[a].includes(op); ok {
			best, as = a, o
		}
	}
	for _, o := range operations() {
		if o != op && o.includes(as) && len(k.rules[best].reasons[o]) > 0 {
			as = o
			break
		}
	}
	return best, as
}

// heartbeats are the heartbeats topics that each cluster can hold: its own, and the copies that flows of the file bring
// there (B.heartbeats). It ends because no topic goes through a cluster twice; the bound only says so in code.
func heartbeats(cfg *config.Config, flows []config.Flow) map[string][]string {
	out := map[string][]string{}
	for alias := range cfg.Clusters {
		out[alias] = []string{mm2.HeartbeatsTopic}
	}
	all := slices.Concat(flows, cfg.EnabledFlows())
	for range len(cfg.Clusters) {
		for _, f := range all {
			filter, err := mm2.NewKeyedFilter("topics", f.Topics, f.TopicsExclude)
			if err != nil {
				continue
			}
			p := policy(cfg, f)
			s := mm2.Selection{Policy: p, Source: f.SourceAlias, Target: f.TargetAlias, Topics: filter, Heartbeats: f.ReplicateHeartbeats}
			for _, name := range out[f.Source] {
				if remote := p.RemoteTopic(f.SourceAlias, name); s.Select(name).Mirrored && !slices.Contains(out[f.Target], remote) {
					out[f.Target] = append(out[f.Target], remote)
				}
			}
		}
	}
	return out
}
