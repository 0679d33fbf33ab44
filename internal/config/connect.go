package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"tidemark/internal/kafka"
)

// Kafka reads the PEM files and the password that the cluster names, and returns what internal/kafka connects with.
// The error names every file or variable that cannot be used, with the cluster's alias, and no secret.
func (c Cluster) Kafka() (kafka.Cluster, error) {
	out := kafka.Cluster{Alias: c.Alias, Bootstrap: c.Bootstrap, ClientID: c.ClientID}
	var problems []error
	if c.usesTLS() {
		conf, err := c.TLS.config()
		problems = append(problems, err)
		out.TLS = conf
	}
	if c.usesSASL() {
		password, err := c.SASL.password()
		problems = append(problems, err)
		out.SASL = &kafka.SASL{Mechanism: c.SASL.Mechanism, User: c.SASL.User, Password: password}
	}
	if err := errors.Join(problems...); err != nil {
		return kafka.Cluster{}, fmt.Errorf("cluster %s: %w", c.Alias, err)
	}
	return out, nil
}

// password is the one of the three that is set.
func (s SASL) password() (Secret, error) {
	switch {
	case s.PasswordFile != "":
		data, err := os.ReadFile(s.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("read password_file: %w", err)
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
		if text == "" {
			return "", fmt.Errorf("password_file %s is empty", s.PasswordFile)
		}
		return Secret(text), nil
	case s.PasswordEnv != "":
		text := os.Getenv(s.PasswordEnv)
		if text == "" {
			return "", fmt.Errorf("password_env: environment variable %s is not set", s.PasswordEnv)
		}
		return Secret(text), nil
	}
	return s.Password, nil
}

// config builds the TLS settings. Server names are the dialled host's, which internal/kafka fills in.
func (t TLS) config() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	ca, err := material("certificate authority", t.CAFile, t.CA)
	if err != nil {
		return nil, err
	}
	if ca != nil {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("certificate authority %s: no certificate in PEM form in it", origin(t.CAFile))
		}
	}
	cert, err := material("client certificate", t.CertFile, t.Cert)
	if err != nil {
		return nil, err
	}
	key, err := material("private key", t.KeyFile, t.Key.Reveal())
	if err != nil {
		return nil, err
	}
	if cert != nil || key != nil {
		pair, err := keyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s with private key %s: %w", origin(t.CertFile), origin(t.KeyFile), err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if !t.VerifyHostname {
		verifyChainOnly(conf)
	}
	return conf, nil
}

func keyPair(cert, key []byte) (tls.Certificate, error) {
	if strings.Contains(string(key), "ENCRYPTED") {
		return tls.Certificate{}, errors.New("the key is encrypted; decrypt it: openssl pkey -in key.pem -out plain.pem")
	}
	// Its errors name kinds of PEM blocks, never their content.
	return tls.X509KeyPair(cert, key)
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

// material is the PEM text, from the file or the configuration itself; nil where neither is given.
func material(what, file, inline string) ([]byte, error) {
	if file == "" {
		if inline == "" {
			return nil, nil
		}
		return []byte(inline), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return data, nil
}

func origin(file string) string {
	if file == "" {
		return "in the configuration"
	}
	return file
}
