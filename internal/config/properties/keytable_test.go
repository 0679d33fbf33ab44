package properties

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/setting"
)

const keyTable = "../../../docs/mm2-keys.md"

const keyTableHead = `# Every key of MirrorMaker 2

What Tidemark does with each key of a MirrorMaker 2 properties file, by the place where it stands: at top level, after
` + "`A.`" + ` (a cluster) or after ` + "`A->B.`" + ` (a flow). This page is made by a test from what the code does; ` + "`tidemark lint FILE`" + ` says the same
about one file. [config.md](config.md) says what the values mean.

- **read**: it has its effect.
- **refused**: the file is not used unless the value is the one named in the last column.
- no effect: MirrorMaker 2 reads it there, Tidemark has no use for it; the last column says why.
- ignored: MirrorMaker 2 ignores it there too.
- empty: it means nothing in that place; it is warned about, since it may be misspelt or misplaced.

A key that ends in ` + "`*`" + ` stands for all that begin so and have no row of their own.

Keys of a kind of client stand here after ` + "`consumer.`, `producer.` and `admin.`" + `; after ` + "`A->B.`" + ` each of them is also read with the
side in front, ` + "`A->B.source.consumer.`, `A->B.target.admin.`" + ` and so on, and those of the producer that writes records as
` + "`A->B.producer.override.`" + `. Every ` + "`security.protocol`, `ssl.*` and `sasl.*`" + ` key that is read after ` + "`A.`" + ` is read in all these places too.
` + "[config.md](config.md#clients)" + ` says which place wins.

| key | top level | ` + "`A.`" + ` | ` + "`A->B.`" + ` | |
| --- | --- | --- | --- | --- |
`

// What the cells of the table say.
const (
	cellRead    = "**read**"
	cellRefused = "**refused**"
	cellNone    = "no effect"
	cellIgnored = "ignored"
)

// TestKeyTable compares docs/mm2-keys.md with what the parser does with each key in each place. UPDATE_DOCS=1 writes it.
func TestKeyTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(keyTableHead)
	for _, key := range tableKeys() {
		row := "| `" + key + "` |"
		why := map[string]bool{}
		for _, s := range []scope{topScope, clusterScope, flowScope} {
			cell, because := fate(t, key, s)
			row += strings.TrimRight(" "+cell, " ") + " |"
			if because != "" {
				why[because] = true
			}
		}
		if len(why) > 1 { // the other one says more
			maps.DeleteFunc(why, func(w string, _ bool) bool {
				return strings.HasPrefix(w, "MirrorMaker 2 does not read client settings")
			})
		}
		for side, alias := range map[string]string{"source": "A.", "target": "B."} { // what is said of one file depends on what else it holds
			if slices.Contains(connectionOf(side), key) {
				why = map[string]bool{"address and security of the " + side + " are read from " + alias + " and the top level, which win in MirrorMaker 2 too": true}
			}
		}
		if meaning := meaningOf(key); meaning != "" && strings.Contains(row, "**") {
			why = map[string]bool{meaning: true}
		}
		b.WriteString(row + " " + strings.Join(slices.Sorted(maps.Keys(why)), "; ") + " |\n")
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(keyTable, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(keyTable)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/mm2-keys.md is not what the code does; UPDATE_DOCS=1 go test ./internal/config/properties -run TestKeyTable writes it (-have +want):\n%s", diff)
	}
}

// tableKeys are all keys that the code knows, patterns included.
func tableKeys() []string {
	all := map[string]bool{}
	for _, s := range []scope{topScope, clusterScope, flowScope} {
		for _, key := range honoured(s) {
			all[key] = true
		}
	}
	for _, r := range reasons() {
		for _, key := range r.keys {
			all[key] = true
		}
	}
	for _, key := range append(converterKeys(), "producer."+propAcks, "producer."+propIdempotence, propTransforms, provider.Key+".<name>.class",
		provider.Key+".<name>.param."+provider.ParamAllowlist, provider.Key+".<name>.param."+provider.ParamPaths) {
		all[key] = true
	}
	maps.DeleteFunc(all, func(key string, _ bool) bool { return elsewhere(key) })
	return slices.Sorted(maps.Keys(all))
}

