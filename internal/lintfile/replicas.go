package lintfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// copies are replication factors that a cluster has no brokers for, or may not have.
type copies struct {
	remote, own []string // each with its key
	most        int16
}

// clusters says what the clusters that were asked cannot do, and what is not known because they were not.
func (l looker) clusters() []Finding {
	var out []Finding
	asked := l.copies()
	for _, alias := range slices.Sorted(maps.Keys(asked)) {
		b, known := l.brokers[alias]
		switch c := asked[alias]; {
		case !known:
			do := "--connect asks it"
			if l.brokers != nil { // something else about it is an error
				do = "--connect asks it once it can be reached"
			}
			out = append(out, Finding{Severity: Note, Text: fmt.Sprintf("whether cluster %s has the %d brokers that replication factors ask for is not known", alias, c.most), Do: do})
		case b.Trouble == "":
			out = append(out, c.findings(alias, b.Count)...)
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(l.brokers)) {
		switch b := l.brokers[alias]; {
		case b.Trouble != "":
			out = append(out, Finding{Severity: Error, Key: l.Config.BootstrapKey(alias), Text: fmt.Sprintf("cluster %s cannot be asked: %s", alias, b.Trouble), Do: "correct the address or the security settings, or lint without --connect"})
		case b.NoTransactions != "" && l.written(alias):
			out = append(out, Finding{Severity: Error, Text: fmt.Sprintf("cluster %s: %s", alias, b.NoTransactions)})
		}
	}
	return out
}

// written says whether some flow writes to a cluster.
func (l looker) written(alias string) bool {
	for _, f := range l.Config.EnabledFlows() {
		if f.Target == alias {
			return true
		}
	}
	return false
}

// copies are the replication factors that ask for more brokers than a cluster has, or than is known, by cluster.
func (l looker) copies() map[string]copies {
	out := map[string]copies{}
	for _, f := range l.Config.EnabledFlows() {
		for _, made := range created(f) {
			b, known := l.brokers[made.cluster]
			if made.factor < 2 || known && b.Trouble == "" && int(made.factor) <= b.Count {
				continue
			}
			key, line, given := l.Given(f.Name(), made.field)
			if !given {
				key = l.Config.FlowKey(made.field) + ", the default"
			} else {
				key = fmt.Sprintf("%s, line %d", key, line)
			}
			c := out[made.cluster]
			c.most = max(c.most, made.factor)
			list := &c.own
			if made.what == remoteTopics {
				list = &c.remote
			}
			if text := fmt.Sprintf("%d for %s (%s)", made.factor, made.what, key); !slices.Contains(*list, text) {
				*list = append(*list, text)
			}
			out[made.cluster] = c
		}
	}
	return out
}

// findings are what becomes of topics that ask for more brokers than a cluster has: its own a run makes with as many as there
// are, and says so; a topic of the users' it does not make with fewer than was asked for.
func (c copies) findings(alias string, brokers int) (out []Finding) {
	few := fmt.Sprintf("cluster %s has %s, and more replicas are asked for: ", alias, plural(brokers, "broker"))
	if len(c.remote) > 0 {
		out = append(out, Finding{
			Severity: Error, Text: few + strings.Join(c.remote, ", ") + "; remote topics that are not there yet cannot be created",
			Do: "lower it, or start the missing brokers",
		})
	}
	if len(c.own) > 0 {
		slices.Sort(c.own)
		out = append(out, Finding{
			Severity: Risk, Text: few + strings.Join(c.own, ", ") + "; those that are not there yet are made with " + fmt.Sprint(brokers),
			Do: "start the missing brokers first: what is made with fewer replicas keeps them",
		})
	}
	return out
}
