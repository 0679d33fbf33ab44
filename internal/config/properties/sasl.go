package properties

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
	"tidemark/internal/kafka"
)

// saslKeys are the sasl.* keys that are honoured.
func saslKeys() []string {
	return []string{
		"sasl.mechanism", "sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.client.callback.handler.class",
		"sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope", "sasl.oauthbearer.header.urlencode",
		"sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
		"sasl.kerberos.service.name",
	}
}

// sasl reads the mechanism and the login. Kafka's default mechanism is GSSAPI, and so is ours.
func (m *reader) sasl(c *config.Cluster, who string, get lookup) {
	const choose = "write one of "
	e, mechanism, ok := get("sasl.mechanism")
	switch {
	case !ok && e.Line > 0:
		return // it refers to what cannot be looked up, which has been told
	case !ok:
		mechanism = security.MechanismKerberos
	}
	if !slices.Contains(security.Mechanisms(), mechanism) {
		m.Problem(e.At(), fmt.Sprintf("mechanism %q is not known", mechanism), choose+strings.Join(security.Mechanisms(), ", "))
		return
	}
	c.SASL.Mechanism = mechanism
	if ok {
		c.From.Fields["Mechanism"] = e.At()
	}
	if !m.handlers(mechanism, get) {
		return
	}
	e, text, ok := get("sasl.jaas.config")
	here := e.At()
	var l security.Login
	switch {
	case ok:
		var err error
		if l, err = security.ParseJAAS(text); err == nil {
			err = l.Suits(mechanism)
		}
		if err != nil {
			m.Problem(here, err.Error(), example(mechanism))
			return
		}
		if m.blankSecret(e, l) {
			return
		}
		for _, field := range []string{"User", "Password", "TokenCAFile", "Keytab", "AWSProfile", "AWSRole", "AWSRoleSession", "AWSExternalID", "AWSSTSRegion", "ServiceName", "Scope", "Extensions"} {
			c.From.Fields[field] = here
		}
	case e.Line > 0:
		return // as above
	case mechanism == security.MechanismOAuth || mechanism == security.MechanismAWS: // all that they need can stand elsewhere
		here = m.protocolAt(c.Alias)
	default:
		m.Problem(m.protocolAt(c.Alias), fmt.Sprintf("%s has no sasl.jaas.config for mechanism %s", who, mechanism), example(mechanism))
		return
	}
	var err error
	switch mechanism {
	case security.MechanismOAuth:
		err = m.oauth(c, get, l)
	case security.MechanismAWS:
		err = l.AWS(&c.SASL)
	case security.MechanismKerberos:
		err = m.kerberos(c, get, l)
	default:
		err = l.Basic(&c.SASL)
	}
	if err != nil {
		m.Problem(here, err.Error(), example(mechanism))
	}
}

// blankSecret reports the password of a login that a configuration provider gives, where it is blank. Without that a file
// that is being renewed would take the place of a good password for a moment.
func (m *reader) blankSecret(e entry.Entry, l security.Login) bool {
	raw, err := security.ParseJAAS(e.Value)
	for _, option := range []string{"password", "clientSecret"} {
		value, given := l.Options[option]
		if !given || !security.Blank(value.Reveal()) {
			continue
		}
		refs, _ := m.Lent(e.At())
		if err == nil { // otherwise the whole login comes from elsewhere
			refs = raw.Options[option].Reveal()
		}
		if found, _ := provider.References(refs); len(found) > 0 {
			m.noSecret(e, refs)
			return true
		}
	}
	return false
}

// noSecret reports that what references stand for is no secret. The problem is added as it is: Report.Problem would hide
// what is wrong.
func (m *reader) noSecret(e entry.Entry, refs string) {
	m.Add(report.Problem{File: m.File, Line: e.Line, Key: e.Key, What: fmt.Sprintf("what %s stands for %s", refs, security.IsBlank), Do: security.WritePassword})
}

// example is what to write for a mechanism.
func example(mechanism string) string {
	const kafkaModules = "org.apache.kafka.common.security."
	text := kafkaModules + `scram.ScramLoginModule required username="..." password="...";`
	switch mechanism {
	case security.MechanismPlain:
		text = kafkaModules + `plain.PlainLoginModule required username="..." password="...";`
	case security.MechanismOAuth:
		text = kafkaModules + `oauthbearer.OAuthBearerLoginModule required clientId="..." clientSecret="..."; and sasl.oauthbearer.token.endpoint.url`
	case security.MechanismAWS:
		text = `software.amazon.msk.auth.iam.IAMLoginModule required;`
	case security.MechanismKerberos:
		text = `com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/path" principal="user@REALM"; and sasl.kerberos.service.name`
	}
	return "write sasl.jaas.config = " + text
}

