//go:build unix

package testcluster

import (
	"crypto/tls"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Security says how clients reach a real cluster.
type Security int

const (
	// SecurityNone is a PLAINTEXT listener.
	SecurityNone Security = iota
	// SASLPlaintext asks for PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, without TLS.
	SASLPlaintext
	// SSL is TLS with a client certificate that the broker demands; the
	// principal is the subject, "User:CN=admin" for the cluster's own client.
	SSL
	// SASLSSL is TLS by the cluster's authority, and SASL inside it.
	SASLSSL
)

func (s Security) sasl() bool { return s == SASLPlaintext || s == SASLSSL }
func (s Security) tls() bool  { return s == SSL || s == SASLSSL }

// protocol is Kafka's name of s.
func (s Security) protocol() string {
	switch s {
	case SASLPlaintext:
		return "SASL_PLAINTEXT"
	case SSL:
		return "SSL"
	case SASLSSL:
		return "SASL_SSL"
	default:
		return "PLAINTEXT"
	}
}

// User is one SASL identity. It is known to PLAIN and to both SCRAM mechanisms.
type User struct {
	Name, Password string
}

// adminName is the super user: SASL user name and subject of the client
// certificate.
const adminName = "admin"

// Admin is the super user that exists in every cluster with SASL.
func Admin() User { return User{Name: adminName, Password: "admin-secret"} }

// mechanisms are the SASL mechanisms that brokers offer.
func mechanisms() []string { return []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} }

// securityProps are the broker properties of the client listener.
func securityProps(o RealOptions, certs *Certificates) map[string]string {
	props := map[string]string{}
	listener := "listener.name." + strings.ToLower(clientListener) + "."
	if o.Security.sasl() {
		props[listener+"sasl.enabled.mechanisms"] = strings.Join(mechanisms(), ",")
		var jaas strings.Builder
		jaas.WriteString("org.apache.kafka.common.security.plain.PlainLoginModule required")
		for _, u := range o.users() {
			jaas.WriteString(fmt.Sprintf(" user_%s=%q", u.Name, u.Password))
		}
		props[listener+"plain.sasl.jaas.config"] = jaas.String() + ";"
		for _, m := range mechanisms()[1:] {
			props[listener+strings.ToLower(m)+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		}
	}
	if o.Security.tls() {
		props[listener+"ssl.keystore.type"] = "PEM"
		props[listener+"ssl.keystore.location"] = certs.server
		props[listener+"ssl.truststore.type"] = "PEM"
		props[listener+"ssl.truststore.location"] = certs.CA
		props[listener+"ssl.client.auth"] = "none"
	}
	if o.Security == SSL {
		props[listener+"ssl.client.auth"] = "required"
	}
	if o.Authorizer {
		props["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
		// Brokers and controllers talk over plaintext listeners of their own,
		// where they are anonymous. Clients cannot be: their listener
		// authenticates.
		props["super.users"] = "User:" + adminName + ";User:CN=" + adminName + ";User:ANONYMOUS"
		props["allow.everyone.if.no.acl.found"] = "false"
	}
	return props
}

// scramArgs makes the storage tool write the SCRAM users into the first
// metadata records, so that they exist before the first client connects.
func scramArgs(o RealOptions) []string {
	if !o.Security.sasl() {
		return nil
	}
	var args []string
	for _, u := range o.users() {
		for _, m := range mechanisms()[1:] {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", m, u.Name, u.Password))
		}
	}
	return args
}

// TLS is the client side configuration for the cluster, with the client
// certificate of "admin"; nil where the cluster has no TLS.
func (r *Real) TLS() *tls.Config {
	if r.certs == nil {
		return nil
	}
	return r.certs.config.Clone()
}

// Certificates are the PEM files of the cluster; nil where it has no TLS.
func (r *Real) Certificates() *Certificates { return r.certs }

// ClientOpts are the options with which a kgo client reaches the cluster as
// Admin.
func (r *Real) ClientOpts() []kgo.Opt { return r.ClientOptsAs(Admin(), "SCRAM-SHA-512") }

// ClientOptsAs are the options of a client that logs in as u by mechanism
// (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512). Clusters without SASL ignore both.
func (r *Real) ClientOptsAs(u User, mechanism string) []kgo.Opt {
	opts := clientOpts(r.Bootstrap())
	if r.opts.Security.tls() {
		opts = append(opts, kgo.DialTLSConfig(r.TLS()))
	}
	if !r.opts.Security.sasl() {
		return opts
	}
	switch mechanism {
	case "PLAIN":
		opts = append(opts, kgo.SASL(plain.Auth{User: u.Name, Pass: u.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: u.Name, Pass: u.Password}.AsSha256Mechanism()))
	default:
		opts = append(opts, kgo.SASL(scram.Auth{User: u.Name, Pass: u.Password}.AsSha512Mechanism()))
	}
	return opts
}

// JavaProps are the properties with which a Java client reaches the cluster as
// Admin, bootstrap.servers included.
func (r *Real) JavaProps() map[string]string {
	props := map[string]string{
		"bootstrap.servers": strings.Join(r.Bootstrap(), ","),
		"security.protocol": r.opts.Security.protocol(),
	}
	if r.opts.Security.sasl() {
		props["sasl.mechanism"] = "SCRAM-SHA-256"
		props["sasl.jaas.config"] = fmt.Sprintf(
			"org.apache.kafka.common.security.scram.ScramLoginModule required username=%q password=%q;",
			Admin().Name, Admin().Password)
	}
	if r.opts.Security.tls() {
		props["ssl.truststore.type"] = "PEM"
		props["ssl.truststore.location"] = r.certs.CA
		props["ssl.keystore.type"] = "PEM"
		props["ssl.keystore.location"] = r.certs.client
	}
	return props
}

// KcatProps are the librdkafka properties with which kcat reaches the cluster
// as Admin, for its -X option.
func (r *Real) KcatProps() map[string]string {
	props := map[string]string{
		"bootstrap.servers": strings.Join(r.Bootstrap(), ","),
		"security.protocol": r.opts.Security.protocol(),
	}
	if r.opts.Security.sasl() {
		props["sasl.mechanism"] = "PLAIN"
		props["sasl.username"] = Admin().Name
		props["sasl.password"] = Admin().Password
	}
	if r.opts.Security.tls() {
		props["ssl.ca.location"] = r.certs.CA
		props["ssl.certificate.location"] = r.certs.ClientCert
		props["ssl.key.location"] = r.certs.ClientKey
	}
	return props
}
