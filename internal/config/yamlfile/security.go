package yamlfile

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
)

// securityWalk is one security mapping: the cluster that it fills, where its fields are set, and where it stands itself.
type securityWalk struct {
	*reader
	c     *config.Cluster
	where map[string]report.At
	self  report.At
}

// security reads a cluster's security mapping and checks that its keys go together.
func (y *reader) security(n *yaml.Node, path string, c *config.Cluster) {
	c.SecurityProtocol = ""
	where, _ := y.into(n, path, "security", nil, &c.Security, &c.TLS, &c.SASL)
	c.From = report.Origins{File: y.File, Fields: merged(c.From.Fields, where)}
	w := securityWalk{reader: y, c: c, where: where, self: report.At{Line: n.Line, Key: path}}
	if c.SecurityProtocol == "" {
		// A wrong one is reported already, and what else it needs cannot be said.
		if _, wrong := where["SecurityProtocol"]; !wrong {
			y.Problem(w.self, "has no protocol", "add protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
		}
		return
	}
	if here, ok := w.first(security.FieldsOf(&c.TLS)...); ok && !c.UsesTLS() {
		y.Problem(here, fmt.Sprintf("has no effect with protocol %s", c.SecurityProtocol), "use SSL or SASL_SSL, or remove it")
	}
	if here, ok := w.first(security.FieldsOf(&c.SASL)...); ok && !c.UsesSASL() {
		y.Problem(here, fmt.Sprintf("has no effect with protocol %s", c.SecurityProtocol), "use SASL_SSL or SASL_PLAINTEXT, or remove it")
	}
	w.certificate()
	if c.UsesSASL() {
		w.credentials()
	}
}

// first is the place in the file of the first of the fields that is set.
func (w securityWalk) first(fields ...string) (report.At, bool) {
	var given []report.At
	for _, f := range fields {
		if here, ok := w.where[f]; ok {
			given = append(given, here)
		}
	}
	if len(given) == 0 {
		return report.At{}, false
	}
	return slices.MinFunc(given, func(a, b report.At) int { return a.Line - b.Line }), true
}

// once reports a secret that is given in more than one way.
func (w securityWalk) once(field string) (given bool) {
	var places []report.At
	for _, f := range security.PasswordFields(field) {
		if here, ok := w.where[f]; ok {
			places = append(places, here)
		}
	}
	if len(places) > 1 {
		key := settingKey(field, w.c)
		w.Problem(places[1], "the password is given twice, see "+places[0].Key, fmt.Sprintf("keep one of %s, %s_file and %s_env", key, key, key))
	}
	return len(places) > 0
}

// settingKey is the key of the security mapping that sets a field.
func settingKey(field string, c *config.Cluster) string {
	for key, s := range setting.Of("security", &c.TLS, &c.SASL) {
		if s.Field == field {
			return key
		}
	}
	return field
}

// certificate checks that a client certificate is a store or a pair, and that passwords have something to open.
func (w securityWalk) certificate() {
	cert, hasCert := w.where["CertFile"]
	key, hasKey := w.where["KeyFile"]
	store, hasStore := w.where["KeystoreFile"]
	switch {
	case hasStore && (hasCert || hasKey):
		w.Problem(store, "the client certificate is given twice", "keep keystore, or cert and key")
	case hasCert && !hasKey:
		w.Problem(cert, "there is a client certificate and no key", "add key: the PEM file of its private key")
	case hasKey && !hasCert:
		w.Problem(key, "there is a private key and no certificate", "add cert: the PEM file of its certificate chain")
	}
	opened := map[string][]string{"CAPassword": {"CAFile"}, "KeystorePassword": {"KeystoreFile"}, "KeyPassword": {"KeystoreFile", "KeyFile"}, "TokenCAPassword": {"TokenCAFile"}}
	for _, field := range slices.Sorted(maps.Keys(opened)) {
		opens := opened[field]
		if !w.once(field) {
			continue
		}
		if _, ok := w.first(opens...); !ok {
			here, _ := w.first(security.PasswordFields(field)...)
			w.Problem(here, "there is nothing that the password opens", "add "+settingKey(opens[0], w.c)+", or remove it")
		}
	}
}

// credentials checks that a mechanism and what it needs are there, and nothing that it does not use.
func (w securityWalk) credentials() {
	if _, ok := w.where["Mechanism"]; !ok {
		w.Problem(w.self, "has no mechanism", "add mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	}
	mechanism := w.c.SASL.Mechanism
	used := append(security.UsedBy(mechanism), "Mechanism")
	for _, field := range security.FieldsOf(&w.c.SASL) {
		if here, ok := w.where[field]; ok && mechanism != "" && !slices.Contains(used, field) {
			w.Problem(here, fmt.Sprintf("has no effect with mechanism %s", mechanism), "remove it")
		}
	}
	password := w.once("Password")
	need := map[string]string{"User": "add username"}
	switch mechanism {
	case security.MechanismOAuth:
		need = map[string]string{"TokenURL": "add token_url: the address of the token endpoint"}
		if _, ok := w.where["TokenURL"]; ok && !security.FileURL(w.c.SASL.TokenURL) {
			need["User"] = "add username: the client id"
		}
		if here, ok := w.where["TokenURL"]; ok {
			if f := security.TokenURL(w.c.SASL.TokenURL); f != nil {
				w.Problem(here, f.What, f.Do)
			}
		}
	case security.MechanismAWS:
		need = nil
	case security.MechanismKerberos:
		need = map[string]string{"User": "add username: the principal, such as mirror@EXAMPLE.COM", "Keytab": "add keytab: the file with the principal's keys"}
	}
	for _, field := range slices.Sorted(maps.Keys(need)) {
		if _, ok := w.where[field]; !ok {
			w.Problem(w.self, "has no "+settingKey(field, w.c), need[field])
		}
	}
	if slices.Contains(used, "Password") && !password && (mechanism != security.MechanismOAuth || !security.FileURL(w.c.SASL.TokenURL)) {
		w.Problem(w.self, "has no password", "add password, password_file or password_env")
	}
}
