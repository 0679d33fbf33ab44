//go:build unix

package testcluster

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates are the PEM files of one cluster's own certificate authority.
// The names resolve to 127.0.0.1 and localhost. Keys are PKCS #8, the only
// form that Kafka's PEM key stores read (KIP-651).
type Certificates struct {
	CA         string // certificate of the authority
	ClientCert string // certificate of the client "admin", with subject CN=admin
	ClientKey  string
	server     string // key and certificate of the brokers in one file, as Kafka wants it
	client     string // the same for the client, for Java

	config *tls.Config
	ca     *issued
}

// Sign answers a certificate request in PEM form, such as keytool -certreq makes, with a certificate of the cluster's
// authority, in PEM form too. The subject is the request's.
func (c *Certificates) Sign(request []byte) ([]byte, error) {
	block, _ := pem.Decode(request)
	if block == nil {
		return nil, errors.New("no certificate request in PEM form")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse certificate request: %w", err)
	}
	t := certificateTemplate("", false)
	t.RawSubject = csr.RawSubject
	if t.SerialNumber, err = serialNumber(); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, c.ca.cert, csr.PublicKey, c.ca.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// newCertificates writes a fresh authority with one broker and one client
// certificate into dir. The brokers' names are 127.0.0.1 and localhost, or only
// name where that is given.
func newCertificates(dir, name string) (*Certificates, error) {
	c := &Certificates{
		CA:         filepath.Join(dir, "ca.pem"),
		ClientCert: filepath.Join(dir, "client-cert.pem"),
		ClientKey:  filepath.Join(dir, "client-key.pem"),
		server:     filepath.Join(dir, "broker.pem"),
		client:     filepath.Join(dir, "client.pem"),
	}
	ca, err := issue(nil, certificateTemplate("tidemark test authority", true))
	if err != nil {
		return nil, err
	}
	c.ca = ca
	template := certificateTemplate("broker", false)
	if name != "" {
		template.DNSNames, template.IPAddresses = []string{name}, nil
	}
	broker, err := issue(ca, template)
	if err != nil {
		return nil, err
	}
	client, err := issue(ca, certificateTemplate(adminName, false))
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		path string
		text []byte
	}{
		{c.CA, ca.certPEM},
		{c.ClientCert, client.certPEM},
		{c.ClientKey, client.keyPEM},
		{c.server, bytes.Join([][]byte{broker.keyPEM, broker.certPEM}, nil)},
		{c.client, bytes.Join([][]byte{client.keyPEM, client.certPEM}, nil)},
	} {
		if err := os.WriteFile(f.path, f.text, 0o600); err != nil {
			return nil, fmt.Errorf("write certificate: %w", err)
		}
	}
	pair, err := tls.X509KeyPair(client.certPEM, client.keyPEM)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	c.config = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, ServerName: name}
	return c, nil
}

// issued is a certificate with its key, parsed and as PEM.
type issued struct {
	cert            *x509.Certificate
	key             crypto.Signer
	certPEM, keyPEM []byte
}

func certificateTemplate(name string, authority bool) *x509.Certificate {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(48 * time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  authority,
	}
	if authority {
		t.KeyUsage = x509.KeyUsageCertSign
		return t
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	return t
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	return serial, nil
}

// issue signs t by ca, or by itself where ca is nil.
func issue(ca *issued, t *x509.Certificate) (*issued, error) {
	var err error
	if t.SerialNumber, err = serialNumber(); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	parent, signer := t, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", t.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse own certificate: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return &issued{
		cert:    cert,
		key:     key,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, nil
}
