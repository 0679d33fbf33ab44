package kafka

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
	pkcs12 "software.sslmate.com/src/go-pkcs12"

	"tidemark/internal/fuzzing"
)

// lockedKey is a private key as openssl pkcs8 -topk8 -v2 aes256 writes it, without its PEM frame.
func lockedKey(t testing.TB, pkcs8 []byte, password string, iterations int) []byte {
	t.Helper()
	marshal := func(v any) []byte {
		der, err := asn1.Marshal(v)
		noError(t, err)
		return der
	}
	algorithm := func(id asn1.ObjectIdentifier, params any) pkix.AlgorithmIdentifier {
		return pkix.AlgorithmIdentifier{Algorithm: id, Parameters: asn1.RawValue{FullBytes: marshal(params)}}
	}
	salt, iv := []byte("salt of eight and"), []byte("sixteen bytes iv")
	key, err := pbkdf2.Key(sha256.New, password, salt, min(iterations, 1000), 32)
	noError(t, err)
	block, err := aes.NewCipher(key)
	noError(t, err)
	pad := aes.BlockSize - len(pkcs8)%aes.BlockSize
	data := append(bytes.Clone(pkcs8), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
	kdf := pbkdf2Params{Salt: salt, Iterations: iterations, PRF: algorithm(asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9}, asn1.NullRawValue)}
	return marshal(encryptedKey{Data: data, Algorithm: algorithm(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}, pbes2{
		KDF:    algorithm(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}, kdf),
		Cipher: algorithm(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}, iv),
	})})
}

// FuzzStores: no bytes make the readers panic, work for hours or take gigabytes; what opens is whole, and no error shows
// a password.
func FuzzStores(f *testing.F) {
	me, other := newIdentity(f, "me"), newIdentity(f, "other")
	quick := pkcs12.Modern.WithIterations(1)
	store, err := quick.Encode(me.key, me.cert, []*x509.Certificate{me.ca}, storePass)
	noError(f, err)
	trust, err := quick.EncodeTrustStore([]*x509.Certificate{me.ca, other.ca}, storePass)
	noError(f, err)
	open, err := pkcs12.Passwordless.EncodeTrustStore([]*x509.Certificate{me.ca}, "")
	noError(f, err)
	slow, err := pkcs12.Modern.WithIterations(2048).EncodeTrustStore([]*x509.Certificate{me.ca}, storePass)
	noError(f, err)
	// 2048 is 08 00 after its tag and length: of the MAC, and of the encryption.
	slow = bytes.ReplaceAll(slow, []byte{2, 2, 8, 0}, []byte{2, 2, 0x7f, 0xff})
	chain := blocks("CERTIFICATE", me.cert.Raw, me.ca.Raw)
	for _, seed := range [][]byte{
		store, trust, open, slow,
		jks(f, storePass, []identity{me}, other.ca), jks(f, innerPass, []identity{me}), jks(f, "", nil, me.ca, other.ca),
		append(blocks("PRIVATE KEY", me.pkcs8), chain...),
		append(blocks("ENCRYPTED PRIVATE KEY", lockedKey(f, me.pkcs8, innerPass, 2)), chain...),
	} {
		for _, cut := range fuzzing.Cuts(seed) {
			f.Add(cut)
		}
	}
	f.Add(append(blocks("ENCRYPTED PRIVATE KEY", lockedKey(f, me.pkcs8, innerPass, math.MaxInt32)), chain...))
	f.Add(slowStore(f, math.MaxInt64))
	f.Add([]byte{0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0x7f, 0xff, 0xff, 0xff})
	f.Add([]byte{0x30, 0x03, 0x02, 0x01, 0x03})
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Within(t, 4<<20+100*len(data), func() {
			pair, err := KeyStore(data, storePass, innerPass)
			if err == nil && (pair.PrivateKey == nil || len(pair.Certificate) == 0) {
				t.Error("half a key pair")
			}
			certs, trustErr := TrustStore(data, storePass)
			if trustErr == nil && len(certs) == 0 {
				t.Error("nothing is trusted")
			}
			if text := fmt.Sprint(err, trustErr); strings.Contains(text, storePass) || strings.Contains(text, innerPass) {
				t.Errorf("a password shows: %s", text)
			}
		})
	})
}

