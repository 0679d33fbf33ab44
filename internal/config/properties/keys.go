package properties

import (
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// scope is where in a properties file a key stands.
type scope int

const (
	topScope     scope = iota // no prefix
	clusterScope              // after "A."
	flowScope                 // after "A->B."
)

// reason says why keys of MirrorMaker 2 have no effect. A key that ends in a star stands for all that begin so.
type reason struct {
	scopes []scope
	why    string
	keys   []string
}

// renamedKeys are keys that Kafka 4.0 removed, by their present names.
func renamedKeys() map[string]string {
	return map[string]string{
		"topics.blacklist":            "topics.exclude",
		"groups.blacklist":            "groups.exclude",
		"config.properties.blacklist": "config.properties.exclude",
	}
}

// guesses are keys that people write by analogy and that mean another one, which is not the nearest by its letters.
func guesses() map[string]string {
	return map[string]string{
		"topics.whitelist": "topics", "topics.include": "topics", "topics.regex": "topics", "topics.pattern": "topics", "topic": "topics",
		"groups.whitelist": "groups", "groups.include": "groups", "groups.regex": "groups", "groups.pattern": "groups", "group": "groups",
		"whitelist": "topics", "blacklist": "topics.exclude", "enable": "enabled",
	}
}

// inventions are keys that people write by analogy and that mean nothing.
func inventions() map[string]string {
	const syncs = "offset syncs have no interval, they follow a partition within a second"
	return map[string]string{
		"emit.offset-syncs.interval.seconds": syncs, "offset-syncs.interval.seconds": syncs, "sync.offset-syncs.interval.seconds": syncs,
		"max.tasks": "MirrorMaker 2 calls it tasks.max, and here it has no effect either: workers share lanes",
	}
}

// reasons lists the keys that MirrorMaker 2 knows and that have no effect here, the most telling reason first.
func reasons() []reason {
	top, cluster, flow := topScope, clusterScope, flowScope
	anywhere := []scope{top, cluster, flow}
	connector := []scope{top, flow}
	return append(clientReasons(), []reason{
		{
			connector, "workers that run with the same file share its flows; start another one for more throughput",
			[]string{"tasks.max", "tasks.max.enforce"},
		},
		{connector, "every position is translated exactly, so there are no samples to space", []string{"offset.lag.max"}},
		{
			anywhere, "records are copied as they are, without converters and transforms",
			[]string{"key.converter*", "value.converter*", "header.converter*", "transforms*", "predicates*"},
		},
		{
			connector, "settings that are set on the source topic are copied, its broker's defaults are not",
			[]string{"use.defaults.from", "use.incremental.alter.configs"},
		},
		{anywhere, "positions, claims and states are kept in the ledger topic on the target", []string{
			"offset.storage.*", "config.storage.*", "status.storage.*", "offsets.storage.topic", "topic.creation.*",
			"offset.flush.*",
		}},
		{anywhere, "what a stop or a crash can cost is in docs/guarantees.md and is not a setting", []string{
			"exactly.once.support", "exactly.once.source.support", "transaction.boundary*",
		}},
		{[]scope{top}, "workers find each other through a consumer group on the target", []string{
			"dedicated.mode.enable.internal.rest", "listeners*", "rest.*", "access.control.*", "response.http.headers.config", "ssl.client.auth",
		}},
		{anywhere, "there is no Kafka Connect worker", []string{
			"name", "connector.class", "config.action.reload", "errors.*", "worker.*", "task.index", "task.assigned.*", "task.shutdown.*", "group.id", "plugin.*",
			"scheduled.rebalance.max.delay.ms", "rebalance.timeout.ms", "session.timeout.ms", "heartbeat.interval.ms",
			"connect.protocol", "inter.worker.*", "connector.client.config.override.policy",
		}},
		{anywhere, "Tidemark exports no metrics yet: tidemark status --json says how it stands", []string{
			"metric.reporters", "metrics.*", "metric.names.formats", "add.source.alias.to.metrics", "auto.include.jmx.reporter",
		}},
		{anywhere, "requests have their own time-outs", []string{propAdminTimeout, propPollTimeout}},
		{anywhere, "topics and access rules are made by requests to the brokers, as the default class does", []string{propForwarding}},
		{
			[]scope{top},
			"MirrorMaker 2 does not read client settings at top level either; put them after A. or A->B.",
			[]string{"consumer.*", "producer.*", "admin.*"},
		},
		{
			[]scope{cluster, flow},
			"batches are forwarded as they are, so there is no producer to tune",
			[]string{"producer.*", "target.producer.*", "source.producer.*"},
		},
		{[]scope{cluster, flow}, "no client here has such a setting", []string{
			"consumer.*", "admin.*", "source.consumer.*", "target.consumer.*", "source.admin.*", "target.admin.*",
		}},
		{[]scope{flow}, "address and security are read from A. and B.", slices.Concat(connectionOf("source"), connectionOf("target"), []string{"source.cluster.*", "target.cluster.*"})}, // see side
		{
			[]scope{flow},
			"address and security belong to a cluster (A.key) or, but for the address, to a kind of client (A.consumer.key, A->B.source.consumer.key)",
			[]string{propBootstrap, propClientID, "security.protocol", "ssl.*", "sasl.*"},
		},
		{anywhere, "Go's TLS defaults are used", []string{"ssl.*"}},
		{anywhere, "how a login is renewed is not a setting, and Java classes cannot be loaded", []string{"sasl.*"}},
	}...)
}

// filterClasses are classes that choose what is mirrored. The default ones are what is built in; another one cannot be
// loaded, and going on without it would mirror what it was written to keep back.
func filterClasses() map[string]string {
	return map[string]string{
		"topic.filter.class":           "DefaultTopicFilter",
		"group.filter.class":           "DefaultGroupFilter",
		"config.property.filter.class": "DefaultConfigPropertyFilter",
	}
}

// honoured are the keys that have an effect in a scope.
func honoured(s scope) []string {
	var keys []string
	if s != clusterScope {
		keys = append(setting.Keys(setting.Of("mm2", &config.Flow{})), propPolicy)
		for _, k := range readingKeys() {
			keys = append(keys, "source.consumer."+k.name)
		}
		for old := range renamedKeys() {
			keys = append(keys, old)
		}
		for class := range filterClasses() {
			keys = append(keys, class)
		}
	}
	if s != topScope {
		for _, k := range readingKeys() {
			keys = append(keys, "consumer."+k.name)
		}
	}
	if s != flowScope {
		keys = append(keys, securityKeys()...)
	}
	keys = append(keys, clientSettingKeys(s)...)
	if s == topScope {
		keys = append(keys, propClusters, provider.Key)
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == propClientID })
	}
	return keys
}

