package properties

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
)

// layer is where a client finds settings: entries, and what stands in front of its keys there.
type layer struct {
	entries map[string]entry.Entry
	prefix  string
}

// layers are where a client's keys are looked for, the strongest last.
type layers struct {
	settings []layer
	security []layer // security.protocol, ssl.* and sasl.*
}

// clusterLayers are those of whatever speaks with a cluster. Where a cluster has its login only for some kinds of client,
// what belongs to no flow uses that.
func (m *reader) clusterLayers(alias string) layers {
	own := m.clusters[alias]
	return layers{
		settings: []layer{{own, ""}},
		security: []layer{{own, "producer."}, {own, "consumer."}, {own, "admin."}, {m.top, ""}, {own, ""}},
	}
}

// clientLayers are those of a flow's client, as MirrorMaker 2 builds its own of that kind. Two things follow from how it
// does, and are kept: "A.consumer.x" wins over "A->B.consumer.x"; and since security settings of a cluster become those of
// each kind of client, "A.x" wins over "A->B.consumer.x" for them. Other settings after "A." reach no client there, but for
// a Connect worker's own; here they are the weakest, since they can mean only this.
//
// Records are written by the Connect worker's producer there, whose settings are "B.producer.x", or
// "A->B.producer.override.x".
func (m *reader) clientLayers(name config.FlowName, r config.Role) layers {
	own, flow := m.clusters[r.Alias(name)], m.flows[name]
	if r == config.RecordProducer {
		kinds := []layer{{own, "producer."}, {flow, "producer.override."}}
		return layers{
			settings: slices.Concat([]layer{{own, ""}}, kinds),
			security: slices.Concat([]layer{{m.top, ""}, {own, ""}}, kinds),
		}
	}
	side, kind, _ := strings.Cut(string(r), "_")
	kind += "."
	strong := []layer{{own, kind}, {flow, side + "." + kind}}
	return layers{
		settings: slices.Concat([]layer{{own, ""}, {flow, kind}}, strong),
		security: slices.Concat([]layer{{flow, kind}, {m.top, ""}, {own, ""}}, strong),
	}
}

// find looks a key up in layers.
func (m *reader) find(where []layer) lookup {
	return func(key string) (entry.Entry, string, bool) {
		for _, l := range slices.Backward(where) {
			if l.prefix != "" && key == propBootstrap {
				continue // a cluster has one address: a client at another one would read or write somewhere else
			}
			if e, ok := l.entries[l.prefix+key]; ok {
				value, ok := m.text(e)
				return e, value, ok
			}
		}
		return entry.Entry{}, "", false
	}
}

// clients gives the clients of a flow their values, those that differ from their cluster's.
func (m *reader) clients(f config.Flow) map[config.Role]config.Cluster {
	out := map[config.Role]config.Cluster{}
	secured := slices.Concat(security.FieldsOf(&security.TLS{}), security.FieldsOf(&security.SASL{}))
	for _, r := range config.Roles() {
		base, ok := m.Cluster(r.Alias(f.Name()))
		if !ok {
			continue
		}
		where := m.clientLayers(f.Name(), r)
		client := base
		client.From.Fields = maps.Clone(base.From.Fields)
		m.tune(&client, r, where.settings)
		// The cluster's own login may be that of another kind of client, see clusterLayers.
		if m.special(where.security) || m.special(m.clusterLayers(base.Alias).security) {
			for _, s := range secured {
				delete(client.From.Fields, s)
			}
			m.secure(&client, fmt.Sprintf("the %s of cluster %s", r, base.Alias), where.security)
		}
		m.Fit(f, r, &client)
		m.hide(&client)
		out[r] = client
	}
	return out
}

// hide notes which of a client's values stand in no file of ours, so that nothing prints them. In a login, part of the text
// may come from elsewhere and the rest not.
func (m *reader) hide(c *config.Cluster) {
	c.From.Borrowed = map[string]string{}
	texts := map[string]string{"ClientID": c.ClientID, "SecurityProtocol": c.SecurityProtocol}
	for _, target := range []any{&c.TLS, &c.SASL} {
		for _, s := range setting.Of("security", target) {
			if text, ok := reflect.TypeAssert[string](s.Value); ok {
				texts[s.Field] = text
			}
		}
	}
	for field, place := range c.From.Fields {
		if refs, ok := m.Lent(place); ok && (texts[field] == "" || !strings.Contains(m.entryAt(place).Value, texts[field])) {
			c.From.Borrowed[field] = refs
		}
	}
}

// special says whether a layer that is not the whole cluster's holds a security setting.
func (m *reader) special(where []layer) bool {
	return slices.ContainsFunc(where, func(l layer) bool {
		if l.prefix == "" {
			return false
		}
		for key := range l.entries {
			name, ok := strings.CutPrefix(key, l.prefix)
			if ok && (name == "security.protocol" || strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.")) {
				return true
			}
		}
		return false
	})
}

// tune gives a client its name and its settings.
func (m *reader) tune(c *config.Cluster, r config.Role, where []layer) {
	get := m.find(where)
	if e, value, ok := get(propClientID); ok && value != "" {
		c.ClientID = value
		c.From.Fields["ClientID"] = e.At()
	}
	all := setting.Of("mm2", &c.Client)
	for _, key := range setting.Keys(all) {
		s := all[key]
		if !r.Uses(s.Field) {
			s.Value.SetZero()
			delete(c.From.Fields, s.Field)
			continue
		}
		e, value, ok := get(key)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		unit, name := int64(1), "bytes"
		if s.Kind != "bytes" {
			unit, name = int64(time.Millisecond), "milliseconds"
		}
		if err != nil || n < -1 || n > int64(1<<62)/unit {
			m.Problem(e.At(), fmt.Sprintf("%q is no number of %s", value, name), "write a whole number")
			continue
		}
		c.From.Fields[s.Field] = e.At()
		s.Value.SetInt(m.bounded(e, r, s.Field, n*unit))
	}
}

// bounded is a setting's value, or the nearest one that it may have.
func (m *reader) bounded(e entry.Entry, r config.Role, field string, n int64) int64 {
	b := config.Bounds(r)[field]
	switch {
	case field == "SendBuffer" || field == "ReceiveBuffer":
		if n <= 0 {
			return 0 // the system's
		}
	case field == "IdleTimeout" && n < 0:
		n = b.Most + 1 // never
	}
	used, why := b.Within(n)
	if why != "" {
		what := ""
		if b != config.Bounds(config.AnyRole)[field] {
			what = " where records are written"
		}
		m.Note(e.Line, "%s is out of bounds: %s is used%s, since %s", e.Key, config.Amount(field, used), what, why)
	}
	return used
}

// weakened warns about a producer's setting that would make writes less safe, and says whether the key is one.
func (m *reader) weakened(e entry.Entry, key string) bool {
	_, name, kind := cutKind(key)
	if !kind || name != propAcks && name != propIdempotence {
		return false
	}
	value, ok := m.text(e)
	switch {
	case !ok:
	case name == propAcks && value != "all" && value != "-1":
		m.Warn(e.At(), "every write waits for all replicas in sync (acks=all), never for less")
	case name == propIdempotence && !strings.EqualFold(value, "true"):
		m.Warn(e.At(), "records are written idempotently, always")
	}
	return true
}
