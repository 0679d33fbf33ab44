package kafka

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// Errors of a store that its owner can do something about. Their texts hold no
// password and nothing of the store but aliases.
var (
	// ErrStorePassword says that the password does not open the store.
	ErrStorePassword = errors.New("the password does not open the store")
	// ErrKeyPassword says that the store is open and its private key is not.
	ErrKeyPassword = errors.New("the password does not open the private key")
	// ErrNoKey says that a key store has no private key entry.
	ErrNoKey = errors.New("no private key entry in it")
	// ErrSeveralKeys says that a key store has more than one private key entry.
	ErrSeveralKeys = errors.New("several private key entries in it")
	// ErrNoTrusted says that a trust store has no trusted certificate.
	ErrNoTrusted = errors.New("no trusted certificate in it")
	// errRounds says that opening the store would take hours.
	errRounds = fmt.Errorf("the store asks for more than %d rounds of work to open it: write it anew with fewer", maxIterations)
	// ErrStoreFormat says that the bytes are no store that can be read.
	ErrStoreFormat = errors.New("neither a PEM file nor a PKCS12 nor a JKS store")
)

// storeFormat is what a store's first bytes say.
type storeFormat int

const (
	formatUnknown storeFormat = iota
	formatPEM
	formatPKCS12
	formatJKS
	formatJCEKS
)

// formatOf looks at the content, not at the name or a configured type: since
// JDK 9 keytool writes PKCS12 into files called .jks, and Java opens either by
// either type (keystore.type.compat).
func formatOf(data []byte) storeFormat {
	switch {
	case bytes.HasPrefix(data, []byte{0xFE, 0xED, 0xFE, 0xED}):
		return formatJKS
	case bytes.HasPrefix(data, []byte{0xCE, 0xCE, 0xCE, 0xCE}):
		return formatJCEKS
	case bytes.Contains(data, []byte("-----BEGIN ")):
		return formatPEM
	case bytes.HasPrefix(data, []byte{0x30}): // an ASN.1 sequence
		return formatPKCS12
	}
	return formatUnknown
}

// badFormat is the error of a store in a format that cannot be read.
func badFormat(f storeFormat) error {
	if f == formatJCEKS {
		return fmt.Errorf("%w but a JCEKS store: convert it with keytool -importkeystore -deststoretype PKCS12", ErrStoreFormat)
	}
	return ErrStoreFormat
}

// TrustStore returns the certificates that a PEM file, a PKCS12 or a JKS store
// tells to trust. Of a JKS store these are, as in Java, its trusted certificates
// and the first certificate of each private key's chain. A PKCS12 store must
// hold trusted certificates only.
//
// A JKS store without a password is not checked for damage, as in Java; PEM has
// none. The errors are ErrStorePassword, ErrNoTrusted, ErrStoreFormat, or what
// is wrong inside.
func TrustStore(data []byte, password Secret) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	var err error
	switch f := formatOf(data); f {
	case formatPEM:
		certs, err = pemCertificates(data)
	case formatPKCS12:
		if excessive(data) {
			return nil, errRounds
		}
		certs, err = pkcs12.DecodeTrustStore(data, password.Reveal())
		err = pkcs12Trust(data, password, err)
	case formatJKS:
		certs, err = jksTrust(data, password)
	case formatJCEKS, formatUnknown:
		err = badFormat(f)
	}
	if err == nil && len(certs) == 0 {
		err = ErrNoTrusted
	}
	return certs, err
}

// pkcs12Trust words the library's error about a trust store. It says "exactly
// one item" or "only certificate bags" where a private key is in it too, and
// which certificates are trusted it tells only of stores without.
func pkcs12Trust(data []byte, password Secret, err error) error {
	if err == nil {
		return nil
	}
	if badPassword(err, password) {
		return ErrStorePassword
	}
	if _, _, _, keyErr := pkcs12.DecodeChain(data, password.Reveal()); keyErr == nil {
		return fmt.Errorf("%w: it is a key store; export its authorities with keytool -exportcert -rfc -alias ALIAS, and use the PEM text", ErrNoTrusted)
	}
	if strings.Contains(err.Error(), "not marked as trusted") {
		return fmt.Errorf("%w that Java marks as one: import it with keytool -importcert instead of openssl", ErrNoTrusted)
	}
	return err
}

