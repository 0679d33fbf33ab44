package kafka

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// identity is a key with its certificate and the authority that signed it.
type identity struct {
	key      crypto.Signer
	cert, ca *x509.Certificate
	pkcs8    []byte
}

func newIdentity(t testing.TB, name string) identity {
	t.Helper()
	sign := func(subject string, parent *x509.Certificate, signer crypto.Signer, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		noError(t, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(len(subject))), Subject: pkix.Name{CommonName: subject}, IsCA: isCA, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		}
		if parent == nil {
			parent, signer = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		noError(t, err)
		cert, err := x509.ParseCertificate(der)
		noError(t, err)
		return cert, key
	}
	ca, caKey := sign("authority of "+name, nil, nil, true)
	cert, key := sign(name, ca, caKey, false)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	noError(t, err)
	return identity{key: key, cert: cert, ca: ca, pkcs8: pkcs8}
}

const storePass, innerPass = "hunter2", "hunter3"

// jks writes a JKS store with the identities' keys and the authorities.
func jks(t testing.TB, inner string, keys []identity, trusted ...*x509.Certificate) []byte {
	t.Helper()
	store := keystore.New()
	for i, id := range keys {
		noError(t, store.SetPrivateKeyEntry("key"+string(rune('a'+i)), keystore.PrivateKeyEntry{
			CreationTime: time.Now(), PrivateKey: id.pkcs8,
			CertificateChain: []keystore.Certificate{{Type: "X509", Content: id.cert.Raw}, {Type: "X509", Content: id.ca.Raw}},
		}, []byte(inner)))
	}
	for i, c := range trusted {
		noError(t, store.SetTrustedCertificateEntry("ca"+string(rune('a'+i)), keystore.TrustedCertificateEntry{
			CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: c.Raw},
		}))
	}
	var out bytes.Buffer
	noError(t, store.Store(&out, []byte(storePass)))
	return out.Bytes()
}

func p12(t testing.TB, id identity, others ...*x509.Certificate) []byte {
	t.Helper()
	data, err := pkcs12.Modern.Encode(id.key, id.cert, others, storePass)
	noError(t, err)
	return data
}

func blocks(kind string, der ...[]byte) []byte {
	var out []byte
	for _, d := range der {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: d})...)
	}
	return out
}

