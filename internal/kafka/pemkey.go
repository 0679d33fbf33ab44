package kafka

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// maxIterations bounds the work that an encrypted key may ask for. OpenSSL
// writes 2048, Java 10000; recommendations end below a million.
const maxIterations = 10_000_000

// excessive says whether a PKCS #12 store asks for more work than that, which
// its library would do: in all that derives a key of a password (RFC 7292, RFC
// 8018) the number of rounds is the integer behind the salt. What is inside of
// encrypted parts is not seen; who writes it knows the password.
func excessive(der []byte) bool {
	salt := false
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			return false
		}
		octets := v.Class == asn1.ClassUniversal && v.Tag == asn1.TagOctetString
		switch {
		case salt && v.Class == asn1.ClassUniversal && v.Tag == asn1.TagInteger:
			var rounds int
			if _, err := asn1.Unmarshal(v.FullBytes, &rounds); err != nil || rounds > maxIterations {
				return true
			}
		case (v.IsCompound || octets) && excessive(v.Bytes): // stores wrap stores in octets
			return true
		}
		salt, der = octets, rest
	}
	return false
}

// PEMKeyPair is the client certificate of PEM texts: the chain in certs, leaf
// first, and the private key in key. An encrypted key ("ENCRYPTED PRIVATE KEY",
// PKCS #8, which is the only form that Kafka reads too) is opened with password;
// one that is not encrypted needs none.
//
// The errors are ErrKeyPassword, ErrNoKey, ErrSeveralKeys, or what is wrong
// inside; none holds anything of the key.
func PEMKeyPair(certs, key []byte, password Secret) (tls.Certificate, error) {
	var keys []*pem.Block
	for rest := key; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			keys = append(keys, block)
		}
	}
	switch {
	case len(keys) == 0:
		return tls.Certificate{}, ErrNoKey
	case len(keys) > 1:
		return tls.Certificate{}, ErrSeveralKeys
	}
	block := keys[0]
	if block.Headers["DEK-Info"] != "" {
		return tls.Certificate{}, errors.New("the private key is encrypted in OpenSSL's old form: convert it with openssl pkcs8 -topk8 -in key.pem -out new.pem")
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		plain, err := decryptPKCS8(block.Bytes, password)
		if err != nil {
			return tls.Certificate{}, err
		}
		block = &pem.Block{Type: "PRIVATE KEY", Bytes: plain}
	}
	// Its errors name kinds of PEM blocks, never their content.
	return tls.X509KeyPair(certs, pem.EncodeToMemory(block))
}

// encryptedKey is EncryptedPrivateKeyInfo of RFC 5208.
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// pbes2 are PBES2-params, and pbkdf2Params PBKDF2-params, of RFC 8018.
type pbes2 struct {
	KDF, Cipher pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

// decryptPKCS8 opens an encrypted private key by PBES2 with PBKDF2 and AES-CBC,
// which OpenSSL since 1.1 and Java since 11 write. The standard library reads no
// encrypted key, and the weaker ciphers of old tools are not worth a dependency.
func decryptPKCS8(der []byte, password Secret) ([]byte, error) {
	var info encryptedKey
	var params pbes2
	var kdf pbkdf2Params
	var iv []byte
	if password == "" {
		return nil, fmt.Errorf("%w: it is encrypted, and no password is given", ErrKeyPassword)
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("the encrypted private key is damaged: %w", err)
	}
	if !info.Algorithm.Algorithm.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}) {
		return nil, fmt.Errorf("the private key is encrypted by %v and only PBES2 is read: convert it with openssl pkcs8 -topk8 -v2 aes256", info.Algorithm.Algorithm)
	}
	if _, err := asn1.Unmarshal(info.Algorithm.Parameters.FullBytes, &params); err != nil {
		return nil, fmt.Errorf("the encrypted private key is damaged: %w", err)
	}
	if _, err := asn1.Unmarshal(params.KDF.Parameters.FullBytes, &kdf); err != nil || !params.KDF.Algorithm.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}) {
		return nil, fmt.Errorf("the private key's password is stretched by %v and only PBKDF2 is read", params.KDF.Algorithm)
	}
	if _, err := asn1.Unmarshal(params.Cipher.Parameters.FullBytes, &iv); err != nil || len(iv) != aes.BlockSize {
		return nil, fmt.Errorf("the private key is encrypted by %v and only AES-CBC is read", params.Cipher.Algorithm)
	}
	size, ok := map[string]int{"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32}[params.Cipher.Algorithm.String()]
	hasher, known := map[string]func() hash.Hash{
		"": sha1.New, "1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New,
		"1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
	}[kdf.PRF.Algorithm.String()]
	if !ok || !known || kdf.Iterations < 1 || kdf.Iterations > maxIterations || len(info.Data) == 0 || len(info.Data)%aes.BlockSize != 0 {
		return nil, fmt.Errorf("the private key is encrypted by %v with %v: only AES-CBC with PBKDF2 by HMAC-SHA is read", params.Cipher.Algorithm, kdf.PRF.Algorithm)
	}
	secret, err := pbkdf2.Key(hasher, password.Reveal(), kdf.Salt, kdf.Iterations, size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of the private key: %w", err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("open the private key: %w", err)
	}
	plain := slices.Clone(info.Data)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, plain)
	// Nothing but the padding and the structure tells a right password.
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, ErrKeyPassword
	}
	plain = plain[:len(plain)-pad]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, ErrKeyPassword
	}
	return plain, nil
}