// badPassword recognises a wrong and a missing password of a PKCS12 store.
func badPassword(err error, password Secret) bool {
	return errors.Is(err, pkcs12.ErrIncorrectPassword) || errors.Is(err, pkcs12.ErrDecryption) ||
		// A store without MAC was written without a password.
		password != "" && strings.Contains(err.Error(), "no MAC in data")
}

// jksTrust reads the certificates of a JKS store.
func jksTrust(data []byte, password Secret) ([]*x509.Certificate, error) {
	store, err := openJKS(data, password, true)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for _, alias := range store.Aliases() {
		var content []byte
		if store.IsTrustedCertificateEntry(alias) {
			entry, err := store.GetTrustedCertificateEntry(alias)
			if err != nil {
				return nil, fmt.Errorf("entry %s: %w", alias, err)
			}
			content = entry.Certificate.Content
		} else {
			chain, err := store.GetPrivateKeyEntryCertificateChain(alias)
			if err != nil {
				return nil, fmt.Errorf("entry %s: %w", alias, err)
			}
			if len(chain) == 0 {
				continue
			}
			content = chain[0].Content
		}
		cert, err := x509.ParseCertificate(content)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", alias, err)
		}
		certs = append(certs, cert)
	}
	return certs, nil
}

// openJKS reads a JKS store. The library reports a wrong password, and damage,
// by words, after it has read the entries: JKS encrypts keys only, and its
// password otherwise protects a checksum.
func openJKS(data []byte, password Secret, trust bool) (keystore.KeyStore, error) {
	store := keystore.New(keystore.WithOrderedAliases(), keystore.WithCaseExactAliases())
	if !wholeJKS(data) {
		return store, errors.New("the JKS store is damaged")
	}
	err := store.Load(bytes.NewReader(data), []byte(password.Reveal()))
	switch {
	case err == nil:
		return store, nil
	case err.Error() != "got invalid digest":
		return store, fmt.Errorf("the JKS store is damaged: %w", err)
	case password == "" && trust:
		return store, nil // Java asks for no password either
	}
	return store, ErrStorePassword
}

// wholeJKS says whether the lengths in a JKS store fit into it. The library
// takes memory for whatever a damaged store claims to hold, before it reads it.
func wholeJKS(data []byte) bool {
	const header, date, digest = 8, 8, 20
	rest, good := data[min(header, len(data)):], true
	skip := func(n uint32) {
		if good = good && uint64(n) <= uint64(len(rest)); good {
			rest = rest[n:]
		}
	}
	number := func(size uint32) (n uint32) {
		before := rest
		if skip(size); good {
			for _, b := range before[:size] {
				n = n<<8 | uint32(b)
			}
		}
		return n
	}
	version2 := len(data) >= header && data[7] == 2
	certificate := func() {
		if version2 {
			skip(number(2)) // the type's name
		}
		skip(number(4))
	}
	for entries := number(4); entries > 0 && good; entries-- {
		tag := number(4)
		skip(number(2)) // the alias
		skip(date)
		certs := uint32(1)
		if tag == 1 { // a private key
			skip(number(4))
			certs = number(4)
		}
		for ; certs > 0 && good; certs-- {
			certificate()
		}
	}
	return good && len(rest) >= digest
}

// KeyStore returns the client certificate of a PEM file (private key and chain),
// a PKCS12 or a JKS store. An empty keyPassword means the store's password.
//
// The errors are ErrStorePassword, ErrKeyPassword, ErrNoKey, ErrSeveralKeys,
// ErrStoreFormat, or what is wrong inside. Several keys are refused: Java takes
// whichever suits the broker's authorities, so the same file could be another
// user tomorrow.
func KeyStore(data []byte, password, keyPassword Secret) (tls.Certificate, error) {
	switch f := formatOf(data); f {
	case formatPEM:
		return PEMKeyPair(data, data, keyPassword)
	case formatPKCS12:
		return pkcs12Key(data, password, keyPassword)
	case formatJKS:
		return jksKey(data, password, keyPassword)
	default:
		return tls.Certificate{}, badFormat(f)
	}
}

