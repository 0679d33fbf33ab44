package properties

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// securityKeys are the keys of address and security that are honoured, at top level and after "A.".
func securityKeys() []string {
	return append([]string{
		propBootstrap, propClientID, "security.protocol",
		"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates",
		"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.certificate.chain", "ssl.keystore.key",
		"ssl.key.password", "ssl.endpoint.identification.algorithm",
	}, saslKeys()...)
}

// cluster gives one cluster its values.
func (m *reader) cluster(alias string) config.Cluster {
	c := config.DefaultCluster(alias)
	c.From = report.Origins{File: m.File, Fields: map[string]report.At{}}
	where := m.clusterLayers(alias)
	get := m.find(where.security)
	if e, value, ok := get(propBootstrap); ok {
		c.From.Fields["Bootstrap"] = e.At()
		s := setting.Setting{Value: reflect.ValueOf(&c).Elem().FieldByName("Bootstrap"), Kind: "addresses"}
		m.Faults(e.At(), s.SetList(setting.SplitList(value)))
	} else if e.Line == 0 { // where it is there, what it refers to is the problem, and has been told
		m.Problem(m.top[propClusters].At(), fmt.Sprintf("cluster %s has no address", alias),
			"add "+alias+"."+propBootstrap+" = host:9092")
	}
	m.tune(&c, config.AnyRole, where.settings)
	m.secure(&c, "cluster "+alias, where.security)
	m.hide(&c)
	if !c.UsesTLS() {
		m.idle(c, "ssl.")
	}
	if !c.UsesSASL() {
		m.idle(c, "sasl.")
	}
	return c
}

// secure gives a client its protocol, certificates and login; who names it in problems.
func (m *reader) secure(c *config.Cluster, who string, where []layer) {
	get := m.find(where)
	c.SecurityProtocol, c.TLS, c.SASL = security.ProtocolPlaintext, security.TLS{VerifyHostname: true}, security.SASL{}
	if e, value, ok := get("security.protocol"); ok {
		protocols := []string{security.ProtocolPlaintext, security.ProtocolSSL, security.ProtocolSASLPlaintext, security.ProtocolSASLSSL}
		c.SecurityProtocol = strings.ToUpper(value)
		c.From.Fields["SecurityProtocol"] = e.At()
		if !slices.Contains(protocols, c.SecurityProtocol) {
			m.Problem(e.At(), fmt.Sprintf("%q is no security protocol", value), "write one of "+strings.Join(protocols, ", "))
		}
	}
	if c.UsesTLS() {
		m.tls(c, get)
	}
	if c.UsesSASL() {
		m.sasl(c, who, get)
	}
	c.From.Kept = m.secretsOf(*c)
	c.Again = m.later(*c, who, where)
}

// later looks up anew what the security settings refer to; nil where they hold no reference. The file itself is not read
// again: what it says changes at the next start, for all workers at once.
func (m *reader) later(c config.Cluster, who string, where []layer) func() (security.Security, error) {
	refers := false
	for _, here := range c.From.Fields {
		_, borrowed := m.Lent(here)
		refers = refers || borrowed
	}
	if !refers {
		return nil
	}
	return func() (security.Security, error) {
		fresh := &reader{
			Draft: config.NewDraft(m.File, form()), aliases: m.aliases, providers: m.providers,
			top: m.top, clusters: m.clusters, flows: m.flows,
		}
		again := c
		again.From = report.Origins{File: m.File, Fields: map[string]report.At{}}
		fresh.secure(&again, who, where)
		if len(fresh.Problems) > 0 {
			return security.Security{}, fresh.Problems
		}
		return again.Security, nil
	}
}

// idle notes a cluster's own security keys that its protocol does not use. Top-level keys are left alone: they are
// there for the other clusters.
func (m *reader) idle(c config.Cluster, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(m.clusters[c.Alias])) {
		if e := m.clusters[c.Alias][key]; strings.HasPrefix(key, prefix) && slices.Contains(securityKeys(), key) {
			m.Note(e.Line, "%s has no effect with security.protocol %s", e.Key, c.SecurityProtocol)
		}
	}
}

type lookup func(key string) (entry.Entry, string, bool)

