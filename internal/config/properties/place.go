package properties

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// sort finds the clusters and puts every entry under what it belongs to. Where a key is there twice the last one
// counts, as in Java.
func (m *reader) sort(entries []entry.Entry, outside provider.Outside) {
	last := map[string]entry.Entry{}
	for _, e := range entries {
		if first, twice := last[e.Key]; twice {
			m.Note(e.Line, "%s was set before on line %d: the last one counts", e.Key, first.Line)
		}
		last[e.Key] = e
	}
	m.all = last
	clusters, ok := last[propClusters]
	if !ok {
		m.Problem(report.At{}, "there is no clusters key", "name the aliases: clusters = A, B")
	}
	m.providers = provider.Declared(&m.Report, last, outside)
	names, found := m.text(clusters)
	for _, alias := range setting.SplitList(names) {
		if slices.Contains(m.aliases, alias) {
			m.Problem(clusters.At(), fmt.Sprintf("alias %q is there twice", alias), "name each cluster once")
			continue
		}
		m.aliases = append(m.aliases, alias)
		m.clusters[alias] = map[string]entry.Entry{}
	}
	if ok && found && len(m.aliases) == 0 {
		m.Problem(clusters.At(), "is empty", "name the aliases: clusters = A, B")
	}
	for _, e := range last {
		m.place(e)
	}
}

// place puts one entry under its flow, its cluster, or the top level.
func (m *reader) place(e entry.Entry) {
	if source, rest, ok := strings.Cut(e.Key, "->"); ok {
		m.placeFlow(e, source, rest)
		return
	}
	if strings.HasPrefix(e.Value, "->") && (slices.Contains(m.aliases, e.Key) || !strings.Contains(e.Key, ".")) {
		// In Java's syntax the first blank ends a key: "A -> B.enabled = true" is key "A", value "-> B.enabled = true".
		// A key with a dot is a setting (A.client.id), whose value may begin with any characters.
		m.Problem(e.At(), "a blank ends the key, so this is no flow", "write "+e.Key+"->B.key = value without blanks around ->")
		return
	}
	alias, key, ok := cutAlias(e.Key, m.aliases)
	if ok {
		m.clusters[alias][key] = e
	}
	if !ok || m.readAtTop(e.Key, key) {
		m.top[e.Key] = e
	}
}

// readAtTop says whether MirrorMaker 2 reads a whole key at top level. It does so whatever the clusters are called: where
// one is called source, source.cluster.alias is a key of that cluster and, as everywhere, the alias of the source of every
// flow; where one is called replication, replication.factor is still the factor. rest is what stands after the cluster.
func (m *reader) readAtTop(key, rest string) bool {
	kind, _, _ := strings.Cut(key, ".")
	kinds := append(clientKinds(), "ssl", "sasl") // of these prefixes only what is honoured is known by name
	switch {
	case strings.HasPrefix(key, provider.Key+"."):
		return true
	case slices.Contains(m.honoured(topScope), key):
		// source.consumer.x at top level is a reading of ours alone.
		return !slices.ContainsFunc(readingKeys(), func(k readingKey) bool { return key == "source.consumer."+k.name })
	case slices.Contains(kinds, kind) && key != propAdminTimeout && key != propPollTimeout:
		return false
	}
	return m.reasoned(key, topScope) && !m.ofCluster(rest)
}

// ofCluster says whether a key after "A." is one that clusters have.
func (m *reader) ofCluster(key string) bool {
	return slices.Contains(m.honoured(clusterScope), key) || m.reasoned(key, clusterScope)
}

// reasoned says whether there is a reason why a key has no effect in a scope.
func (m *reader) reasoned(key string, s scope) bool {
	return slices.ContainsFunc(reasons(), func(r reason) bool {
		return slices.Contains(r.scopes, s) && slices.ContainsFunc(r.keys, func(k string) bool { return matches(k, key) })
	})
}

func (m *reader) placeFlow(e entry.Entry, source, rest string) {
	target, key, ok := cutAlias(rest, m.aliases)
	if !ok {
		// Not an alias of this file: take the first word, so that check can say which cluster is unknown.
		target, key, ok = strings.Cut(rest, ".")
	}
	if !ok || source == "" || target == "" || key == "" {
		m.Problem(e.At(), "is no key of a flow", "write A->B.key = value")
		return
	}
	name := config.FlowName{Source: source, Target: target}
	if m.flows[name] == nil {
		m.flows[name] = map[string]entry.Entry{}
	}
	m.flows[name][key] = e
}

// cutAlias cuts "alias.key" at a known alias, the longest one if several fit (aliases may contain dots).
func cutAlias(text string, aliases []string) (alias, key string, ok bool) {
	for _, a := range aliases {
		if rest, found := strings.CutPrefix(text, a+"."); found && len(a) >= len(alias) {
			alias, key, ok = a, rest, true
		}
	}
	return alias, key, ok
}
