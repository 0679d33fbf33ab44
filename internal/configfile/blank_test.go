package configfile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/config/provider"
	"tidemark/internal/configfile"
	"tidemark/internal/kafka"
)

// blankFiles are the contents of files in which nobody has written a password, or not yet.
func blankFiles() []string { return []string{"", "\n", "\n\n", " ", " \r\n\t\r\n"} }

// TestBlankPasswordFile: a file without anything but white space is no password, at a start for each key that names such a
// file, and while the mirror runs, where the password of before stays in use.
func TestBlankPasswordFile(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t)
	jksStore(t, filepath.Join(dir, "s.jks"), "storepass", ca, "one")
	write(t, dir, "ca.pem", ca.pem)
	path := filepath.Join(dir, "pw")
	for _, tc := range []struct {
		key, security string
		good          bool // with a password in the file
	}{
		{"password_file", "protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: u", true},
		{"password_file", "protocol: SASL_PLAINTEXT, mechanism: OAUTHBEARER, token_url: 'http://127.0.0.1:1/', username: u", true},
		{"keystore_password_file", "protocol: SSL, keystore: s.jks", false},
		{"key_password_file", "protocol: SSL, keystore_password: storepass, keystore: s.jks", false},
		{"ca_password_file", "protocol: SSL, ca: ca.pem", true},
		{"token_ca_password_file", "protocol: SASL_PLAINTEXT, mechanism: OAUTHBEARER, token_url: 'https://127.0.0.1:1/', token_ca: ca.pem, username: u, password: p", true},
	} {
		a := parse(t, filepath.Join(dir, "x.yaml"), "clusters:\n  A: {bootstrap: \"a:1\", security: {"+tc.security+", "+tc.key+": pw}}\n  B: {bootstrap: \"b:1\"}\nflows: [{from: A, to: B}]").Clusters["A"]
		want := "x.yaml:2: clusters.A.security." + tc.key + ": file " + path + " is empty, or holds nothing but white space; write the password into it"
		for _, blank := range blankFiles() {
			write(t, dir, "pw", []byte(blank))
			if _, err := a.Kafka(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, a file with %q at a start: %v", tc.key, blank, err)
			}
		}
		if !tc.good {
			continue
		}
		write(t, dir, "pw", []byte("storepass\n"))
		kc, err := a.Kafka()
		if err != nil {
			t.Fatalf("%s: %v", tc.key, err)
		}
		for _, blank := range blankFiles() {
			write(t, dir, "pw", []byte(blank))
			conf, login, err := kc.Renew()
			if err == nil || !strings.Contains(err.Error(), want) || conf != kc.TLS || login != kc.SASL {
				t.Errorf("%s, a file with %q while running: %v, the same %v %v", tc.key, blank, err, conf == kc.TLS, login == kc.SASL)
			}
		}
	}
}

// TestBlankReference is the same for what configuration providers give in a login.
func TestBlankReference(t *testing.T) {
	const plain = `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${dir:/s:pw}";`
	const scram = `org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password='${dir:/s:pw}';`
	const oauth = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="u" clientSecret="${dir:/s:pw}";`
	for _, login := range [][]string{
		{"sasl.mechanism = PLAIN", "sasl.jaas.config = " + plain},
		{"sasl.mechanism = SCRAM-SHA-512", "sasl.jaas.config = " + scram},
		{"sasl.mechanism = OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url = http://127.0.0.1:1/", "sasl.jaas.config = " + oauth},
		{"sasl.mechanism = OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url = http://127.0.0.1:1/", "sasl.oauthbearer.client.credentials.client.id = u", "sasl.oauthbearer.client.credentials.client.secret = ${dir:/s:pw}"},
	} {
		file := "first"
		world := provider.Outside{ReadFile: func(string) ([]byte, error) { return []byte(file), nil }}
		text := providersFile(append(login, "security.protocol = SASL_PLAINTEXT")...)
		got := configfile.Examine("mm2.properties", text, world)
		if len(got.Problems) > 0 {
			t.Fatal(got.Problems)
		}
		kc, err := got.Config.Clusters["A"].Kafka()
		if err != nil {
			t.Fatal(err)
		}
		for _, file = range blankFiles() {
			_, used, err := kc.Renew()
			if err == nil || secretIn(used) != "first" {
				t.Errorf("%s\nwith %q while running: password %q, %v", login, file, secretIn(used), err)
			}
			found := configfile.Examine("mm2.properties", text, world).Problems
			if len(found) == 0 || !strings.Contains(found.Error(), "${dir:/s:pw}") || !strings.Contains(found.Error(), "is empty, or holds nothing but white space; write the password into it") {
				t.Errorf("%s\nwith %q at a start: %v", login, file, found)
			}
		}
		file = " s p "
		if _, used, err := kc.Renew(); err != nil || strings.TrimSpace(secretIn(used)) != "s p" {
			t.Errorf("a password with blanks becomes %q, %v", secretIn(used), err)
		}
	}
}

func secretIn(s *kafka.SASL) string {
	if s.OAuth != nil {
		return s.OAuth.ClientSecret.Reveal()
	}
	return s.Password.Reveal()
}

// TestBlankVariable: a variable cannot change under a running process, but at a start it counts as a file does.
func TestBlankVariable(t *testing.T) {
	found := configfile.Examine("mm2.properties", providersFile("security.protocol = SASL_PLAINTEXT", "sasl.mechanism = PLAIN",
		`sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${env:PW}";`), outside(nil, map[string]string{"PW": "  "})).Problems
	if len(found) == 0 || !strings.Contains(found.Error(), "what ${env:PW} stands for is empty, or holds nothing but white space") {
		t.Errorf("problems %v", found)
	}
}
