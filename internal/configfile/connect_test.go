package configfile_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/config/security"
	"tidemark/internal/kafka"
)

// authority is a certificate authority for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newKey(t)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, encode("CERTIFICATE", der)}
}

// issue makes a certificate for a host name, with its key, in PEM form.
func (a authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private := newKey(t)
	template := x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// handshake runs a TLS handshake between the client settings and a server that demands a client certificate of the
// authority, and returns the client's error.
func handshake(t *testing.T, ca authority, serverCert tls.Certificate, client *tls.Config, name string) error {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{serverCert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	var server errgroup.Group
	server.Go(func() error {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("x"))
		return err
	})
	client = client.Clone()
	client.ServerName = name
	conn, clientErr := tls.Dial("tcp", listener.Addr().String(), client)
	if clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1))
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil && clientErr == nil {
		t.Errorf("server: %v", err)
	}
	return clientErr
}

// TestTLS checks by real handshakes that PEM files of both kinds of file are used, that the server's name is checked
// unless switched off, and that its authority always is.
func TestTLS(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	serverCert, err := tls.X509KeyPair(ca.issue(t, "kafka.test"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key := ca.issue(t, "client.test")
	write(t, dir, "ca.pem", ca.pem)
	write(t, dir, "stranger.pem", stranger.pem)
	write(t, dir, "client.pem", cert)
	write(t, dir, "client.key", key)
	write(t, dir, "both.pem", append(bytes.Clone(key), cert...))

	const tail = "\n  B: {bootstrap: \"b:1\"}\nflows: [{from: A, to: B}]"
	yml := func(caFile, more string) string {
		return "clusters:\n  A: {bootstrap: \"a:1\", security: {protocol: SSL, ca: " + caFile + ", cert: client.pem, key: client.key" + more + "}}" + tail
	}
	blanks := func(p []byte) string { return strings.ReplaceAll(string(p), "\n", " ") }
	const props = "clusters=A,B\nbootstrap.servers=x:1\nA->B.enabled=true\nA.security.protocol=SSL\n"
	for _, tc := range []struct {
		name, file, text, server, problem string
	}{
		{name: "yaml", file: "x.yaml", text: yml("ca.pem", ""), server: "kafka.test"},
		{name: "wrong name", file: "x.yaml", text: yml("ca.pem", ""), server: "other.test", problem: "valid for kafka.test, not other.test"},
		{name: "name not checked", file: "x.yaml", text: yml("ca.pem", ", verify_hostname: false"), server: "other.test"},
		{name: "wrong authority", file: "x.yaml", text: yml("stranger.pem", ""), server: "kafka.test", problem: "authority"},
		{name: "authority checked without name", file: "x.yaml", text: yml("stranger.pem", ", verify_hostname: false"), server: "kafka.test", problem: "authority"},
		{
			name: "properties, files", file: "x.properties", server: "kafka.test",
			text: props + fmt.Sprintf("ssl.truststore.type=PEM\nssl.truststore.location=%s/ca.pem\nssl.keystore.type=PEM\nssl.keystore.location=%s/both.pem\n", dir, dir),
		},
		{
			name: "properties, inline", file: "x.properties", server: "kafka.test",
			text: props + "ssl.truststore.certificates=" + blanks(ca.pem) + "\nssl.keystore.certificate.chain=" + blanks(cert) +
				"\nssl.keystore.key=" + blanks(key) + "\nssl.endpoint.identification.algorithm=https\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster, err := parse(t, filepath.Join(dir, tc.file), tc.text).Clusters["A"].Kafka()
			if err != nil {
				t.Fatal(err)
			}
			err = handshake(t, ca, serverCert, cluster.TLS, tc.server)
			switch {
			case tc.problem == "" && err != nil:
				t.Error(err)
			case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
				t.Errorf("got %v, want an error with %q", err, tc.problem)
			}
		})
	}
}

func TestPasswordSources(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "secret", []byte("from file \r\n"))
	write(t, dir, "none", []byte("\n"))
	write(t, dir, "inside", []byte("  a b \n\n"))
	t.Setenv("TIDEMARK_TEST_PASSWORD", "from $env")
	t.Setenv("TIDEMARK_TEST_BLANK", " \t")
	for _, tc := range []struct{ keys, want, problem string }{
		{keys: "password: inline", want: "inline"},
		{keys: "password_file: secret", want: "from file "},
		{keys: "password_env: TIDEMARK_TEST_PASSWORD", want: "from $env"},
		{keys: "password_file: inside", want: "  a b \n"},
		{keys: "password_file: none", problem: "none is empty, or holds nothing but white space; write the password into it"},
		{keys: "password_env: TIDEMARK_TEST_BLANK", problem: "environment variable TIDEMARK_TEST_BLANK holds nothing but white space; set it to the password"},
		{keys: "password_file: missing", problem: "no such file"},
		{keys: "password_env: TIDEMARK_TEST_NOT_SET", problem: "TIDEMARK_TEST_NOT_SET is not set"},
	} {
		c := parse(t, filepath.Join(dir, "x.yaml"), "clusters:\n  A: {bootstrap: \"a:1\", client_id: me, security: {protocol: SASL_PLAINTEXT, mechanism: SCRAM-SHA-256, username: u, "+
			tc.keys+"}}\n  B: {bootstrap: \"b:1\"}\nflows: [{from: A, to: B}]")
		got, err := c.Clusters["A"].Kafka()
		if tc.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tc.problem) || !strings.Contains(err.Error(), "cluster A") {
				t.Errorf("%s: got %v, want an error about cluster A with %q", tc.keys, err, tc.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.keys, err)
			continue
		}
		want := kafka.SASL{Mechanism: security.MechanismScram256, User: "u", Password: kafka.Secret(tc.want)}
		if *got.SASL != want || got.Alias != "A" || got.ClientID != "me" || len(got.Bootstrap) != 1 || got.TLS != nil {
			t.Errorf("%s: got %+v with password %q", tc.keys, got, got.SASL.Password.Reveal())
		}
	}
}

// TestBrokenPEM checks that every file that cannot be used is named, with its cluster.
func TestBrokenPEM(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "client.test")
	_, otherKey := ca.issue(t, "client.test")
	dir := t.TempDir()
	write(t, dir, "cert", cert)
	write(t, dir, "key", key)
	write(t, dir, "other", otherKey)
	write(t, dir, "text", []byte("hunter2"))
	write(t, dir, "locked", []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	for _, tc := range []struct{ keys, problem string }{
		{"ca: missing", "missing: no such file"},
		{"ca: text", "neither a PEM file"},
		{"cert: missing, key: key", "missing: no such file"},
		{"cert: cert, key: missing", "missing: no such file"},
		{"cert: cert, key: other", "does not match"},
		{"cert: cert, key: text", "client certificate"},
		{"cert: cert, key: locked", "no password is given"},
	} {
		c := parse(t, filepath.Join(dir, "x.yaml"), "clusters:\n  A: {bootstrap: \"a:1\", security: {protocol: SSL, "+
			tc.keys+"}}\n  B: {bootstrap: \"b:1\"}\nflows: [{from: A, to: B}]")
		_, err := c.Clusters["A"].Kafka()
		if err == nil || !strings.Contains(err.Error(), tc.problem) || !strings.Contains(err.Error(), "cluster A") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error about cluster A with %q", tc.keys, err, tc.problem)
		}
	}
}
