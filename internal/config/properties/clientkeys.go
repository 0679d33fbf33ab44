package properties

import (
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// Settings of producers that are never weaker here than they could be.
const (
	propAcks        = "acks"
	propIdempotence = "enable.idempotence"
)

// The setting that lets a consumer read from a replica nearby, and why it is none here.
const (
	propRack    = "client.rack"
	leadersOnly = "records are read from the leaders of partitions, never from the nearest replica (KIP-392)"
)

// kindPrefixes are what stands in front of a client's settings, by scope and kind of client.
func kindPrefixes(s scope, kind string) []string {
	switch {
	case s == topScope:
		return nil
	case s == clusterScope:
		return []string{kind + "."}
	case kind == "producer":
		return []string{"producer.", "source.producer.", "target.producer.", "producer.override."}
	}
	return []string{kind + ".", "source." + kind + ".", "target." + kind + "."}
}

func clientKinds() []string { return []string{"consumer", "producer", "admin"} }

// rolesAt are the clients that read the settings after a prefix.
func rolesAt(s scope, prefix string) []config.Role {
	switch {
	case prefix == "":
		return []config.Role{config.AnyRole}
	case prefix == "producer.override.":
		return []config.Role{config.RecordProducer}
	case prefix == "producer." && s == clusterScope:
		return []config.Role{config.SourceProducer, config.RecordProducer, config.TargetProducer}
	}
	var out []config.Role
	for _, r := range config.Roles() {
		side, kind, _ := strings.Cut(string(r), "_")
		if r != config.RecordProducer && (prefix == kind+"." || prefix == side+"."+kind+".") {
			out = append(out, r)
		}
	}
	return out
}

// settingNames are the keys of the settings that any of the roles has a use for, client.id among them.
func settingNames(roles []config.Role) []string {
	all := setting.Of("mm2", &config.ClientSettings{})
	names := []string{propClientID}
	for _, key := range setting.Keys(all) {
		if slices.ContainsFunc(roles, func(r config.Role) bool { return r.Uses(all[key].Field) }) {
			names = append(names, key)
		}
	}
	return names
}

// clientSettingKeys are the keys of client settings that are honoured in a scope.
func clientSettingKeys(s scope) []string {
	var keys []string
	if s == clusterScope {
		keys = append(keys, settingNames(rolesAt(s, ""))...)
	}
	for _, kind := range clientKinds() {
		for _, prefix := range kindPrefixes(s, kind) {
			for _, name := range settingNames(rolesAt(s, prefix)) {
				keys = append(keys, prefix+name)
			}
			if kind == "producer" {
				keys = append(keys, prefix+propAcks, prefix+propIdempotence)
			}
			for _, name := range securityKeys() {
				if name != propBootstrap && name != propClientID {
					keys = append(keys, prefix+name)
				}
			}
		}
	}
	return keys
}

// cutKind cuts what says for which kind of client a key is.
func cutKind(key string) (prefix, name string, ok bool) {
	for _, kind := range clientKinds() {
		for _, p := range slices.Backward(kindPrefixes(flowScope, kind)) {
			if name, ok := strings.CutPrefix(key, p); ok {
				return p, name, true
			}
		}
	}
	return "", key, false
}

// kinds puts every prefix of a kind in front of every name.
func kinds(kind string, names ...string) []string {
	var out []string
	for _, prefix := range kindPrefixes(flowScope, kind) {
		for _, name := range names {
			out = append(out, prefix+name)
		}
	}
	return out
}

// clientReasons say why settings of clients have no effect.
func clientReasons() []reason {
	cluster, flow := clusterScope, flowScope
	both := []scope{cluster, flow}
	out := []reason{
		{both, "a cluster has one address, written after its alias as in A.bootstrap.servers", slices.Concat(kinds("consumer", propBootstrap), kinds("producer", propBootstrap), kinds("admin", propBootstrap))},
		{both, leadersOnly, kinds("consumer", propRack)},
		{both, "partitions are read without a consumer group, from where the ledger says", kinds("consumer", "group.*", "enable.auto.commit", "auto.commit.*",
			"max.poll.*", "session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "allow.auto.create.topics")},
		{both, "Java classes cannot be loaded", slices.Concat(kinds("consumer", "key.deserializer", "value.deserializer", "interceptor.classes"), kinds("producer", "key.serializer", "value.serializer", "interceptor.classes", "partitioner.*"))},
		{both, "batches are forwarded as they are, with the source's compression", kinds("producer", "compression.*")},
		{both, "nothing waits to be sent: what comes while a request is under way goes with the next", kinds("producer", "linger.ms")},
		{both, "a write is repeated until it is settled; docs/guarantees.md says how", kinds("producer", "delivery.timeout.ms", "retries", "max.block.ms")},
		{both, "tidemark.memory.bytes bounds what is under way", kinds("producer", "buffer.memory")},
		{both, "at most two requests to a broker are under way, which keeps the order", kinds("producer", "max.in.flight.requests.per.connection")},
		{both, "the owner of a lane has an identity of its own", kinds("producer", "transactional.id", "transaction.timeout.ms")},
		{both, "requests are repeated until default.api.timeout.ms is over", kinds("admin", "retries")},
	}
	for _, kind := range clientKinds() {
		out = append(
			out,
			reason{both, "every address that a name stands for is tried", kinds(kind, "client.dns.lookup")},
			reason{both, "each attempt to connect gets the same time, socket.connection.setup.timeout.ms", kinds(kind, "socket.connection.setup.timeout.max.ms")},
			reason{both, "Tidemark exports no metrics yet: tidemark status --json says how it stands", kinds(kind, "metric.reporters", "metrics.*", "enable.metrics.push")},
		)
	}
	const one = "one back-off serves connecting and repeating: retry.backoff.ms"
	backoffs := []string{"reconnect.backoff.ms", "reconnect.backoff.max.ms"}
	var fetching []string
	for key, s := range setting.Of("mm2", &config.ClientSettings{}) {
		if config.SourceConsumer.Uses(s.Field) && !config.TargetConsumer.Uses(s.Field) && !config.RecordProducer.Uses(s.Field) {
			fetching = append(fetching, "target.consumer."+key)
		}
	}
	for _, key := range backoffs {
		out = append(
			out, reason{both, one, kinds("admin", key)},
			reason{[]scope{flow}, one, []string{"producer." + key, "source.producer." + key, "target.producer." + key, "target.consumer." + key}},
		)
	}
	return append(
		out,
		reason{[]scope{flow}, "records are fetched from the source only", fetching},
		reason{
			[]scope{flow},
			"records are written as B.producer.key and A->B.producer.override.key say",
			[]string{"producer.batch.size", "producer.max.request.size", "source.producer.batch.size", "source.producer.max.request.size", "target.producer.batch.size", "target.producer.max.request.size"},
		},
		reason{[]scope{cluster}, "each attempt to connect gets the same time, socket.connection.setup.timeout.ms", []string{"socket.connection.setup.timeout.max.ms"}},
		reason{[]scope{cluster}, "every address that a name stands for is tried", []string{"client.dns.lookup"}},
		reason{[]scope{cluster}, leadersOnly, []string{propRack}},
		reason{[]scope{topScope, flow}, leadersOnly + "; MirrorMaker 2 ignores it there too, and reads A.consumer." + propRack, []string{propRack}},
		reason{[]scope{topScope}, leadersOnly + "; MirrorMaker 2 ignores it there too, and reads A.consumer." + propRack, []string{"source.consumer." + propRack}},
	)
}

// misplaced is where a setting of a client belongs that stands alone; empty where it is none, or stands well.
func (m *reader) misplaced(e entry.Entry, key string, s scope) string {
	all := setting.Of("mm2", &config.ClientSettings{})
	one, ok := all[key]
	kind := "consumer."
	switch {
	case key == propAcks || key == propIdempotence:
		return m.example(e, key, s, "target").Target + ".producer." + key
	case !ok || s == clusterScope && config.AnyRole.Uses(one.Field):
		return ""
	case config.RecordProducer.Uses(one.Field) && !config.SourceConsumer.Uses(one.Field):
		return m.example(e, key, s, "target").Target + ".producer." + key
	case !config.SourceConsumer.Uses(one.Field):
		kind = "admin."
	}
	f := m.example(e, key, s, "source")
	switch {
	case s == flowScope:
		return f.String() + ".source." + kind + key
	case s == topScope && config.AnyRole.Uses(one.Field):
		return f.Source + "." + key
	}
	return f.Source + "." + kind + key
}

// misspelt is the key of a kind of client that another one is most likely meant for: two letters are wrong at most. Beyond
// that it may be any of the many settings that Java's clients have.
func misspelt(key string, known []string) string {
	if _, _, kind := cutKind(key); !kind {
		return ""
	}
	best, letters := "", 3
	for _, k := range known {
		if d := report.Distance(key, k); d > 0 && d < letters {
			best, letters = k, d
		}
	}
	return best
}

// unused notes a setting of one kind of client that no client of the cluster in this file has a use for.
func (m *reader) unused(e entry.Entry, key string, s scope) {
	prefix, name, kind := cutKind(key)
	if s != clusterScope || !kind {
		return
	}
	alias := aliasOf(e, key)
	all := setting.Of("mm2", &config.ClientSettings{})
	for _, flow := range m.named() {
		for _, r := range rolesAt(s, prefix) {
			one, setting := all[name]
			reading := slices.ContainsFunc(readingKeys(), func(k readingKey) bool { return k.name == name })
			switch {
			case r.Alias(flow) != alias:
			case setting && !r.Uses(one.Field), reading && r != config.SourceConsumer:
			default:
				return
			}
		}
	}
	m.Note(e.Line, "%s has no effect: no client of %s in this file has a use for it", e.Key, alias)
}