// honoured asks for the keys of a scope once for a file.
func (m *reader) honoured(s scope) []string {
	if m.known == nil {
		m.known = map[scope][]string{}
	}
	if m.known[s] == nil {
		m.known[s] = honoured(s)
	}
	return m.known[s]
}

// judge notes a key that has no effect, with the reason or the key that it may have been meant for. MirrorMaker 2
// ignores keys that it does not know, so they are no error; a warning, since what they were to do is not done.
func (m *reader) judge(e entry.Entry, key string, s scope) {
	if class, ok := filterClasses()[key]; ok && s != clusterScope {
		if value, found := m.text(e); found && strings.TrimPrefix(value, policyPackage) != class {
			m.Problem(e.At(), "a Java class cannot be loaded here, and it decides what is mirrored",
				"say the same with "+strings.Join([]string{"topics", "topics.exclude", "groups", "groups.exclude", "config.properties.exclude"}, ", "))
		}
		return
	}
	if s == topScope && strings.HasPrefix(key, provider.Key+".") {
		m.judgeProvider(e, key)
		return
	}
	if m.side(e, key, s) || m.refuse(e, key, s) || s != topScope && m.weakened(e, key) || m.astray(e, key, s) {
		return
	}
	known := m.honoured(s)
	if slices.Contains(known, key) {
		m.unused(e, key, s)
		return
	}
	if right := m.misplaced(e, key, s); right != "" {
		m.Warn(e.At(), "write it as %s%s", m.there(right), unread(e))
		return
	}
	for _, r := range reasons() {
		if slices.Contains(r.scopes, s) && slices.ContainsFunc(r.keys, func(k string) bool { return matches(k, key) }) {
			if n := misspelt(key, known); n != "" && !slices.Contains(r.keys, key) {
				m.meant(e, strings.TrimSuffix(e.Key, key)+n)
				return
			}
			m.Idle(e.At(), "%s%s", m.fill(e, key, s, r.why+ignoredToo(s, key)), unread(e))
			return
		}
	}
	if s != flowScope && slices.Contains(m.honoured(flowScope), key) {
		m.Warn(e.At(), "%s%s", m.anywhere(e, key, s), unread(e))
		return
	}
	if m.bare(e, key, s) {
		return
	}
	if likely, ok := guesses()[key]; ok && slices.Contains(known, likely) {
		m.meant(e, strings.TrimSuffix(e.Key, key)+likely)
		return
	}
	if why, ok := inventions()[key]; ok {
		m.Warn(e.At(), "unknown key: %s%s", why, unread(e))
		return
	}
	known = slices.Clone(known)
	for _, r := range reasons() {
		if slices.Contains(r.scopes, s) {
			known = append(known, r.keys...)
		}
	}
	known = slices.DeleteFunc(known, func(k string) bool { return strings.HasSuffix(k, "*") })
	if n := report.Nearest(key, known); n != "" {
		if now, ok := renamedKeys()[n]; ok {
			n = now
		}
		m.meant(e, strings.TrimSuffix(e.Key, key)+n)
		return
	}
	m.Warn(e.At(), "unknown key%s", unread(e))
}

// meant warns about a key that is most likely a misspelt one.
func (m *reader) meant(e entry.Entry, likely string) {
	m.Warn(e.At(), "unknown key, did you mean %s?%s", m.there(likely), unread(e))
}

// matches says whether the key is the pattern, or begins with it where it ends in a star.
func matches(pattern, key string) bool {
	prefix, star := strings.CutSuffix(pattern, "*")
	return key == pattern || star && strings.HasPrefix(key, prefix)
}
