package security

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// Open reads the stores, files and variables that are named, and returns what a connection is secured with. The error holds
// a report.Problem for each that cannot be used, with its place in the configuration, and no secret. renew does the same
// again, see renewal; it is nil where nothing can change.
func (s Security) Open() (conf *tls.Config, login *kafka.SASL, renew func() (*tls.Config, *kafka.SASL, error), err error) {
	if conf, login, err = s.credentials(); err != nil {
		return nil, nil, nil, err
	}
	if s.mayChange() {
		renew = (&renewal{first: s, tls: conf, sasl: login}).next
	}
	return conf, login, renew, nil
}

// mayChange says whether what the security settings name can be another one at the next connection.
func (s Security) mayChange() bool {
	files := slices.Concat(PasswordFields("CAPassword")[1:], PasswordFields("KeystorePassword")[1:], PasswordFields("KeyPassword")[1:],
		PasswordFields("Password")[1:], PasswordFields("TokenCAPassword")[1:], []string{"CAFile", "CertFile", "KeyFile", "KeystoreFile", "TokenCAFile"})
	for _, target := range []any{&s.TLS, &s.SASL} {
		for _, one := range setting.Of("security", target) {
			if slices.Contains(files, one.Field) && !one.Value.IsZero() {
				return true
			}
		}
	}
	return s.Again != nil
}

// credentials are what a connection is secured with; nil for what the protocol has no use for.
func (s Security) credentials() (*tls.Config, *kafka.SASL, error) {
	var conf *tls.Config
	var login *kafka.SASL
	var confErr, loginErr error
	if s.UsesTLS() {
		conf, confErr = s.TLS.config(s.From)
	}
	if s.UsesSASL() {
		login, loginErr = s.SASL.login(s.From)
	}
	return conf, login, errors.Join(confErr, loginErr)
}

// renewal reads files, variables and references again, for each new connection and each login: whoever renews a password or
// a certificate need not restart the mirror. What cannot be read leaves what was there before in use, since files are
// also taken away after the start on purpose.
type renewal struct {
	first Security

	mu   sync.Mutex
	tls  *tls.Config // the last that could be had
	sasl *kafka.SASL
}

func (r *renewal) next() (*tls.Config, *kafka.SASL, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.first
	if s.Again != nil {
		var err error
		if s, err = s.Again(); err != nil {
			return r.tls, r.sasl, err
		}
	}
	if s.SecurityProtocol != r.first.SecurityProtocol || s.SASL.Mechanism != r.first.SASL.Mechanism {
		return r.tls, r.sasl, errors.New("another protocol or mechanism needs a restart")
	}
	conf, login, err := s.credentials()
	if err != nil {
		return r.tls, r.sasl, err
	}
	if login != nil && login.OAuth != nil && login.OAuth.Same(r.sasl.OAuth) {
		login.OAuth = r.sasl.OAuth // connections share its token
	}
	if login != nil && login.AWS != nil && login.AWS.Same(r.sasl.AWS) {
		login.AWS = r.sasl.AWS
	}
	r.tls, r.sasl = conf, login
	return conf, login, nil
}

// login is the mechanism's way to prove who we are.
func (s SASL) login(from report.Origins) (*kafka.SASL, error) {
	out := &kafka.SASL{Mechanism: s.Mechanism, User: s.User}
	password, err := secret(from, "Password", s.Password, s.PasswordFile, s.PasswordEnv)
	if err != nil {
		return nil, err
	}
	switch s.Mechanism {
	case MechanismOAuth:
		out.OAuth, err = s.oauth(from, password)
	case MechanismAWS:
		out.AWS = &kafka.AWS{
			Profile: s.AWSProfile, RoleARN: s.AWSRole, RoleSession: s.AWSRoleSession, ExternalID: s.AWSExternalID, STSRegion: s.AWSSTSRegion,
		}
	case MechanismKerberos:
		out.Kerberos = &kafka.Kerberos{Principal: s.User, Keytab: s.Keytab, ServiceName: s.ServiceName, Config: krb5Conf(s.Krb5Conf)}
	default:
		out.Password = password
	}
	return out, err
}

// oauth is where tokens come from.
func (s SASL) oauth(from report.Origins, secret kafka.Secret) (*kafka.OAuth, error) {
	o := &kafka.OAuth{
		TokenURL: s.TokenURL, ClientID: s.User, ClientSecret: secret, Scope: s.Scope, Encoded: s.TokenEncoded,
		Extensions: map[string]string{},
	}
	for _, pair := range s.Extensions {
		name, value, _ := strings.Cut(pair, "=")
		o.Extensions[name] = value
	}
	if s.TokenCAFile != "" {
		// The same as ca is for brokers, under names of its own.
		here := report.Origins{File: from.File, Fields: map[string]report.At{}}
		for i, field := range append([]string{"CAFile"}, PasswordFields("CAPassword")...) {
			own := append([]string{"TokenCAFile"}, PasswordFields("TokenCAPassword")...)[i]
			if place, ok := from.Fields[own]; ok {
				here.Fields[field] = place
			}
		}
		conf, err := TLS{
			CAFile: s.TokenCAFile, CAPassword: s.TokenCAPassword, CAPasswordFile: s.TokenCAPasswordFile, CAPasswordEnv: s.TokenCAPasswordEnv,
			VerifyHostname: true,
		}.config(here)
		if err != nil {
			return nil, err
		}
		o.TLS = conf
	}
	return o, nil
}

// krb5Conf is where Kerberos is configured: the file that is named, else where the C libraries look, else where Kafka's
// start scripts tell Java to look.
func krb5Conf(named string) string {
	if named != "" {
		return named
	}
	if path := os.Getenv("KRB5_CONFIG"); path != "" {
		return path
	}
	for word := range strings.FieldsSeq(os.Getenv("KAFKA_OPTS")) {
		if path, ok := strings.CutPrefix(word, "-Djava.security.krb5.conf="); ok {
			return path
		}
	}
	return "/etc/krb5.conf"
}

// secret is the value of the one of three fields that is set; empty where none is.
func secret(from report.Origins, field string, inline kafka.Secret, file, env string) (kafka.Secret, error) {
	names := PasswordFields(field)
	switch {
	case file != "":
		data, err := os.ReadFile(file)
		if err != nil {
			return "", from.Problem(readError(err), "name a file that can be read, with the password in it", names[1])
		}
		if Blank(string(data)) {
			return "", from.Problem(fmt.Sprintf("file %s %s", file, IsBlank), WritePassword, names[1])
		}
		return kafka.Secret(strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")), nil
	case env != "":
		text := os.Getenv(env)
		switch {
		case text == "":
			return "", from.Problem(fmt.Sprintf("environment variable %s is not set", env), "set it to the password", names[2])
		case Blank(text):
			return "", from.Problem(fmt.Sprintf("environment variable %s holds nothing but white space", env), "set it to the password", names[2])
		}
		return kafka.Secret(text), nil
	}
	return inline, nil
}

// What is said of a secret that is none.
const (
	IsBlank       = "is empty, or holds nothing but white space"
	WritePassword = "write the password into it"
)

// Blank says whether what a file, a variable or a provider gives is no secret: whoever renews a file can empty it first,
// and a password of blanks alone is refused by every broker. Blanks beside other characters are part of a secret.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// readError words why a file cannot be read; the system's error names the file.
func readError(err error) string { return strings.TrimPrefix(err.Error(), "open ") }