// elsewhere says that the table's head speaks of a key, which has no row then.
func elsewhere(key string) bool {
	prefix, name, kind := cutKind(key)
	if !kind {
		return false
	}
	sided := slices.ContainsFunc([]string{"source.", "target.", "producer.override."}, func(p string) bool { return strings.HasPrefix(prefix, p) })
	reading := slices.ContainsFunc(readingKeys(), func(k readingKey) bool { return k.name == name })
	return sided && name != "*" && !reading || name != propClientID && slices.Contains(securityKeys(), name)
}

// fate asks the parser what a key does in a place, with a value that no built-in class has.
func fate(t *testing.T, key string, s scope) (cell, why string) {
	t.Helper()
	name := strings.ReplaceAll(key, "<name>", "p")
	if cut, star := strings.CutSuffix(name, "*"); star {
		name = strings.TrimSuffix(cut, ".") + ".x"
	}
	name = map[scope]string{topScope: "", clusterScope: "A.", flowScope: "A->B."}[s] + name
	class := provider.Package + provider.Env
	if strings.HasSuffix(key, provider.ParamPaths) {
		class = provider.Package + provider.File
	}
	base := []string{
		"clusters = A, B", "bootstrap.servers = x:1", "A->B.enabled = true", "B->A.enabled = true",
		"config.providers = p", "config.providers.p.class = " + class,
	}
	base = slices.DeleteFunc(base, func(line string) bool { return strings.HasPrefix(line, name+" =") })
	got := Examine("x.properties", []byte(strings.Join(append(base, name+" = com.example.X"), "\n")), provider.Outside{})
	for _, p := range got.Problems {
		if p.Key == name && (strings.Contains(p.What, "cannot be loaded here") || strings.HasPrefix(p.What, "MirrorMaker 2 calls")) {
			return cellRefused, ""
		}
	}
	for _, r := range got.Remarks {
		text, about := strings.CutPrefix(r.Text, name+" has no effect: ")
		switch {
		case !about:
		case r.Warn && (strings.Contains(text, "unknown key") || strings.HasPrefix(text, "write it")):
			return "", ""
		case strings.Contains(text, "; MirrorMaker 2 ignores it"):
			text, _, _ = strings.Cut(text, "; MirrorMaker 2 ignores it")
			return cellIgnored, text
		case strings.HasPrefix(text, "MirrorMaker 2 does not read"):
			return cellIgnored, text
		default:
			return cellNone, text
		}
	}
	return cellRead, ""
}

// meaningOf is what a key that is read stands for, or which value of a refused one is accepted.
func meaningOf(key string) string {
	for yaml, s := range setting.Of("yaml", &config.Flow{}) {
		if m, ok := setting.Of("mm2", &config.Flow{})[key]; ok && m.Field == s.Field {
			return "`" + yaml + "`"
		}
	}
	_, name, kind := cutKind(key)
	if s, ok := setting.Of("mm2", &config.ClientSettings{})[name]; ok {
		for yaml, one := range setting.Of("client", &config.ClientSettings{}) {
			if one.Field == s.Field {
				return "`" + yaml + "` of a client"
			}
		}
	}
	if kind && name == propClientID {
		return "`client_id` of a client"
	}
	for _, k := range readingKeys() {
		if name == k.name {
			return map[string]string{propIsolation: "`isolation`", propReset: "`start`"}[name]
		}
	}
	if now, ok := renamedKeys()[key]; ok {
		return "read as `" + now + "`"
	}
	if class, ok := filterClasses()[key]; ok {
		return "`" + policyPackage + class + "`"
	}
	if slices.Contains(converterKeys(), key) {
		return "`" + byteConverter + "`"
	}
	switch {
	case key == propPolicy:
		return "`policy`; `" + policyPackage + "DefaultReplicationPolicy` or `IdentityReplicationPolicy`"
	case key == propTransforms:
		return "an empty list"
	case key == propForwarding:
		return "`" + forwardingAdmin + "`"
	case strings.HasSuffix(key, ".cluster.alias"):
		return "the alias of the flow's name"
	case strings.HasSuffix(key, propIsolation):
		return "`isolation`"
	case key == propClusters:
		return "`clusters`"
	case strings.HasPrefix(key, provider.Key):
		return "values from files and the environment"
	case slices.Contains(securityKeys(), key):
		return "address and security of a cluster"
	}
	return ""
}

