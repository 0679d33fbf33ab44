package properties

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/config/entry"
	"tidemark/internal/config/setting"
)

// converterKeys name the classes through which MirrorMaker 2 passes keys, values and headers.
func converterKeys() []string {
	return []string{"key.converter", "value.converter", "header.converter"}
}

const (
	propTransforms  = "transforms"
	byteConverter   = "org.apache.kafka.connect.converters.ByteArrayConverter"
	propForwarding  = "forwarding.admin.class" // KIP-787
	forwardingAdmin = "org.apache.kafka.clients.admin.ForwardingAdmin"

	propAdminTimeout = "admin.timeout.ms"
	propPollTimeout  = "consumer.poll.timeout.ms"
)

// refuse reports what would change the records that are mirrored, or how topics are made, and cannot be done here; going on
// without it would mirror other bytes than the file asks for, or make topics that are to be made by somebody else. Where
// MirrorMaker 2 ignores the key too, and for a flow that is off, there is nothing to refuse. It says whether the key has
// been dealt with.
func (m *reader) refuse(e entry.Entry, key string, s scope) bool {
	if ignoredThere(s, key) || s == flowScope && !m.enabled(m.flowOf(e, key)) {
		return false
	}
	switch {
	case key == propTransforms:
		value, ok := m.text(e)
		if ok && len(setting.SplitList(value)) == 0 {
			return false
		}
		if ok {
			m.Problem(e.At(), "single message transforms are Java classes that cannot be loaded here, and they change what is mirrored",
				"remove it: records are copied as they are; use topics and topics.exclude to leave topics out, replication.policy.class and replication.policy.separator for names, and transform on one of the two sides")
		}
		return true
	case slices.Contains(converterKeys(), key):
		value, ok := m.text(e)
		if ok && (value == "" || value == byteConverter || value == "ByteArrayConverter") {
			return false
		}
		if ok {
			m.Problem(e.At(), fmt.Sprintf("converter %q is a Java class that cannot be loaded here, and it changes the bytes that are mirrored", value),
				"remove it, or use "+byteConverter+": keys, values and headers are copied byte by byte")
		}
		return true
	case key == propForwarding:
		value, ok := m.text(e)
		if ok && (value == "" || value == forwardingAdmin) {
			return false
		}
		if ok {
			m.Problem(e.At(), fmt.Sprintf("forwarding admin %q is a Java class that cannot be loaded here, and it decides how topics and access rules are made", value),
				"remove it, or use "+forwardingAdmin+": they are made by requests to the brokers; where another service makes topics, let it make them before the start, with as many partitions as their source topics: topics that exist and are empty are used")
		}
		return true
	}
	return false
}

// workerKeys are settings of the Connect worker. MirrorMaker 2 reads them after "B.", B being the target, and a few at top
// level as well.
func workerKeys() []string {
	return []string{
		"offset.storage.*", "config.storage.*", "status.storage.*", "offset.flush.*", "exactly.once.source.support", "worker.*",
		"task.shutdown.*", "group.id", "plugin.*", "scheduled.rebalance.max.delay.ms", "rebalance.timeout.ms",
		"session.timeout.ms", "heartbeat.interval.ms", "connect.protocol", "inter.worker.*",
		"connector.client.config.override.policy", propClientID,
	}
}

// workerKeysAtTop are those that it reads at top level.
func workerKeysAtTop() []string {
	return []string{"offset.storage.*", "config.storage.*", "status.storage.*", "task.*", "worker.*", "plugin.*"}
}

// flowOnlyKeys are settings of a connector that MirrorMaker 2 reads after "A->B." only: its connectors do not define
// them, and what they do not define is dropped at top level.
func flowOnlyKeys() []string {
	return []string{"use.defaults.from", "exactly.once.support", "transaction.boundary*", "offsets.storage.topic", "topic.creation.*"}
}

// connectorKeys are settings that it reads at top level and after "A->B.", and not after "A.".
func connectorKeys() []string {
	return []string{
		"transforms*", "predicates*", "name", "connector.class", "config.action.reload", "errors.*", "task.index",
		"task.assigned.*", propAdminTimeout, propPollTimeout, propForwarding, "source.cluster.alias", "target.cluster.alias", "add.source.alias.to.metrics",
	}
}

// connectionKeys are settings of the clients that it reads for a cluster only, never for a flow.
func connectionKeys() []string {
	return []string{propBootstrap, "security.protocol", "ssl.*", "sasl.*"}
}

// ignoredThere says whether MirrorMaker 2 too ignores a key in that place, although it knows the key elsewhere.
func ignoredThere(s scope, key string) bool {
	in := func(keys []string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return matches(k, key) })
	}
	switch s {
	case topScope:
		return in(flowOnlyKeys()) || in(workerKeys()) && !in(workerKeysAtTop())
	case clusterScope:
		return in(flowOnlyKeys()) || in(connectorKeys())
	default:
		return in(workerKeys()) || in(connectionKeys())
	}
}

// ignoredToo ends what is said about a key that MirrorMaker 2 ignores in that place, with the place where it does not.
func ignoredToo(s scope, key string) string {
	if !ignoredThere(s, key) {
		return ""
	}
	in := func(keys []string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return matches(k, key) })
	}
	place := "A->B."
	switch {
	case in(connectionKeys()):
		place = "A."
	case in(workerKeys()):
		place = "B."
	}
	return fmt.Sprintf("; MirrorMaker 2 ignores it %s too, and reads %s%s", placeOf(s), place, strings.TrimSuffix(key, "*"))
}

// placeOf is a scope in words.
func placeOf(s scope) string {
	return map[scope]string{topScope: "at top level", clusterScope: "after A.", flowScope: "after A->B."}[s]
}