// tls reads the ssl.* keys.
func (m *reader) tls(c *config.Cluster, get lookup) {
	c.TLS.CAFile = m.store(c, get, "ssl.truststore", "CAFile")
	c.TLS.CAPassword = kafka.Secret(m.told(c, get, "ssl.truststore.password", "CAPassword"))
	if text := m.inline(c, get, "ssl.truststore.certificates", "CA"); text != "" {
		c.TLS.CAFile, c.TLS.CAPassword, c.TLS.CA = "", "", text
	}
	c.TLS.KeystoreFile = m.store(c, get, "ssl.keystore", "KeystoreFile")
	c.TLS.KeystorePassword = kafka.Secret(m.told(c, get, "ssl.keystore.password", "KeystorePassword"))
	c.TLS.KeyPassword = kafka.Secret(m.told(c, get, "ssl.key.password", "KeyPassword"))
	c.TLS.Cert = m.inline(c, get, "ssl.keystore.certificate.chain", "Cert")
	c.TLS.Key = kafka.Secret(m.inline(c, get, "ssl.keystore.key", "Key"))
	if c.TLS.Cert != "" || c.TLS.Key != "" {
		c.TLS.KeystoreFile, c.TLS.KeystorePassword = "", ""
	}
	m.unopened(c)
	for _, half := range []struct{ have, missing, field string }{
		{c.TLS.Cert, c.TLS.Key.Reveal(), "Cert"}, {c.TLS.Key.Reveal(), c.TLS.Cert, "Key"},
	} {
		if half.have != "" && half.missing == "" {
			m.Problem(c.From.Fields[half.field], "there is one half of the client certificate", "give both ssl.keystore.certificate.chain and ssl.keystore.key")
		}
	}
	if e, value, ok := get("ssl.endpoint.identification.algorithm"); ok {
		c.From.Fields["VerifyHostname"] = e.At()
		switch strings.ToLower(value) {
		case "":
			c.TLS.VerifyHostname = false
		case "https":
		default:
			m.Problem(e.At(), fmt.Sprintf("%q is no way to check a host name", value), "write https, or leave it empty to check no names")
		}
	}
}

// unopened refuses the password of a store that is not given, as Java does: the key of the store may be misspelt, and then
// there would be no client certificate, or another trust. A key's password without a key is passed over, as Java does too.
func (m *reader) unopened(c *config.Cluster) {
	for _, store := range []struct {
		file, password, field, key string
	}{
		{c.TLS.CAFile, c.TLS.CAPassword.Reveal(), "CAPassword", "ssl.truststore.location"},
		{c.TLS.KeystoreFile, c.TLS.KeystorePassword.Reveal(), "KeystorePassword", "ssl.keystore.location"},
	} {
		if store.password != "" && store.file == "" {
			m.Problem(c.From.Fields[store.field], "there is no store that the password opens", "add "+store.key+", or remove it")
		}
	}
	if c.TLS.KeystoreFile == "" && c.TLS.Key.Reveal() == "" {
		c.TLS.KeyPassword = ""
	}
}

// told is a key's value; empty where it is not there. Where it stands is kept for what is found out later.
func (m *reader) told(c *config.Cluster, get lookup, key, field string) string {
	e, value, ok := get(key)
	if !ok || value == "" {
		return ""
	}
	c.From.Fields[field] = e.At()
	return value
}

// inline is PEM text in the configuration itself. It is the more special of the two ways, so it wins over a file that
// comes from the top level.
func (m *reader) inline(c *config.Cluster, get lookup, key, field string) string {
	value := m.told(c, get, key, field)
	if value == "" {
		return ""
	}
	text := rewrap(value)
	if text == "" {
		m.Problem(c.From.Fields[field], "has no PEM block in it", "give -----BEGIN ...----- to -----END ...-----, with a blank or \\n where the line ends were")
	}
	return text
}

// rewrap puts the line ends back that PEM in a properties file loses: Java's own parser takes any blank for one.
func rewrap(text string) string {
	block := regexp.MustCompile(`(-----BEGIN [A-Z0-9 ]+-----)([A-Za-z0-9+/=\s]*)(-----END [A-Z0-9 ]+-----)`)
	var b strings.Builder
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		b.WriteString(m[1] + "\n" + strings.Join(strings.Fields(m[2]), "\n") + "\n" + m[3] + "\n")
	}
	return b.String()
}

// store is a store's file. Its type is checked only for being one that can be read, here or in Java: the file's content
// says what it is, see kafka.TrustStore.
func (m *reader) store(c *config.Cluster, get lookup, store, field string) string {
	if e, kind, ok := get(store + ".type"); ok && !slices.Contains([]string{"JKS", "PKCS12", "PEM"}, strings.ToUpper(kind)) {
		m.Problem(e.At(), fmt.Sprintf("a store of type %q cannot be read", kind),
			"convert it: keytool -importkeystore -srckeystore STORE -srcstoretype TYPE -destkeystore s.p12 -deststoretype PKCS12, and write PKCS12")
	}
	return m.told(c, get, store+".location", field)
}

func (m *reader) protocolAt(alias string) report.At {
	if e, ok := m.clusters[alias]["security.protocol"]; ok {
		return e.At()
	}
	return m.top["security.protocol"].At()
}

// discreet says whether problems with the key never quote its value, which is a secret wherever it comes from.
func discreet(key string) bool {
	for _, k := range []string{
		"sasl.jaas.config", "ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.key.password",
	} {
		if key == k || strings.HasSuffix(key, "."+k) {
			return true
		}
	}
	return false
}
