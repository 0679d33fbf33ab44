package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"tidemark/internal/config/report"
	"tidemark/internal/kafka"
)

// config builds the TLS settings. Server names are the dialled host's, which internal/kafka fills in.
func (t TLS) config(from report.Origins) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	roots, rootsErr := t.roots(from)
	conf.RootCAs = roots
	pair, pairErr := t.certificate(from)
	if pair != nil {
		conf.Certificates = []tls.Certificate{*pair}
	}
	if err := errors.Join(rootsErr, pairErr); err != nil {
		return nil, err
	}
	if !t.VerifyHostname {
		verifyChainOnly(conf)
	}
	return conf, nil
}

// roots are the authorities to trust; nil for the system's.
func (t TLS) roots(from report.Origins) (*x509.CertPool, error) {
	data, err := material(from, t.CAFile, t.CA, "CAFile", "CA")
	if data == nil || err != nil {
		return nil, err
	}
	password, err := secret(from, "CAPassword", t.CAPassword, t.CAPasswordFile, t.CAPasswordEnv)
	if err != nil {
		return nil, err
	}
	certs, err := kafka.TrustStore(data, password)
	if err != nil {
		return nil, storeProblem(from, "trust store", from.Named(t.CAFile, "CAFile"), err, "CAPassword", "CAFile", "CA")
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// certificate is the client's own; nil where there is none.
func (t TLS) certificate(from report.Origins) (*tls.Certificate, error) {
	keyPassword, err := secret(from, "KeyPassword", t.KeyPassword, t.KeyPasswordFile, t.KeyPasswordEnv)
	if err != nil {
		return nil, err
	}
	store, err := material(from, t.KeystoreFile, "", "KeystoreFile")
	if err != nil {
		return nil, err
	}
	if store != nil {
		password, err := secret(from, "KeystorePassword", t.KeystorePassword, t.KeystorePasswordFile, t.KeystorePasswordEnv)
		if err != nil {
			return nil, err
		}
		pair, err := kafka.KeyStore(store, password, keyPassword)
		if err != nil {
			return nil, storeProblem(from, "key store", from.Named(t.KeystoreFile, "KeystoreFile"), err, "KeystorePassword", "KeystoreFile")
		}
		return &pair, nil
	}
	cert, certErr := material(from, t.CertFile, t.Cert, "CertFile", "Cert")
	key, keyErr := material(from, t.KeyFile, t.Key.Reveal(), "KeyFile", "Key")
	if err := errors.Join(certErr, keyErr); err != nil || cert == nil && key == nil {
		return nil, err
	}
	pair, err := kafka.PEMKeyPair(cert, key, keyPassword)
	if err != nil {
		return nil, storeProblem(from, "client certificate "+origin(from.Named(t.CertFile, "CertFile"))+" with private key", from.Named(t.KeyFile, "KeyFile"), err, "KeyPassword", "KeyFile", "Key")
	}
	return &pair, nil
}

// storeProblem says what is wrong with a store and what to do. It stands at the password if that is what is wrong, and
// given.
func storeProblem(from report.Origins, what, file string, err error, password string, fields ...string) report.Problem {
	do := "name a PEM file, or a PKCS12 or JKS store as keytool makes it"
	at := fields
	switch {
	case errors.Is(err, kafka.ErrStorePassword):
		do = "give the store's password, which keytool -list asks for"
		at = append(PasswordFields(password), fields...)
	case errors.Is(err, kafka.ErrKeyPassword):
		do = "give the key's own password"
		at = append(PasswordFields("KeyPassword"), fields...)
	case errors.Is(err, kafka.ErrNoKey):
		do = "name a store with one private key and its certificates"
	case errors.Is(err, kafka.ErrSeveralKeys):
		do = "keep one of them in the store: keytool -delete -alias ALIAS"
	case errors.Is(err, kafka.ErrNoTrusted):
		do = "import the authority: keytool -importcert -alias ca -file ca.pem"
	}
	return from.Problem(what+" "+origin(file)+": "+err.Error(), do, at...)
}

// verifyChainOnly checks that a trusted authority signed the server's certificate, and not for which name. Go has no
// switch for this: InsecureSkipVerify switches off both, so the chain is checked here.
func verifyChainOnly(conf *tls.Config) {
	roots := conf.RootCAs
	conf.InsecureSkipVerify = true
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			opts.Intermediates.AddCert(cert)
		}
		_, err := state.PeerCertificates[0].Verify(opts)
		return err
	}
}

// material is what a file or the configuration itself holds; nil where neither is given.
func material(from report.Origins, file, inline string, fields ...string) ([]byte, error) {
	if file == "" {
		if inline == "" {
			return nil, nil
		}
		return []byte(inline), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		what := readError(err)
		if cause, ok := errors.AsType[*os.PathError](err); ok && from.Named(file, fields[0]) != file {
			what = from.Named(file, fields[0]) + ": " + cause.Err.Error()
		}
		return nil, from.Problem(what, "name a file that can be read", fields...)
	}
	return data, nil
}

func origin(file string) string {
	if file == "" {
		return "in the configuration"
	}
	return file
}
