package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/internal/config/entry"
	"tidemark/internal/config/properties"
	"tidemark/internal/config/provider"
	"tidemark/internal/fuzzing"
)

// FuzzProviders: what a provider's file holds is read as Java stored it, or refused, and never shown: it may be a password.
func FuzzProviders(f *testing.F) {
	for _, value := range []string{"hunter2", `back\slash`, "  blank in front", "a\tb\nc\r\fd", "\u00fcml\u00e4ut\u20ac\U0001f600", "k=v:#!", "", `ends\`, `\u0041`, `x" b="y`} {
		f.Add("password", value, []byte("a = 1\npassword = "+value+"\n"))
	}
	file := []byte("# secrets\nuser: bob\r\npassword=one \\\n   two\npass\\u0077ord2 = \\u00fc\\\\\n")
	for _, cut := range fuzzing.Cuts(file) {
		f.Add("pass word", "two", cut)
	}
	f.Add("k", "v", []byte("k = \\u00\nk2 = \xfc"))
	f.Fuzz(func(t *testing.T, key, value string, file []byte) {
		fuzzing.Within(t, 4<<20+200*(len(key)+len(value)+len(file)), func() {
			if got, ok, err := entry.Find(file, key); err != nil && !regexp.MustCompile(`^it is not UTF-8$|^line \d+: a \\u is not followed`).MatchString(err.Error()) || ok && err == nil && !utf8.ValidString(got) {
				t.Fatalf("%q in %q: %q, %v", key, file, got, err)
			}
			if !utf8.ValidString(key) || !utf8.ValidString(value) || key == "" {
				return
			}
			text := "before = x\n" + stored(key) + "=" + stored(value) + "\nafter = y\n"
			if got, ok, err := entry.Find([]byte(text), key); (got != value || !ok || err != nil) && key != "after" {
				t.Fatalf("%q = %q, stored as %q, is read as %q, %v, %v", key, value, text, got, ok, err)
			}
			checkNotShown(t, stored("k")+"="+stored(value), value)
			checkNotShown(t, string(file), "")
		})
	})
}

// stored is a key or value as java.util.Properties stores it.
func stored(text string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\f", `\f`, "=", `\=`, ":", `\:`, "#", `\#`, "!", `\!`).Replace(text)
}

// checkNotShown reads a login and a client id from a provider's file, and looks for the value in all that is said about it.
func checkNotShown(t *testing.T, file, value string) {
	const class = "config.providers.f.class = org.apache.kafka.common.config.provider.FileConfigProvider\n"
	text := "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\nconfig.providers = f\n" + class +
		"security.protocol = SASL_SSL\nsasl.mechanism = PLAIN\nA.client.id = ${f:/s:k}\nreplication.factor = ${f:/s:k}\n" +
		`sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${f:/s:k}";` + "\n"
	got := properties.Examine("x.properties", []byte(text), provider.Outside{ReadFile: func(string) ([]byte, error) { return []byte(file), nil }})
	said := got.Problems.Error()
	if got.Config != nil {
		said += fmt.Sprint(got.Config.Warnings)
	}
	if len(value) >= 8 && !strings.Contains(text, value) && strings.Contains(said, value) {
		t.Fatalf("%q shows in %s", value, said)
	}
}
