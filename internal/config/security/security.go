package security

import (
	"net/url"
	"slices"
	"strings"

	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// Values of Security.SecurityProtocol.
const (
	ProtocolPlaintext     = "PLAINTEXT"
	ProtocolSSL           = "SSL"
	ProtocolSASLPlaintext = "SASL_PLAINTEXT"
	ProtocolSASLSSL       = "SASL_SSL"
)

// Security is how a client proves who it is, and whom it trusts.
type Security struct {
	SecurityProtocol string `security:"protocol" choice:"PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL" fold:"upper"`
	TLS              TLS    // meaningful with SSL and SASL_SSL only
	SASL             SASL   // meaningful with SASL_PLAINTEXT and SASL_SSL only

	From  report.Origins           `json:"-" yaml:"-"` // the places of these and the client's other settings
	Again func() (Security, error) `json:"-" yaml:"-"` // looks up anew what it refers to; nil where it refers to nothing
}

// UsesTLS says whether connections are encrypted.
func (s Security) UsesTLS() bool {
	return s.SecurityProtocol == ProtocolSSL || s.SecurityProtocol == ProtocolSASLSSL
}

// UsesSASL says whether there is a login.
func (s Security) UsesSASL() bool {
	return s.SecurityProtocol == ProtocolSASLPlaintext || s.SecurityProtocol == ProtocolSASLSSL
}

// TLS names the material of a secured connection. Files are PEM, PKCS12 or JKS: their content says which. Of each pair
// (file, inline) at most one is set; an empty CA means the system's roots. The client's certificate is one store
// (KeystoreFile) or a pair of PEM texts (Cert and Key), or neither.
type TLS struct {
	CAFile               string `security:"ca" kind:"path"` // authorities to trust
	CA                   string
	CAPassword           kafka.Secret `security:"ca_password"` // of a PKCS12 or JKS store; of each password at most one of three is set
	CAPasswordFile       string       `security:"ca_password_file" kind:"path"`
	CAPasswordEnv        string       `security:"ca_password_env"`
	CertFile             string       `security:"cert" kind:"path"` // client certificate chain, PEM
	Cert                 string
	KeyFile              string `security:"key" kind:"path"` // client private key, PEM
	Key                  kafka.Secret
	KeystoreFile         string       `security:"keystore" kind:"path"` // private key and chain in one file
	KeystorePassword     kafka.Secret `security:"keystore_password"`
	KeystorePasswordFile string       `security:"keystore_password_file" kind:"path"`
	KeystorePasswordEnv  string       `security:"keystore_password_env"`
	KeyPassword          kafka.Secret `security:"key_password"` // of an encrypted PEM key, or of a JKS store's key; default the store's
	KeyPasswordFile      string       `security:"key_password_file" kind:"path"`
	KeyPasswordEnv       string       `security:"key_password_env"`
	VerifyHostname       bool         `security:"verify_hostname"` // default true: the server's name must be in its certificate
}

// SASL is how a client proves who it is. Which fields are set depends on Mechanism, see UsedBy. Of Password,
// PasswordFile and PasswordEnv at most one is set.
type SASL struct {
	Mechanism    string       `security:"mechanism" choice:"PLAIN SCRAM-SHA-256 SCRAM-SHA-512 OAUTHBEARER AWS_MSK_IAM GSSAPI"`
	User         string       `security:"username"`                  // the client id with OAUTHBEARER, the principal with GSSAPI
	Password     kafka.Secret `security:"password"`                  // the client secret with OAUTHBEARER
	PasswordFile string       `security:"password_file" kind:"path"` // one trailing line end is removed
	PasswordEnv  string       `security:"password_env"`              // an environment variable's name

	TokenURL            string       `security:"token_url"` // of the client credentials grant; or file: and a path, for a token that others renew
	TokenCAFile         string       `security:"token_ca" kind:"path"`
	TokenCAPassword     kafka.Secret `security:"token_ca_password"`
	TokenCAPasswordFile string       `security:"token_ca_password_file" kind:"path"`
	TokenCAPasswordEnv  string       `security:"token_ca_password_env"`
	TokenEncoded        bool         `security:"token_urlencode"` // client id and secret are URL-encoded in the request's header, as RFC 6749 wants and Java does not
	Scope               string       `security:"scope"`
	Extensions          []string     `security:"extensions" kind:"pairs"` // name=value

	AWSProfile     string `security:"aws_profile"` // of the shared configuration; empty: what the environment says
	AWSRole        string `security:"aws_role"`    // to assume; empty: none
	AWSRoleSession string `security:"aws_role_session"`
	AWSExternalID  string `security:"aws_external_id"`
	AWSSTSRegion   string `security:"aws_sts_region"`

	Keytab      string `security:"keytab" kind:"path"`
	ServiceName string `security:"service_name"` // of the brokers' principals; empty: kafka
	Krb5Conf    string `security:"krb5_conf" kind:"path"`
}

// Values of SASL.Mechanism.
const (
	MechanismPlain    = "PLAIN"
	MechanismScram256 = "SCRAM-SHA-256"
	MechanismScram512 = "SCRAM-SHA-512"
	MechanismOAuth    = "OAUTHBEARER"
	MechanismAWS      = "AWS_MSK_IAM"
	MechanismKerberos = "GSSAPI"
)

// Mechanisms are all of them.
func Mechanisms() []string {
	return []string{MechanismPlain, MechanismScram256, MechanismScram512, MechanismOAuth, MechanismAWS, MechanismKerberos}
}

// PasswordFields are the three ways to give a password, by the field of the first.
func PasswordFields(field string) []string { return []string{field, field + "File", field + "Env"} }

// UsedBy are the fields of SASL that have an effect with a mechanism, beside Mechanism itself.
func UsedBy(mechanism string) []string {
	password := PasswordFields("Password")
	switch mechanism {
	case MechanismOAuth:
		return slices.Concat([]string{"User"}, password, PasswordFields("TokenCAPassword"), []string{"TokenURL", "TokenCAFile", "TokenEncoded", "Scope", "Extensions"})
	case MechanismAWS:
		return []string{"AWSProfile", "AWSRole", "AWSRoleSession", "AWSExternalID", "AWSSTSRegion"}
	case MechanismKerberos:
		return []string{"User", "Keytab", "ServiceName", "Krb5Conf"}
	}
	return slices.Concat([]string{"User"}, password)
}

// FieldsOf are the names of a struct's fields that a key of the security mapping sets.
func FieldsOf(target any) []string {
	var out []string
	for _, s := range setting.Of("security", target) {
		out = append(out, s.Field)
	}
	slices.Sort(out)
	return out
}

// TokenURL is what is wrong with the address of a token endpoint.
func TokenURL(text string) *report.Fault {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return report.Wrong("is no URL", "write https://host/path")
	case u.User != nil:
		return report.Wrong("has a user in it", "give client id and secret by their own keys")
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	case u.Scheme == "file" && strings.HasPrefix(u.Path, "/"):
		return nil
	}
	return report.Wrong("is no URL of a token", "write https://host/path, or file:///path of a token that is renewed there")
}

// FileURL says whether a token is read from a file.
func FileURL(text string) bool { return strings.HasPrefix(text, "file:") }