// handlers checks that callback handlers are ones whose work is done here. Another one gets its credentials in a way
// that only it knows.
func (m *reader) handlers(mechanism string, get lookup) bool {
	good := true
	for key, known := range map[string]map[string]string{
		"sasl.login.callback.handler.class":  {security.MechanismOAuth: "OAuthBearerLoginCallbackHandler"},
		"sasl.client.callback.handler.class": {security.MechanismAWS: "IAMClientCallbackHandler"},
	} {
		e, class, ok := get(key)
		if !ok || class == "" || class[strings.LastIndex(class, ".")+1:] == known[mechanism] {
			continue
		}
		good = false
		do := "remove it"
		if known[mechanism] != "" {
			do = "use " + known[mechanism] + ", or remove it"
		}
		if strings.Contains(class, "IAMOAuthBearer") {
			do = "use sasl.mechanism = AWS_MSK_IAM with IAMLoginModule"
		}
		m.Problem(e.At(), fmt.Sprintf("callback handler %s is a Java class that cannot be loaded here", class), do)
	}
	return good
}

// oauth takes what the client credentials grant needs: from the keys of Kafka 4.1 (KIP-1139), or from the options of the
// login module, as before.
func (m *reader) oauth(c *config.Cluster, get lookup, l security.Login) error {
	s := &c.SASL
	if s.TokenURL = m.told(c, get, "sasl.oauthbearer.token.endpoint.url", "TokenURL"); s.TokenURL == "" {
		return errors.New("sasl.oauthbearer.token.endpoint.url is missing, and tokens without a signature are for tests only")
	}
	if f := security.TokenURL(s.TokenURL); f != nil {
		m.Problem(c.From.Fields["TokenURL"], f.What, f.Do)
		return nil
	}
	either := func(key, option, field string) string {
		if v := m.told(c, get, key, field); v != "" {
			return v
		}
		return l.Options[option].Reveal()
	}
	const secretKey = "sasl.oauthbearer.client.credentials.client.secret"
	if e, value, ok := get(secretKey); ok && value == "" {
		if refs, lent := m.Lent(e.At()); lent {
			m.noSecret(e, refs)
			return nil
		}
	}
	s.User = either("sasl.oauthbearer.client.credentials.client.id", "clientId", "User")
	s.Password = kafka.Secret(either(secretKey, "clientSecret", "Password"))
	s.Scope = either("sasl.oauthbearer.scope", "scope", "Scope")
	s.TokenEncoded = strings.EqualFold(m.told(c, get, "sasl.oauthbearer.header.urlencode", "TokenEncoded"), "true")
	if path := l.Options["ssl.truststore.location"].Reveal(); path != "" {
		s.TokenCAFile, s.TokenCAPassword = path, l.Options["ssl.truststore.password"]
	}
	for _, name := range slices.Sorted(maps.Keys(l.Options)) {
		if short, ok := strings.CutPrefix(name, "extension_"); ok {
			s.Extensions = append(s.Extensions, short+"="+l.Options[name].Reveal())
		}
	}
	if !security.FileURL(s.TokenURL) && (s.User == "" || s.Password == "") {
		return errors.New("clientId or clientSecret is missing")
	}
	return nil
}

// kerberos takes principal and keytab of Java's own login module.
func (m *reader) kerberos(c *config.Cluster, get lookup, l security.Login) error {
	s := &c.SASL
	s.User, s.Keytab = l.Options["principal"].Reveal(), l.Options["keyTab"].Reveal()
	s.ServiceName = m.told(c, get, "sasl.kerberos.service.name", "ServiceName")
	if s.ServiceName == "" {
		s.ServiceName = l.Options["serviceName"].Reveal()
	}
	switch {
	case !strings.EqualFold(l.Options["useKeyTab"].Reveal(), "true"):
		return errors.New("useKeyTab is not true, and a login without a keytab ends with its ticket")
	case s.User == "" || s.Keytab == "":
		return errors.New("principal or keyTab is missing")
	case s.ServiceName == "":
		return errors.New("sasl.kerberos.service.name is missing: the first part of the brokers' principals, most often kafka")
	}
	return nil
}
