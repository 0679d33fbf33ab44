package properties

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/report"
)

// example is the flow that advice about a key names: the key's own, or the first enabled one that the key's cluster takes
// part in, on the side that the advice is about if it is there. Where no flow fits, any of the file does: advice with the
// aliases of the file can be copied, one with A and B cannot.
func (m *reader) example(e entry.Entry, key string, s scope, side string) config.FlowName {
	if s == flowScope {
		return m.flowOf(e, key)
	}
	named := m.named()
	enabled := slices.DeleteFunc(slices.Clone(named), func(f config.FlowName) bool { return !m.enabled(f) })
	if s == clusterScope {
		alias := aliasOf(e, key)
		sides := sides()
		if side == "target" {
			slices.Reverse(sides)
		}
		for _, flows := range [][]config.FlowName{enabled, named} {
			for _, one := range sides {
				if i := slices.IndexFunc(flows, func(f config.FlowName) bool { return on(one, f) == alias }); i >= 0 {
					return flows[i]
				}
			}
		}
	}
	switch {
	case len(enabled) > 0:
		return enabled[0]
	case len(named) > 0:
		return named[0]
	case len(m.aliases) > 1:
		return config.FlowName{Source: m.aliases[0], Target: m.aliases[1]}
	}
	return config.FlowName{Source: "A", Target: "B"}
}

// aliasOf is the cluster of a key after "A.".
func aliasOf(e entry.Entry, key string) string { return strings.TrimSuffix(e.Key, "."+key) }

// fill puts the file's aliases in place of A and B in what is said about a key. After "A." A stands for the key's own
// cluster.
func (m *reader) fill(e entry.Entry, key string, s scope, text string) string {
	f := m.example(e, key, s, "source")
	source := f.Source
	if s == clusterScope {
		source = aliasOf(e, key)
	}
	return strings.TrimPrefix(strings.NewReplacer(
		" A->B.", " "+f.String()+".", "(A->B.", "("+f.String()+".",
		" A.", " "+source+".", "(A.", "("+source+".",
		" B.", " "+f.Target+".", "(B.", "("+f.Target+".",
	).Replace(" "+text), " ")
}

// there is the key that an advice names, and where the file has it already.
func (m *reader) there(advised string) string {
	if e, ok := m.all[advised]; ok {
		return fmt.Sprintf("%s, which is there already, line %d", advised, e.Line)
	}
	return advised
}

// anywhere is advice about a setting of a flow, which may stand in two places.
func (m *reader) anywhere(e entry.Entry, key string, s scope) string {
	text := "write it at top level or as " + m.there(m.example(e, key, s, "source").String()+"."+key)
	if top, ok := m.top[key]; ok {
		text += fmt.Sprintf("; %s is there already, line %d", key, top.Line)
	}
	return text
}

// astray judges a key of the source's consumer that stands where it sets nothing, and says whether it has. Where the flow
// then copies something else than the key asks for it is a warning, although MirrorMaker 2 ignores it there too.
func (m *reader) astray(e entry.Entry, key string, s scope) bool {
	prefix, name, kind := cutKind(key)
	keys := readingKeys()
	i := slices.IndexFunc(keys, func(k readingKey) bool { return k.name == name })
	if i < 0 || kind && !strings.HasSuffix(prefix, "consumer.") || m.readHere(e, key, prefix, s) {
		return false
	}
	f := m.example(e, key, s, "source")
	right := f.Source + ".consumer." + name
	if s == flowScope {
		right = f.String() + ".source.consumer." + name
	}
	loss := m.loss(e, key, s, keys[i])
	if kind && loss == "" && unread(e) == "" {
		return false
	}
	if _, ok := m.all[right]; loss != "" && !ok {
		loss = ": without it " + loss
	} else if loss != "" {
		loss = ": " + loss
	}
	m.Warn(e.At(), "write it as %s%s%s", m.there(right), loss, unread(e))
	return true
}

// readHere says whether reading looks in this place.
func (m *reader) readHere(e entry.Entry, key, prefix string, s scope) bool {
	switch s {
	case topScope:
		return prefix == "source.consumer."
	case clusterScope:
		return prefix == "consumer." && slices.ContainsFunc(m.named(), func(f config.FlowName) bool { return f.Source == aliasOf(e, key) })
	default:
		return prefix == "consumer." || prefix == "source.consumer."
	}
}

// loss is what an enabled flow that the key stands near does although the key asks for something else; empty where none does.
func (m *reader) loss(e entry.Entry, key string, s scope, reads readingKey) string {
	if unread(e) != "" {
		return ""
	}
	want := strings.TrimSpace(e.Value)
	for _, name := range m.named() {
		near := s == topScope || s == flowScope && name == m.flowOf(e, key) ||
			s == clusterScope && (name.Source == aliasOf(e, key) || name.Target == aliasOf(e, key))
		if !near || !m.enabled(name) {
			continue
		}
		f := config.DefaultFlow(name.Source, name.Target)
		m.reading(&f, name, config.Places{})
		have, does := f.Isolation, map[string]string{config.ReadCommitted: "copies committed records only", config.ReadUncommitted: "copies records of aborted transactions too"}
		if reads.field == "Start" {
			have, does = f.Start, map[string]string{config.StartEarliest: "copies everything that " + f.Source + " has at the first start", config.StartLatest: "copies nothing that " + f.Source + " has at the first start"}
		}
		if !strings.EqualFold(have, want) {
			return fmt.Sprintf("flow %s %s", name, does[have])
		}
	}
	return ""
}

// bare judges a setting of one kind of client that stands without the kind and would have no effect with it either, and says
// whether it is one. MirrorMaker 2 reads none of them so.
func (m *reader) bare(e entry.Entry, key string, s scope) bool {
	for _, kind := range clientKinds() {
		for _, r := range clientReasons() {
			i := slices.IndexFunc(r.keys, func(k string) bool { return matches(k, kind+"."+key) })
			if i < 0 || strings.HasSuffix(r.keys[i], "*") && slices.ContainsFunc(m.honoured(s), func(k string) bool { return report.Distance(key, k) <= 2 }) {
				continue // group.exclude is no setting of a consumer but a misspelt one of a flow
			}
			side := "source"
			if kind == "producer" {
				side = "target"
			}
			m.Idle(e.At(), "%s", m.fill(e, key, s, r.why+"; MirrorMaker 2 ignores it "+placeOf(s)+" too, and reads ")+
				on(side, m.example(e, key, s, side))+"."+kind+"."+key+unread(e))
			return true
		}
	}
	return false
}