// An encrypted key comes out as it went in; one that asks for hours of work is refused at once.
func TestEncryptedKey(t *testing.T) {
	me := newIdentity(t, "me")
	got, err := decryptPKCS8(lockedKey(t, me.pkcs8, innerPass, 1000), innerPass)
	noError(t, err)
	if !bytes.Equal(got, me.pkcs8) {
		t.Error("another key comes out")
	}
	if _, err := decryptPKCS8(lockedKey(t, me.pkcs8, innerPass, math.MaxInt32), innerPass); err == nil {
		t.Error("two billion rounds are made")
	}
}

// slowStore is the frame of a PKCS #12 store, whose checksum asks for that many rounds of work.
func slowStore(t testing.TB, rounds int) []byte {
	t.Helper()
	type content struct {
		Type asn1.ObjectIdentifier
		Data []byte `asn1:"tag:0,explicit"`
	}
	type digest struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}
	type mac struct {
		Digest     digest
		Salt       []byte
		Iterations int
	}
	sha := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}, Parameters: asn1.NullRawValue}
	der, err := asn1.Marshal(struct {
		Version int
		Safe    content
		MAC     mac
	}{3, content{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}, []byte{0x30, 0}}, mac{digest{sha, make([]byte, 32)}, []byte("saltsalt"), rounds}})
	noError(t, err)
	return der
}

// TestStoreThatAsksForHours: reading it must not be tried.
func TestStoreThatAsksForHours(t *testing.T) {
	if _, err := KeyStore(slowStore(t, 100), storePass, ""); !errors.Is(err, ErrStorePassword) {
		t.Errorf("100 rounds: %v", err)
	}
	slow := slowStore(t, maxIterations+1)
	for what, open := range map[string]func() error{
		"key store":   func() error { _, err := KeyStore(slow, storePass, ""); return err },
		"trust store": func() error { _, err := TrustStore(slow, storePass); return err },
	} {
		if err := open(); err == nil || errors.Is(err, ErrStorePassword) || !strings.Contains(err.Error(), "rounds") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzToken: the end of a token is its claim, to the millisecond, whatever stands in it.
func FuzzToken(f *testing.F) {
	token := func(claims string) string {
		return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	for _, claims := range []string{
		`{"exp":1700000000,"sub":"me"}`, `{"exp":1.7000000005e9}`, `{"exp":1e300}`, `{"exp":-5}`, `{"exp":0}`, `{"exp":"soon"}`, `{"exp":null}`, `{}`, `[]`, `{"exp":1e19`,
	} {
		f.Add(token(claims), claims)
	}
	f.Add("opaque", "x")
	f.Add("a.b.c.d", "")
	f.Fuzz(func(t *testing.T, text, claims string) {
		jwtExpiry(text)
		at, ok := jwtExpiry(token(claims))
		var says struct{ Exp float64 }
		if json.Unmarshal([]byte(claims), &says) != nil || says.Exp <= 0 {
			if ok {
				t.Fatalf("%q ends at %v", claims, at)
			}
			return
		}
		want := math.Min(says.Exp*1000, 1e18)
		if !ok || at.Before(time.Unix(0, 0)) || math.Abs(math.Min(float64(at.UnixMilli()), 1e18)-want) > 1+want/1e9 {
			t.Fatalf("%q ends at %v, %v", claims, at, ok)
		}
	})
}

// FuzzKeytab: a keytab is read, or refused without showing the keys in it.
func FuzzKeytab(f *testing.F) {
	const secret = "k3yk3yk3yk3yk3y!"
	keys := keytab.New()
	noError(f, keys.AddEntry("mirror/host", "EXAMPLE.COM", "password", time.Unix(1_700_000_000, 0), 3, 18))
	keys.Entries[0].Key.KeyValue = []byte(secret)
	good, err := keys.Marshal()
	noError(f, err)
	for _, cut := range fuzzing.Cuts(good) {
		f.Add(cut)
	}
	for n := len(good) - 6; n < len(good); n++ {
		f.Add(good[:n])
	}
	wide := bytes.Clone(good)
	binary.BigEndian.PutUint32(wide[2:], math.MaxInt32)
	f.Add(wide)
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Within(t, 1<<20+500*len(data), func() {
			got, err := keysIn(data)
			if err != nil {
				if strings.Contains(err.Error(), secret[:8]) || len(err.Error()) > 100 {
					t.Fatalf("the file shows: %v", err)
				}
				return
			}
			for _, e := range got.Entries {
				if len(e.Key.KeyValue) > len(data) {
					t.Fatalf("a key of %d bytes in %d", len(e.Key.KeyValue), len(data))
				}
			}
		})
	})
}