// TestEveryKeyIsKnown: no key that MirrorMaker 2 reads in a place is called unknown there. The keys are those of its
// configuration reference (Kafka 4.0, with those that 4.0 removed); a star stands for any ending.
func TestEveryKeyIsKnown(t *testing.T) {
	connector := strings.Fields(`name connector.class tasks.max tasks.max.enforce key.converter value.converter header.converter
		transforms transforms.x.type predicates predicates.x.type config.action.reload errors.retry.timeout errors.retry.delay.max.ms
		errors.tolerance errors.log.enable errors.log.include.messages enabled source.cluster.alias target.cluster.alias
		admin.timeout.ms replication.policy.class replication.policy.separator replication.policy.internal.topic.separator.enabled
		forwarding.admin.class metric.reporters task.index
		topics topics.exclude topic.filter.class config.properties.exclude config.property.filter.class consumer.poll.timeout.ms
		refresh.topics.enabled refresh.topics.interval.seconds sync.topic.configs.enabled sync.topic.configs.interval.seconds
		sync.topic.acls.enabled sync.topic.acls.interval.seconds replication.factor offset-syncs.topic.replication.factor
		offset-syncs.topic.location offset.lag.max emit.offset-syncs.enabled heartbeats.replication.enabled task.assigned.partitions
		use.incremental.alter.configs add.source.alias.to.metrics topics.blacklist groups.blacklist config.properties.blacklist
		groups groups.exclude group.filter.class refresh.groups.enabled refresh.groups.interval.seconds emit.checkpoints.enabled
		emit.checkpoints.interval.seconds sync.group.offsets.enabled sync.group.offsets.interval.seconds
		checkpoints.topic.replication.factor task.assigned.groups
		emit.heartbeats.enabled emit.heartbeats.interval.seconds heartbeats.topic.replication.factor`)
	flow := strings.Fields(`use.defaults.from exactly.once.support transaction.boundary transaction.boundary.interval.ms
		offsets.storage.topic topic.creation.groups topic.creation.default.partitions producer.override.acks consumer.fetch.max.bytes
		source.consumer.fetch.max.bytes source.admin.retries target.admin.retries target.producer.acks producer.acks admin.retries`)
	security := strings.Fields(`bootstrap.servers security.protocol ssl.truststore.location ssl.cipher.suites sasl.mechanism
		sasl.jaas.config sasl.login.class ssl.keystore.type`)
	top := strings.Fields(`clusters dedicated.mode.enable.internal.rest config.providers config.providers.p.class
		config.providers.p.param.allowlist.pattern listeners listeners.https.ssl.keystore.location rest.advertised.host.name
		rest.advertised.port rest.advertised.listener access.control.allow.origin access.control.allow.methods
		response.http.headers.config ssl.client.auth offset.storage.replication.factor config.storage.replication.factor
		status.storage.replication.factor key.converter.schemas.enable task.shutdown.graceful.timeout.ms worker.unsync.backoff.ms plugin.path`)
	cluster := strings.Fields(`consumer.fetch.max.bytes producer.acks admin.retries offset.flush.interval.ms offset.flush.timeout.ms
		exactly.once.source.support scheduled.rebalance.max.delay.ms group.id session.timeout.ms heartbeat.interval.ms
		rebalance.timeout.ms connect.protocol client.id offset.storage.topic`)
	for s, keys := range map[scope][]string{
		topScope:     slices.Concat(connector, security, top),
		clusterScope: slices.Concat(security, cluster),
		flowScope:    slices.Concat(connector, flow),
	} {
		for _, key := range keys {
			if cell, _ := fate(t, strings.Replace(key, ".p.", ".<name>.", 1), s); cell == "" {
				t.Errorf("%s%s is called unknown", map[scope]string{topScope: "", clusterScope: "A.", flowScope: "A->B."}[s], key)
			} else if cell == cellIgnored && !slices.Contains(flow, key) {
				t.Errorf("%s in scope %d is said to be ignored by MirrorMaker 2", key, s)
			}
		}
	}
	if cell, _ := fate(t, "topics.exlude", flowScope); cell != "" {
		t.Errorf("an unknown key is not called unknown: %s", cell)
	}
}
