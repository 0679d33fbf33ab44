package properties

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/report"
)

// sides are the two sides of a flow, as MirrorMaker 2's connectors name them in front of ".cluster.".
func sides() []string { return []string{"source", "target"} }

// connectionOf are the connection keys of a side that MirrorMaker 2 reads after "A->B.".
func connectionOf(side string) []string {
	var out []string
	for _, key := range connectionKeys() {
		out = append(out, side+".cluster."+key)
	}
	return out
}

// side judges what begins with "source.cluster." or "target.cluster.", and says whether the key does. A file of
// MirrorMaker 2's connectors on a Connect cluster has address and security there; its dedicated mode fills them in from
// "A." and the top level. What stands after "A->B." is the weakest of all layers then, and only address and security are
// read; in the two other places it reads nothing.
//
// Where a cluster is called source, source.cluster.x is a key of that cluster for MirrorMaker 2, and nothing there; whoever
// writes it means the connector's key.
func (m *reader) side(e entry.Entry, key string, s scope) bool {
	for _, side := range sides() {
		if s == clusterScope && strings.HasPrefix(key, "cluster.") && aliasOf(e, key) == side {
			key, s = e.Key, topScope
		}
		name, ok := strings.CutPrefix(key+".", side+".cluster.") // "source.cluster" as well
		name = strings.TrimSuffix(name, ".")
		switch {
		case !ok:
			continue
		case name == "":
			m.Warn(e.At(), "unknown key%s", unread(e))
		case name == "alias":
			return false // a setting of a flow
		default:
			m.sideKey(e, side, name, s)
		}
		return true
	}
	return false
}

// sideKey judges a setting of a side. What is misspelt is compared with what can stand behind the side, not with the whole
// key: more than half of that is the same in all of them.
func (m *reader) sideKey(e entry.Entry, side, name string, s scope) {
	known := m.honoured(clusterScope)
	connection := slices.ContainsFunc(connectionKeys(), func(k string) bool { return matches(k, name) })
	key := side + ".cluster." + name
	right := on(side, m.example(e, key, s, "source")) + "."
	near := ""
	if s == topScope {
		near = report.Nearest(name, known)
	}
	switch {
	case name == propRack:
		m.Idle(e.At(), "%s", leadersOnly)
	case s != flowScope && (connection || slices.Contains(known, name)):
		m.Warn(e.At(), "write it as %s%s", m.there(right+name), unread(e))
	case s == topScope && report.Distance(name, "alias") <= 2:
		m.meant(e, side+".cluster.alias")
	case near != "":
		m.meant(e, right+near)
	case s == topScope:
		m.Warn(e.At(), "unknown key%s", unread(e))
	case !connection:
		m.Idle(e.At(), "settings of clients are read after %s and %s.%s.consumer. and the like; MirrorMaker 2 ignores it %s too%s",
			right, m.example(e, key, s, "source"), side, m.fill(e, key, s, placeOf(s)), unread(e))
	default:
		alias := on(side, m.flowOf(e, key))
		from := fmt.Sprintf("address and security of the %s are read from %s.%s", side, alias, name)
		_, own := m.clusters[alias][name]
		_, shared := m.top[name]
		switch {
		case own:
			m.Idle(e.At(), "%s, which wins in MirrorMaker 2 too%s", from, unread(e))
		case shared:
			m.Idle(e.At(), "%s, or the top level, which wins in MirrorMaker 2 too%s", from, unread(e))
		default:
			m.Warn(e.At(), "%s, which is missing: write it there%s", from, unread(e))
		}
	}
}

// flowOf is the flow of a key after "A->B.".
func (m *reader) flowOf(e entry.Entry, key string) config.FlowName {
	source, target, _ := strings.Cut(strings.TrimSuffix(e.Key, "."+key), "->")
	return config.FlowName{Source: source, Target: target}
}

// enabled says whether a flow runs.
func (m *reader) enabled(f config.FlowName) bool {
	e, ok := m.flows[f][propEnabled]
	if !ok {
		e, ok = m.top[propEnabled]
	}
	return ok && m.is(e, "true")
}

// on is the alias of one side of a flow.
func on(side string, f config.FlowName) string {
	if side == "source" {
		return f.Source
	}
	return f.Target
}
