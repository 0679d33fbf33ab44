package configfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/yamlfile"
	"tidemark/internal/configfile"
)

// strangePasswords are those that some layer between a file and a broker may take for syntax. Each stands in a login as
// Java needs it: a backslash is doubled there, wherever it comes from.
func strangePasswords() []string {
	return []string{`eq=ual`, `ha#sh`, `bl ank`, `back\\slash`, "\u00fcml\u00e4ut\u20ac", `dol$lar${x}`, "all=#\\\\ \u00fc$"}
}

// everyWay is how fmt prints a value.
func everyWay(v any) string {
	out := ""
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%d"} {
		out += fmt.Sprintf(verb, v)
	}
	return out
}

// TestCase83Providers: references to files, folders and variables are looked up at top level, after a cluster and after a
// flow, in logins and elsewhere; whatever the password is, it arrives as it is, and is never part of anything printed.
func TestCase83Providers(t *testing.T) {
	const login = `org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="%s";`
	for i, pw := range strangePasswords() {
		inFile := strings.NewReplacer(`\`, `\\`).Replace(pw)
		world := outside(map[string]string{"/s/pw": "other = x\npw = " + inFile + "\n", "/s/dir/pw": pw}, map[string]string{"PW": pw, "TOPICS": "orders", "WAIT": "250"})
		for _, ref := range []string{"${file:/s/pw:pw}", "${dir:/s/dir:pw}", "${env:PW}"} {
			for _, place := range []struct {
				prefix string
				roles  []config.Role
			}{
				{"", config.Roles()},
				{"A.", []config.Role{config.SourceConsumer, config.SourceAdmin, config.SourceProducer}},
				{"B.producer.", []config.Role{config.RecordProducer, config.TargetProducer}},
				{"A->B.source.consumer.", []config.Role{config.SourceConsumer}},
				{"A->B.producer.override.", []config.Role{config.RecordProducer}},
			} {
				lines := []string{"security.protocol = SASL_PLAINTEXT", "sasl.mechanism = SCRAM-SHA-512", "A->B.topics = ${env:TOPICS}", "A->B.consumer.fetch.max.wait.ms = ${env:WAIT}"}
				if place.prefix != "" {
					lines = append(lines, "sasl.jaas.config = "+fmt.Sprintf(login, "plain"))
				}
				lines = append(lines, place.prefix+"sasl.jaas.config = "+fmt.Sprintf(login, ref))
				got := configfile.Examine("mm2.properties", providersFile(lines...), world)
				if len(got.Problems) > 0 {
					t.Fatalf("password %d, %s after %q: %v", i, ref, place.prefix, got.Problems)
				}
				name := config.FlowName{Source: "A", Target: "B"}
				want := strings.ReplaceAll(pw, `\\`, `\`)
				printed := everyWay(got.Config)
				for _, r := range place.roles {
					kc, err := got.Config.Client(name, r).Kafka()
					if err != nil {
						t.Fatal(err)
					}
					if have := kc.SASL.Password.Reveal(); have != want {
						t.Errorf("%s, %s after %q: the password is %q, want %q", r, ref, place.prefix, have, want)
					}
					printed += everyWay(kc) + fmt.Sprint(got.Config.Uses(name, r))
				}
				text, err := yamlfile.Write(got.Config, "/")
				if err != nil {
					t.Fatal(err)
				}
				printed += string(text) + fmt.Sprint(got.Remarks, got.Config.Notes)
				for _, secret := range []string{pw, want, inFile} {
					if strings.Contains(printed, secret) {
						t.Errorf("%q shows in\n%s", secret, printed)
					}
				}
				if f := got.Config.Flows[0]; len(f.Topics) != 1 || f.Topics[0] != "orders" {
					t.Errorf("topics %v", f.Topics)
				}
				if w := got.Config.Client(name, config.SourceConsumer).Client.FetchWait.Milliseconds(); w != 250 {
					t.Errorf("fetch wait %d", w)
				}
			}
		}
	}
}

// TestCase83Rotation: what a login refers to is looked up again for each connection; while it cannot be, the last one is
// used, and a refusal says so.
func TestCase83Rotation(t *testing.T) {
	file := "pw = first"
	read := 0
	world := provider.Outside{ReadFile: func(string) ([]byte, error) {
		read++
		if file == "" {
			return nil, &fs.PathError{Op: "open", Path: "/s/pw", Err: fs.ErrNotExist}
		}
		return []byte(file), nil
	}}
	got := configfile.Examine("mm2.properties", providersFile("security.protocol = SASL_PLAINTEXT", "sasl.mechanism = PLAIN",
		`A->B.source.consumer.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${file:/s/pw:pw}";`,
		`sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="fixed";`), world)
	if len(got.Problems) > 0 {
		t.Fatal(got.Problems)
	}
	name := config.FlowName{Source: "A", Target: "B"}
	kc, err := got.Config.Client(name, config.SourceConsumer).Kafka()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ file, want string }{{"pw = first", "first"}, {"pw = second", "second"}, {"", "second"}, {"other = x", "second"}, {"pw = third", "third"}} {
		file = step.file
		_, login, err := kc.Renew()
		if login.Password.Reveal() != step.want {
			t.Errorf("with file %q the password is %q, want %q", step.file, login.Password.Reveal(), step.want)
		}
		if broken := !strings.HasPrefix(step.file, "pw"); broken != (err != nil) {
			t.Errorf("with file %q: %v", step.file, err)
		}
		refusal := kc.Stale(errors.New("refused"))
		if said := strings.Contains(refusal.Error(), "cannot be read: mm2.properties:10: A->B.source.consumer.sasl.jaas.config: ${file:/s/pw:pw}"); said != (err != nil) {
			t.Errorf("with file %q: %v", step.file, refusal)
		}
	}
	before := read
	fixed, err := got.Config.Client(name, config.SourceAdmin).Kafka()
	if err != nil {
		t.Fatal(err)
	}
	if fixed.Renew != nil || read != before {
		t.Error("a login that is written in the file is looked up again")
	}
}
