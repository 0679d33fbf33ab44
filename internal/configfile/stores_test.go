package configfile_test

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"

	"tidemark/internal/config/security"
)

// jksStore writes a JKS store with an authority, and with the keys under the aliases.
func jksStore(t *testing.T, path, password string, ca authority, aliases ...string) {
	t.Helper()
	store := keystore.New()
	for _, alias := range aliases {
		certText, _ := ca.issue(t, alias)
		pkcs8, err := x509.MarshalPKCS8PrivateKey(newKey(t))
		if err != nil {
			t.Fatal(err)
		}
		entry := keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: pkcs8, CertificateChain: []keystore.Certificate{{Type: "X509", Content: certText}}}
		if err := store.SetPrivateKeyEntry(alias, entry, []byte(password)); err != nil {
			t.Fatal(err)
		}
	}
	entry := keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: ca.cert.Raw}}
	if err := store.SetTrustedCertificateEntry("ca", entry); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := store.Store(&out, []byte(password)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStoreProblems: what is wrong with a store is said with the line and the key to change, and with the store's file.
func TestStoreProblems(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t)
	jksStore(t, filepath.Join(dir, "none.jks"), "hunter2", ca)
	jksStore(t, filepath.Join(dir, "two.jks"), "hunter2", ca, "one", "two")
	const yamlTail = "}}\n  B: {bootstrap: \"b:1\"}\nflows: [{from: A, to: B}]"
	const props = "clusters=A,B\nbootstrap.servers=x:1\nA->B.enabled=true\nA.security.protocol=SSL\n"
	for _, c := range []struct{ file, text, says string }{
		{"x.properties", "A.ssl.truststore.location=DIR/none.jks\nA.ssl.truststore.password=hunter3\n", "x.properties:6: A.ssl.truststore.password: trust store DIR/none.jks: the password does not open the store"},
		{"x.properties", "A.ssl.truststore.location=DIR/missing.jks\n", "x.properties:5: A.ssl.truststore.location: DIR/missing.jks: no such file"},
		{"x.properties", "A.ssl.keystore.location=DIR/none.jks\nA.ssl.keystore.password=hunter2\n", "x.properties:5: A.ssl.keystore.location: key store DIR/none.jks: no private key entry"},
		{"x.properties", "ssl.keystore.password=hunter2\nssl.keystore.location=DIR/two.jks\n", "x.properties:6: ssl.keystore.location: key store DIR/two.jks: several private key entries in it: one, two"},
		{"x.properties", "A.ssl.keystore.location=DIR/two.jks\n", "x.properties:5: A.ssl.keystore.location: key store DIR/two.jks: the password does not open the store"},
		{"x.yaml", "ca: none.jks, ca_password: hunter3", "x.yaml:2: clusters.A.security.ca_password: trust store DIR/none.jks: the password"},
		{"x.yaml", "ca: none.jks, ca_password_env: TIDEMARK_TEST_NOT_SET", "x.yaml:2: clusters.A.security.ca_password_env: environment variable TIDEMARK_TEST_NOT_SET"},
		{"x.yaml", "keystore: missing.jks", "x.yaml:2: clusters.A.security.keystore: DIR/missing.jks: no such file"},
		{"x.yaml", "keystore: none.jks, keystore_password: hunter2", "x.yaml:2: clusters.A.security.keystore: key store DIR/none.jks: no private key entry"},
	} {
		text := props + strings.ReplaceAll(c.text, "DIR", dir)
		if strings.HasSuffix(c.file, ".yaml") {
			text = "clusters:\n  A: {bootstrap: \"a:1\", security: {protocol: SSL, " + c.text + yamlTail
		}
		_, err := parse(t, filepath.Join(dir, c.file), text).Clusters["A"].Kafka()
		if err == nil {
			t.Errorf("%s: no error", c.text)
			continue
		}
		got := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator)+"x.", "x.")
		if want := strings.ReplaceAll(c.says, "DIR", dir); !strings.Contains(got, want) || !strings.HasPrefix(got, "cluster A: ") || strings.Contains(got, "hunter") {
			t.Errorf("%s:\ngot  %s\nwant %s", c.text, got, want)
		}
	}
}

// TestKerberosConfiguration: the file by name, then by the C libraries' variable, then by what Java is told.
func TestKerberosConfiguration(t *testing.T) {
	text := func(more string) string {
		return "clusters:\n  A: {bootstrap: \"a:1\", security: {protocol: SASL_SSL, mechanism: GSSAPI, username: u@R, keytab: k" + more + "}}\n  B: {bootstrap: \"b:1\"}\nflows: [{from: A, to: B}]"
	}
	want := func(more, path string) {
		t.Helper()
		c, err := parse(t, "/etc/tidemark/x.yaml", text(more)).Clusters["A"].Kafka()
		if err != nil || c.SASL.Mechanism != security.MechanismKerberos || c.SASL.Kerberos.Config != path || c.SASL.Kerberos.Keytab != "/etc/tidemark/k" {
			t.Errorf("%+v, %v; want configuration %s", c.SASL, err, path)
		}
	}
	t.Setenv("KRB5_CONFIG", "")
	t.Setenv("KAFKA_OPTS", "")
	want("", "/etc/krb5.conf")
	t.Setenv("KAFKA_OPTS", "-Xmx1g -Djava.security.krb5.conf=/opt/krb5.conf -Dx=y")
	want("", "/opt/krb5.conf")
	t.Setenv("KRB5_CONFIG", "/srv/krb5.conf")
	want("", "/srv/krb5.conf")
	want(", krb5_conf: own.conf", "/etc/tidemark/own.conf")
}
