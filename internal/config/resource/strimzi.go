package resource

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config/report"
)

// mirror takes a KafkaMirrorMaker2 of Strimzi, of API version v1 (a target, and a source for each mirror) or v1beta2 (clusters by
// alias): https://strimzi.io/docs/operators/latest/configuring.
func (w *writer) mirror(n *yaml.Node) {
	spec := field(n, "spec")
	w.known(spec, "spec", append(pods(), "target", "connectCluster", "clusters", "mirrors"))
	target := text(field(spec, "connectCluster"))
	if t := field(spec, "target"); t != nil {
		target = w.strimziCluster(t, "groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")
	}
	if list := field(spec, "clusters"); list != nil {
		for _, c := range list.Content {
			w.strimziCluster(c)
		}
	}
	list := field(spec, "mirrors")
	if list == nil || len(list.Content) == 0 {
		w.Problem(report.At{Line: n.Line, Key: "spec.mirrors"}, "there is no mirror", "say what is mirrored from where")
		return
	}
	for _, m := range list.Content {
		w.strimziMirror(m, target)
	}
}

func (w *writer) strimziMirror(m *yaml.Node, target string) {
	w.known(m, "spec.mirrors", []string{
		"source", "sourceCluster", "targetCluster", "topicsPattern", "topicsExcludePattern", "topicsBlacklistPattern",
		"groupsPattern", "groupsExcludePattern", "groupsBlacklistPattern", "sourceConnector", "checkpointConnector", "heartbeatConnector",
	})
	source := text(field(m, "sourceCluster"))
	if s := field(m, "source"); s != nil {
		source = w.strimziCluster(s)
	}
	if t := text(field(m, "targetCluster")); t != "" {
		target = t
	}
	if source == "" || target == "" {
		w.Problem(report.At{Line: m.Line, Key: "spec.mirrors"}, "this mirror names no source or no target", "give source.alias and target.alias (v1beta2: sourceCluster and targetCluster)")
		return
	}
	f := w.flow(source, target, m.Line)
	name := source + "->" + target + "."
	for _, c := range []struct{ key, class string }{{"sourceConnector", "MirrorSource"}, {"checkpointConnector", "MirrorCheckpoint"}, {"heartbeatConnector", "MirrorHeartbeat"}} {
		connector := field(m, c.key)
		if connector == nil {
			continue
		}
		f.has[c.class] = true
		w.known(connector, "spec.mirrors."+c.key, []string{"tasksMax", "config", "autoRestart", "pause", "state", "listOffsets", "alterOffsets", "version"})
		if text(field(connector, "pause")) == "true" || slices.Contains([]string{"paused", "stopped"}, text(field(connector, "state"))) {
			w.Warn(report.At{Line: connector.Line, Key: c.key}, "is paused there, and runs here: say tidemark pause FILE once the flow has been started")
		}
		w.scalars(field(connector, "config"), name)
	}
	for _, p := range []struct{ key, as string }{
		{"topicsPattern", "topics"},
		{"topicsExcludePattern", "topics.exclude"},
		{"topicsBlacklistPattern", "topics.exclude"},
		{"groupsPattern", "groups"},
		{"groupsExcludePattern", "groups.exclude"},
		{"groupsBlacklistPattern", "groups.exclude"},
	} {
		if v := field(m, p.key); v != nil {
			w.put(v.Line, name+p.as, text(v))
		}
	}
}

// pods are keys about processes, which say nothing of what is mirrored.
func pods() []string {
	return []string{
		"version", "replicas", "image", "resources", "livenessProbe", "readinessProbe", "jvmOptions", "jmxOptions", "logging", "clientRackInitImage",
		"rack", "metricsConfig", "tracing", "template", "externalConfiguration",
	}
}

// known says which keys of a mapping are not understood.
func (w *writer) known(n *yaml.Node, path string, keys []string) {
	if n == nil {
		return
	}
	if n.Kind != yaml.MappingNode {
		w.Problem(report.At{Line: n.Line, Key: path}, "is no mapping", "write key: value pairs")
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(keys, key.Value) {
			do := "take it out, or write the flow as YAML or properties of MirrorMaker 2 (docs/config.md)"
			if near := report.Nearest(key.Value, keys); near != "" {
				do = "did you mean " + near + "?"
			}
			w.Problem(report.At{Line: key.Line, Key: path + "." + key.Value}, "unknown key", do)
		}
	}
}