func pkcs12Key(data []byte, password, keyPassword Secret) (tls.Certificate, error) {
	if excessive(data) {
		return tls.Certificate{}, errRounds
	}
	key, leaf, others, err := pkcs12.DecodeChain(data, password.Reveal())
	switch {
	case err == nil:
		return chainOf(key, append([]*x509.Certificate{leaf}, others...))
	case badPassword(err, password):
		return tls.Certificate{}, ErrStorePassword
	case strings.Contains(err.Error(), "private key missing") || strings.Contains(err.Error(), "certificate missing"):
		return tls.Certificate{}, ErrNoKey
	case strings.Contains(err.Error(), "expected exactly one key bag"):
		return tls.Certificate{}, ErrSeveralKeys
	case strings.Contains(err.Error(), "decrypting PKCS#8 shrouded key bag") && keyPassword != password:
		return tls.Certificate{}, fmt.Errorf("%w: in a PKCS12 store it must be the store's own, as keytool makes it", ErrKeyPassword)
	}
	return tls.Certificate{}, err
}

func jksKey(data []byte, password, keyPassword Secret) (tls.Certificate, error) {
	store, err := openJKS(data, password, false)
	if err != nil {
		return tls.Certificate{}, err
	}
	keys := slices.DeleteFunc(store.Aliases(), func(alias string) bool { return !store.IsPrivateKeyEntry(alias) })
	switch {
	case len(keys) == 0:
		return tls.Certificate{}, ErrNoKey
	case len(keys) > 1:
		return tls.Certificate{}, fmt.Errorf("%w: %s", ErrSeveralKeys, strings.Join(keys, ", "))
	}
	if keyPassword == "" {
		keyPassword = password
	}
	entry, err := store.GetPrivateKeyEntry(keys[0], []byte(keyPassword.Reveal()))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("entry %s: %w", keys[0], ErrKeyPassword)
	}
	key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("entry %s: %w", keys[0], err)
	}
	var certs []*x509.Certificate
	for _, c := range entry.CertificateChain {
		cert, err := x509.ParseCertificate(c.Content)
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("entry %s: %w", keys[0], err)
		}
		certs = append(certs, cert)
	}
	return chainOf(key, certs)
}

// chainOf puts the certificates into the order that TLS sends: the key's own
// first, then each one's issuer. A store keeps them in any order, and often
// holds an authority that is there to be trusted.
func chainOf(key any, certs []*x509.Certificate) (tls.Certificate, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return tls.Certificate{}, fmt.Errorf("a private key of type %T cannot sign", key)
	}
	public, ok := signer.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !ok {
		return tls.Certificate{}, fmt.Errorf("a private key of type %T cannot be compared", key)
	}
	i := slices.IndexFunc(certs, func(c *x509.Certificate) bool { return public.Equal(c.PublicKey) })
	if i < 0 {
		return tls.Certificate{}, errors.New("none of the certificates belongs to the private key")
	}
	out := tls.Certificate{PrivateKey: key, Leaf: certs[i]}
	for cert := certs[i]; cert != nil && len(out.Certificate) < len(certs); {
		out.Certificate = append(out.Certificate, cert.Raw)
		if bytes.Equal(cert.RawIssuer, cert.RawSubject) {
			break
		}
		issuer := slices.IndexFunc(certs, func(c *x509.Certificate) bool { return bytes.Equal(c.RawSubject, cert.RawIssuer) })
		if issuer < 0 {
			break
		}
		cert = certs[issuer]
	}
	return out, nil
}

// pemCertificates are the certificates of a PEM text; other blocks are passed
// over, as Java does.
func pemCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return certs, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
}