func TestKeyStores(t *testing.T) {
	me, other := newIdentity(t, "me"), newIdentity(t, "other")
	// The authority first, as keytool's import order may leave it.
	mixed, err := pkcs12.Modern.Encode(me.key, me.ca, []*x509.Certificate{other.ca, me.cert}, storePass)
	noError(t, err)
	trust, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{me.ca}, storePass)
	noError(t, err)
	pemBoth := append(blocks("CERTIFICATE", me.cert.Raw, me.ca.Raw), blocks("PRIVATE KEY", me.pkcs8)...)
	for _, c := range []struct {
		name            string
		data            []byte
		password, inner Secret
		problem         error
		says            string
	}{
		{name: "jks", data: jks(t, storePass, []identity{me}, other.ca), password: storePass},
		{name: "jks, key password", data: jks(t, innerPass, []identity{me}), password: storePass, inner: innerPass},
		{name: "jks, wrong password", data: jks(t, storePass, []identity{me}), password: "x", problem: ErrStorePassword},
		{name: "jks, no password", data: jks(t, storePass, []identity{me}), problem: ErrStorePassword},
		{name: "jks, wrong key password", data: jks(t, innerPass, []identity{me}), password: storePass, problem: ErrKeyPassword, says: "keya"},
		{name: "jks, no key", data: jks(t, "", nil, me.ca), password: storePass, problem: ErrNoKey},
		{name: "jks, two keys", data: jks(t, storePass, []identity{me, other}), password: storePass, problem: ErrSeveralKeys, says: "keya, keyb"},
		{name: "jks, cut off", data: jks(t, storePass, []identity{me})[:200], password: storePass, says: "damaged"},
		{name: "pkcs12", data: p12(t, me, me.ca), password: storePass},
		{name: "pkcs12, same key password", data: p12(t, me, me.ca), password: storePass, inner: storePass},
		{name: "pkcs12, leaf not first", data: mixed, password: storePass},
		{name: "pkcs12, wrong password", data: p12(t, me, me.ca), password: "x", problem: ErrStorePassword},
		{name: "pkcs12, no password", data: p12(t, me, me.ca), problem: ErrStorePassword},
		{name: "pkcs12, no key", data: trust, password: storePass, problem: ErrNoKey},
		{name: "pkcs12, another's certificate", data: p12(t, identity{key: me.key, cert: other.cert}), password: storePass, says: "none of the certificates belongs to the private key"},
		{name: "pem", data: pemBoth},
		{name: "pem, no key", data: blocks("CERTIFICATE", me.cert.Raw), problem: ErrNoKey},
		{name: "pem, two keys", data: append(blocks("PRIVATE KEY", other.pkcs8), pemBoth...), problem: ErrSeveralKeys},
		{name: "jceks", data: []byte{0xCE, 0xCE, 0xCE, 0xCE, 0, 0, 0, 2}, problem: ErrStoreFormat, says: "-deststoretype PKCS12"},
		{name: "text", data: []byte("hunter2"), problem: ErrStoreFormat},
		{name: "empty", problem: ErrStoreFormat},
	} {
		pair, err := KeyStore(c.data, c.password, c.inner)
		if c.problem == nil && c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if len(pair.Certificate) != 2 || !bytes.Equal(pair.Certificate[0], me.cert.Raw) || !bytes.Equal(pair.Certificate[1], me.ca.Raw) {
				t.Errorf("%s: a chain of %d that is not leaf and authority", c.name, len(pair.Certificate))
			}
			continue
		}
		if err == nil || c.problem != nil && !errors.Is(err, c.problem) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.problem, c.says)
		}
	}
}

func TestTrustStores(t *testing.T) {
	me, other := newIdentity(t, "me"), newIdentity(t, "other")
	trust, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{me.ca, other.ca}, storePass)
	noError(t, err)
	open, err := pkcs12.Passwordless.EncodeTrustStore([]*x509.Certificate{me.ca, other.ca}, "")
	noError(t, err)
	two := jks(t, "", nil, me.ca, other.ca)
	for _, c := range []struct {
		name     string
		data     []byte
		password Secret
		problem  error
		says     string
	}{
		{name: "jks", data: two, password: storePass},
		{name: "jks without a password", data: two},
		{name: "jks, wrong password", data: two, password: "x", problem: ErrStorePassword},
		{name: "jks with a key", data: jks(t, storePass, []identity{{pkcs8: me.pkcs8, cert: me.ca, ca: me.ca}}, other.ca), password: storePass},
		{name: "jks, empty", data: jks(t, "", nil), password: storePass, problem: ErrNoTrusted},
		{name: "pkcs12", data: trust, password: storePass},
		{name: "pkcs12 without a password", data: open},
		{name: "pkcs12, wrong password", data: trust, password: "x", problem: ErrStorePassword},
		{name: "pkcs12, no password", data: trust, problem: ErrStorePassword},
		{name: "pkcs12, password too many", data: open, password: "x", problem: ErrStorePassword},
		{name: "pkcs12 key store", data: p12(t, me, me.ca), password: storePass, problem: ErrNoTrusted, says: "key store"},
		{name: "pem", data: blocks("CERTIFICATE", me.ca.Raw, other.ca.Raw)},
		{name: "pem with a key only", data: blocks("PRIVATE KEY", me.pkcs8), problem: ErrNoTrusted},
		{name: "text", data: []byte("hunter2"), problem: ErrStoreFormat},
	} {
		certs, err := TrustStore(c.data, c.password)
		if c.problem != nil {
			if !errors.Is(err, c.problem) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("%s: %v, want %v with %q", c.name, err, c.problem, c.says)
			}
			continue
		}
		if err != nil || len(certs) != 2 {
			t.Errorf("%s: %d certificates, %v", c.name, len(certs), err)
		}
	}
}
