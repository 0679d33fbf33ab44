package properties

import (
	"reflect"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// text is the entry's value with what its references stand for.
func (m *reader) text(e entry.Entry) (string, bool) {
	value, refs, ok := m.providers.Text(&m.Report, e)
	if refs != "" {
		m.Borrow(e.At(), refs, !discreet(e.Key))
	}
	return value, ok
}

// judgeProvider judges a key that begins with "config.providers.".
func (m *reader) judgeProvider(e entry.Entry, key string) {
	name, rest, known, ok := m.providers.About(key)
	if !ok {
		m.Warn(e.At(), "%s does not list that provider", provider.Key)
		return
	}
	if slices.Contains(known, rest) {
		return
	}
	if near := report.Nearest(rest, known); near != "" {
		m.Warn(e.At(), "unknown key, did you mean %s?", m.there(provider.Key+"."+name+"."+near))
		return
	}
	m.Warn(e.At(), "unknown key")
}

// secretsOf are the secrets of a cluster that are what one reference stands for and nothing but it, by field. A secret that
// is written in the file, or put together from several parts, is not among them.
func (m *reader) secretsOf(c config.Cluster) map[string]report.Kept {
	out := map[string]report.Kept{}
	for _, target := range []any{&c.TLS, &c.SASL} {
		for _, s := range setting.Of("security", target) {
			value, secret := reflect.TypeAssert[kafka.Secret](s.Value)
			where, told := c.From.Fields[s.Field]
			if !secret || !told || value == "" {
				continue
			}
			if _, lent := m.Lent(where); !lent {
				continue
			}
			text := m.entryAt(where).Value
			if place, ok := m.comesFrom(text, value); ok {
				out[s.Field] = place
			}
			if l, err := security.ParseJAAS(text); err == nil {
				for _, option := range l.Options {
					if place, ok := m.comesFrom(option.Reveal(), value); ok {
						out[s.Field] = place
					}
				}
			}
		}
	}
	return out
}

// entryAt is the entry of a place.
func (m *reader) entryAt(where report.At) entry.Entry {
	groups := []map[string]entry.Entry{m.top}
	for _, entries := range m.clusters {
		groups = append(groups, entries)
	}
	for _, entries := range m.flows {
		groups = append(groups, entries)
	}
	for _, entries := range groups {
		for _, e := range entries {
			if e.At() == where {
				return e
			}
		}
	}
	return entry.Entry{}
}

// comesFrom says whether a text is one reference that stands for the value, and where that is kept. It compares, since a
// login's own syntax can change what is put in place: a backslash in it is an escape.
func (m *reader) comesFrom(text string, value kafka.Secret) (report.Kept, bool) {
	found, places := provider.References(text)
	if len(found) != 1 || places[0] != [2]int{0, len(text)} {
		return report.Kept{}, false
	}
	looked, f := m.providers.Lookup(found[0])
	// A line end at the end of a file is no part of what password_file gives.
	if f != nil || looked != value.Reveal() || strings.TrimRight(looked, "\r\n") != looked {
		return report.Kept{}, false
	}
	return m.providers.Leads(found[0]), true
}

// unread ends what is said about a key without effect whose value refers to something.
func unread(e entry.Entry) string {
	if found, _ := provider.References(e.Value); len(found) == 0 {
		return ""
	}
	return "; what its value refers to is not looked up"
}
