package security

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/fuzzing"
)

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
		l, err := ParseJAAS(text)
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
		for _, name := range slices.Sorted(maps.Keys(l.Options)) {
			again += " " + quote(name) + "=" + quote(l.Options[name].Reveal())
		}
		back, err := ParseJAAS(again + ";")
		if err != nil || back.module != l.module || !maps.Equal(back.Options, l.Options) {
			t.Fatalf("%q is read as %q and that as %q, %v", text, l, back, err)
		}
	})
}