// strimziCluster takes a cluster's address, security and settings, and gives its alias.
func (w *writer) strimziCluster(c *yaml.Node, also ...string) string {
	alias := text(field(c, "alias"))
	if alias == "" {
		w.Problem(report.At{Line: c.Line, Key: "alias"}, "this cluster has no alias", "name it")
		return ""
	}
	w.known(c, "cluster "+alias, append([]string{"alias", "bootstrapServers", "tls", "authentication", "config"}, also...))
	w.cluster(alias, c.Line)
	if b := field(c, "bootstrapServers"); b != nil {
		w.put(b.Line, alias+".bootstrap.servers", text(b))
	}
	tls, login := field(c, "tls"), field(c, "authentication")
	if tls != nil {
		w.trusts(alias, tls)
	}
	sasl := login != nil && w.login(alias, login)
	switch {
	case tls != nil && sasl:
		w.put(tls.Line, alias+".security.protocol", "SASL_SSL")
	case tls != nil:
		w.put(tls.Line, alias+".security.protocol", "SSL")
	case sasl:
		w.put(login.Line, alias+".security.protocol", "SASL_PLAINTEXT")
	}
	w.scalars(field(c, "config"), alias+".")
	return alias
}

// trusts takes the authorities of a cluster's brokers.
func (w *writer) trusts(alias string, tls *yaml.Node) {
	w.known(tls, "cluster "+alias+".tls", []string{"trustedCertificates"})
	list := field(tls, "trustedCertificates")
	if list == nil || len(list.Content) == 0 {
		return // those of the system
	}
	first := list.Content[0]
	key := text(field(first, "certificate"))
	if key == "" {
		key = text(field(first, "pattern"))
	}
	w.put(first.Line, alias+".ssl.truststore.type", "PEM")
	w.put(first.Line, alias+".ssl.truststore.certificates", w.variable(first.Line, "the authorities of cluster "+alias, text(field(first, "secretName")), key, variableOf(alias, "CA")))
	if len(list.Content) > 1 {
		w.Warn(report.At{Line: list.Line, Key: "trustedCertificates"}, "cluster %s: there are several; put all of them one after the other into %s", alias, variableOf(alias, "CA"))
	}
}

// login takes how we log in, and says whether that is SASL.
func (w *writer) login(alias string, a *yaml.Node) bool {
	kind := text(field(a, "type"))
	const plain, scram = "org.apache.kafka.common.security.plain.PlainLoginModule", "org.apache.kafka.common.security.scram.ScramLoginModule"
	mechanism := map[string][2]string{"plain": {"PLAIN", plain}, "scram-sha-256": {"SCRAM-SHA-256", scram}, "scram-sha-512": {"SCRAM-SHA-512", scram}}
	path := "cluster " + alias + ".authentication"
	switch m, ok := mechanism[kind]; {
	case ok:
		w.known(a, path, []string{"type", "username", "passwordSecret"})
		secret := field(a, "passwordSecret")
		pw := w.variable(a.Line, "the password for cluster "+alias, text(field(secret, "secretName")), text(field(secret, "password")), variableOf(alias, "PASSWORD"))
		w.put(a.Line, alias+".sasl.mechanism", m[0])
		w.put(a.Line, alias+".sasl.jaas.config", fmt.Sprintf("%s required username=%q password=%q;", m[1], text(field(a, "username")), pw))
		return true
	case kind == "tls":
		w.known(a, path, []string{"type", "certificateAndKey"})
		pair := field(a, "certificateAndKey")
		secret := text(field(pair, "secretName"))
		w.put(a.Line, alias+".ssl.keystore.type", "PEM")
		w.put(a.Line, alias+".ssl.keystore.certificate.chain", w.variable(a.Line, "our certificate for cluster "+alias, secret, text(field(pair, "certificate")), variableOf(alias, "CERTIFICATE")))
		w.put(a.Line, alias+".ssl.keystore.key", w.variable(a.Line, "our key for cluster "+alias, secret, text(field(pair, "key")), variableOf(alias, "KEY")))
		return false
	}
	w.Problem(report.At{Line: a.Line, Key: path}, fmt.Sprintf("a login of type %q is not read", kind),
		"write it under config: sasl.mechanism and sasl.jaas.config with ${env:...} for secrets, as in a properties file, and take authentication out")
	return false
}
