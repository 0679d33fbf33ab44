package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/internal/config/entry"
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
	got := Examine("x.properties", []byte(text), provider.Outside{ReadFile: func(string) ([]byte, error) { return []byte(file), nil }})
	said := got.Problems.Error()
	if got.Config != nil {
		said += fmt.Sprint(got.Config.Warnings)
	}
	if len(value) >= 8 && !strings.Contains(text, value) && strings.Contains(said, value) {
		t.Fatalf("%q shows in %s", value, said)
	}
}

// FuzzJAAS: a login is read as it is written, and no error repeats a part of it.
func FuzzJAAS(f *testing.F) {
	login := `org.apache.kafka.common.security.scram.ScramLoginModule required username="al\"ice" password='p;=\\ w' tokenauth=true ;`
	for _, cut := range fuzzing.Cuts([]byte(login)) {
		f.Add(string(cut))
	}
	f.Add(`com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="u/h@R";`)
	f.Add(`PlainLoginModule required username="u" password="\n\t\u0041";`)
	f.Add(`M required "="=x;`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseJAAS(text)
		if err != nil {
			for _, known := range []string{"the text does not end in a semicolon", `the second word is not "required"`, `an option is not of the form name="value"`, "a quoted text does not end"} {
				if err.Error() == known {
					return
				}
			}
			t.Fatalf("%q: %v", text, err)
		}
		quote := func(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }
		again := quote(l.module) + " required"
		for _, name := range slices.Sorted(maps.Keys(l.options)) {
			again += " " + quote(name) + "=" + quote(l.options[name].Reveal())
		}
		back, err := parseJAAS(again + ";")
		if err != nil || back.module != l.module || !maps.Equal(back.options, l.options) {
			t.Fatalf("%q is read as %q and that as %q, %v", text, l, back, err)
		}
	})
}

// FuzzFlowName: a flow's name on a command line is that of two aliases, or refused by an error that repeats it.
func FuzzFlowName(f *testing.F) {
	for _, s := range []string{"A:B", "A->B", " us-east -> eu.west ", "A-", "A", "A:B:C", "A->B->C", ":", "->", "a->b:c", "a-->b", "a>:b", "\u00fc:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		n, err := ParseFlow(arg)
		if err != nil {
			if n != (FlowName{}) || !strings.Contains(err.Error(), fmt.Sprintf("%q", strings.TrimSpace(arg))) || errors.Is(err, ErrNoFlow) {
				t.Fatalf("%q is %+v, %v", arg, n, err)
			}
			return
		}
		if n.Source == "" || n.Target == "" {
			t.Fatalf("%q is %+v", arg, n)
		}
		if again, err := ParseFlow(n.String()); err != nil || again != n {
			t.Fatalf("%q is %+v, and that is %+v, %v", arg, n, again, err)
		}
	})
}
