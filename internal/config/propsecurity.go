package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// securityKeys are the keys of address and security that are honoured, at top level and after "A.".
func securityKeys() []string {
	return []string{
		propBootstrap, propClientID, "security.protocol", "sasl.mechanism", "sasl.jaas.config",
		"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates",
		"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key",
		"ssl.key.password", "ssl.endpoint.identification.algorithm",
	}
}

// cluster gives one cluster its values.
func (m *mm2File) cluster(alias string) Cluster {
	c := defaultCluster(alias)
	get := func(key string) (entry, string, bool) {
		e, ok := m.clusters[alias][key]
		if !ok && key != propClientID {
			e, ok = m.top[key]
		}
		if !ok {
			return entry{}, "", false
		}
		value, ok := m.text(e)
		return e, value, ok
	}
	if e, value, ok := get(propBootstrap); ok {
		s := setting{value: reflect.ValueOf(&c).Elem().FieldByName("Bootstrap"), kind: "addresses"}
		m.faults(e.at(), s.setList(splitList(value)))
	} else {
		m.problem(m.top[propClusters].at(), fmt.Sprintf("cluster %s has no address", alias),
			"add "+alias+"."+propBootstrap+" = host:9092")
	}
	if _, value, ok := get(propClientID); ok && value != "" {
		c.ClientID = value
	}
	if e, value, ok := get("security.protocol"); ok {
		protocols := []string{ProtocolPlaintext, ProtocolSSL, ProtocolSASLPlaintext, ProtocolSASLSSL}
		c.SecurityProtocol = strings.ToUpper(value)
		if !slices.Contains(protocols, c.SecurityProtocol) {
			m.problem(e.at(), fmt.Sprintf("%q is no security protocol", value), "write one of "+strings.Join(protocols, ", "))
		}
	}
	if c.usesTLS() {
		m.tls(&c, get)
	} else {
		m.idle(c, "ssl.")
	}
	if c.usesSASL() {
		m.sasl(&c, get)
	} else {
		m.idle(c, "sasl.")
	}
	return c
}

// idle notes a cluster's own security keys that its protocol does not use. Top-level keys are left alone: they are
// there for the other clusters.
func (m *mm2File) idle(c Cluster, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(m.clusters[c.Alias])) {
		if e := m.clusters[c.Alias][key]; strings.HasPrefix(key, prefix) && slices.Contains(securityKeys(), key) {
			m.note(e.line, "%s has no effect with security.protocol %s", e.key, c.SecurityProtocol)
		}
	}
}

type lookup func(key string) (entry, string, bool)

// tls reads the ssl.* keys. Java's default store type is JKS, which Go cannot read.
func (m *mm2File) tls(c *Cluster, get lookup) {
	c.TLS.CAFile = m.pem(get, "ssl.truststore")
	if text := m.inline(get, "ssl.truststore.certificates"); text != "" {
		c.TLS.CAFile, c.TLS.CA = "", text
	}
	// A PEM key store is one file with the private key and the certificate chain.
	c.TLS.CertFile = m.pem(get, "ssl.keystore")
	c.TLS.KeyFile = c.TLS.CertFile
	if text := m.inline(get, "ssl.keystore.certificate.chain"); text != "" {
		c.TLS.CertFile, c.TLS.Cert = "", text
	}
	if text := m.inline(get, "ssl.keystore.key"); text != "" {
		c.TLS.KeyFile, c.TLS.Key = "", Secret(text)
	}
	if e, _, ok := get("ssl.key.password"); ok {
		m.problem(e.at(), "encrypted private keys are not supported", "decrypt the key: openssl pkey -in key.pem -out plain.pem, and remove this key")
	}
	if e, value, ok := get("ssl.endpoint.identification.algorithm"); ok {
		switch strings.ToLower(value) {
		case "":
			c.TLS.VerifyHostname = false
		case "https":
		default:
			m.problem(e.at(), fmt.Sprintf("%q is no way to check a host name", value), "write https, or leave it empty to check no names")
		}
	}
}

// inline is PEM text in the configuration itself. It is the more special of the two ways, so it wins over a file that
// comes from the top level.
func (m *mm2File) inline(get lookup, key string) string {
	e, value, ok := get(key)
	if !ok || value == "" {
		return ""
	}
	text := rewrap(value)
	if text == "" {
		m.problem(e.at(), "has no PEM block in it", "give -----BEGIN ...----- to -----END ...-----, with a blank or \\n where the line ends were")
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

// pem is a store's file, which must be PEM.
func (m *mm2File) pem(get lookup, store string) string {
	e, location, ok := get(store + ".location")
	if !ok || location == "" {
		return ""
	}
	_, kind, _ := get(store + ".type")
	if !strings.EqualFold(kind, "PEM") {
		if kind == "" {
			kind = "JKS (the default)"
		}
		m.problem(e.at(), fmt.Sprintf("a store of type %s cannot be read", kind), fmt.Sprintf(
			"convert it: keytool -importkeystore -srckeystore STORE -destkeystore s.p12 -deststoretype PKCS12, openssl pkcs12 -in s.p12 -nodes -out s.pem; then set %s.location to s.pem and %s.type = PEM", store, store))
	}
	return location
}

// sasl reads the mechanism and the login. Kafka's default mechanism is GSSAPI, so a missing one is an error here.
func (m *mm2File) sasl(c *Cluster, get lookup) {
	const choose = "set sasl.mechanism to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
	e, mechanism, ok := get("sasl.mechanism")
	known := []string{MechanismPlain, MechanismScram256, MechanismScram512}
	switch {
	case !ok:
		m.problem(m.protocolAt(c.Alias), fmt.Sprintf("cluster %s has no sasl.mechanism, which means GSSAPI to Kafka and is not supported", c.Alias), choose)
		return
	case !slices.Contains(known, mechanism):
		m.problem(e.at(), fmt.Sprintf("mechanism %q is not supported yet", mechanism), choose)
		return
	}
	c.SASL.Mechanism = mechanism
	e, text, ok := get("sasl.jaas.config")
	if !ok {
		m.problem(m.protocolAt(c.Alias), fmt.Sprintf("cluster %s has no sasl.jaas.config", c.Alias), "give the login module with username and password")
		return
	}
	l, err := parseJAAS(text)
	if err == nil {
		err = l.suits(mechanism)
	}
	if err == nil && (l.options["username"] == "" || l.options["password"] == "") {
		err = errors.New("username or password is missing")
	}
	if err != nil {
		m.problem(e.at(), err.Error(), `write org.apache.kafka.common.security.scram.ScramLoginModule (or plain.PlainLoginModule) required username="..." password="...";`)
		return
	}
	c.SASL.User, c.SASL.Password = l.options["username"].Reveal(), l.options["password"]
}

func (m *mm2File) protocolAt(alias string) at {
	if e, ok := m.clusters[alias]["security.protocol"]; ok {
		return e.at()
	}
	return m.top["security.protocol"].at()
}
