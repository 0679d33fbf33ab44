package configfile_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/config/provider"
	"tidemark/internal/configfile"
)

// outside is a file system and an environment that a test makes up.
func outside(files, env map[string]string) provider.Outside {
	return provider.Outside{
		ReadFile: func(name string) ([]byte, error) {
			text, ok := files[name]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		},
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

// providersFile is a flow's file with all three providers, and lines to be tested.
func providersFile(lines ...string) []byte {
	const class = "org.apache.kafka.common.config.provider."
	return []byte(strings.Join(append([]string{
		"clusters = A, B", "bootstrap.servers = x:1", "A->B.enabled = true",
		"config.providers = file, dir, env",
		"config.providers.file.class = " + class + "FileConfigProvider",
		"config.providers.dir.class = " + class + "DirectoryConfigProvider",
		"config.providers.env.class = " + class + "EnvVarConfigProvider",
	}, lines...), "\n"))
}

// TestProviders reads A.client.id through every kind of provider. A case without a value must end with a problem that
// holds the text; the problem stands at line 8 with the key.
func TestProviders(t *testing.T) {
	from := outside(map[string]string{
		"/s/a.properties": "k = one\nk: two \\\n  three\n\\u0070w=\u00fcber $ {x} \\\\\n",
		"/s/bad":          "x = 1\ny = \\u00\n", "/s/latin": "x = \xfc", "/s/dir/user": "bob", "/s/dir/line": "bob\n", "rel": "k=v",
		"/s/ref": "k=${env:NAME}", "/sibling/f": "k=v",
	}, map[string]string{"NAME": "val", "EMPTY": "", "A:B": "colon", "OTHER": "o"})
	for _, tc := range []struct{ value, more, want, problem string }{
		{value: "${env:NAME}", want: "val"},
		{value: "a ${env:NAME}-${file:/s/a.properties:k} b", want: "a val-two three b"},
		{value: "${file:/s/a.properties:pw}", want: "\u00fcber $ {x} \\"},
		{value: "${file:rel:k}", want: "v"},
		{value: "${dir:/s/dir:user}", want: "bob"},
		{value: "${dir:/s/dir/:line}", want: "bob"}, // the blanks around a whole value never count
		{value: "${dir:/s/dir:line}x", want: "bob\nx"},
		{value: "${file:/s/ref:k}", want: "${env:NAME}"}, // what is put in place is not looked at again
		{value: "${NAME} $NAME ${}", want: "${NAME} $NAME ${}"},
		{value: "${env:EMPTY}x", want: "x"},
		{value: "${env::A:B}", want: "colon"}, // an empty path, as Java's expression cuts it
		{value: "${env:NONE}", problem: "${env:NONE}: environment variable NONE is not set"},
		{value: "${env:path:NAME}", problem: "an environment variable has no path"},
		{value: "${file:k}", problem: "names no file"},
		{value: "${file:/s/none:k}", problem: "open /s/none: file does not exist"},
		{value: "${file:/s/a.properties:K}", problem: "there is no key K in /s/a.properties"},
		{value: "${file:/s/bad:x}", problem: "line 2: a \\u is not followed"},
		{value: "${file:/s/latin:x}", problem: "it is not UTF-8"},
		{value: "${dir:user}", problem: "names no folder"},
		{value: "${dir:/s/dir:../ref}", problem: "is no name of a file in the folder"},
		{value: "${dir:/s/dir:..}", problem: "is no name of a file in the folder"},
		{value: "${vault:secret:k}", problem: "a configuration provider, ${provider:key}, that the file does not declare; config.providers lists dir, env, file"},

		{value: "${env:NAME}", more: "config.providers.env.param.allowlist.pattern = NA.*", want: "val"},
		{value: "${env:OTHER}", more: "config.providers.env.param.allowlist.pattern = NA.*|OTHE", problem: "variable OTHER does not match config.providers.env.param.allowlist.pattern"},
		{value: "${file:/s/a.properties:k}", more: "config.providers.file.param.allowed.paths = /x, /s", want: "two three"},
		{value: "${file:/s/a.properties:k}", more: "config.providers.file.param.allowed.paths = /s/a.properties", want: "two three"},
		{value: "${file:/sibling/f:k}", more: "config.providers.file.param.allowed.paths = /s/", problem: "/sibling/f is not below a path of config.providers.file.param.allowed.paths"},
		{value: "${file:/s/../sibling/f:k}", more: "config.providers.file.param.allowed.paths = /s", problem: "is not below a path"},
		{value: "${dir:/s/dir:user}", more: "config.providers.dir.param.allowed.paths = /s/x", problem: "is not below a path"},
	} {
		t.Run(tc.value+tc.more, func(t *testing.T) {
			text := providersFile("A.client.id = "+tc.value, tc.more)
			got := configfile.Examine("x.properties", text, from)
			if tc.problem == "" {
				if len(got.Problems) > 0 {
					t.Fatal(got.Problems)
				}
				if id := got.Config.Clusters["A"].ClientID; id != tc.want {
					t.Errorf("got %q, want %q", id, tc.want)
				}
				return
			}
			if len(got.Problems) != 1 || got.Config != nil {
				t.Fatalf("problems %v, config %v", got.Problems, got.Config)
			}
			p := got.Problems[0]
			if !strings.Contains(p.Error(), tc.problem) || p.Line != 8 || p.Key != "A.client.id" || p.Do == "" {
				t.Errorf("got %#v, want %q", p, tc.problem)
			}
		})
	}
}

// TestProviderClasses: a class that cannot be loaded is a problem where a value needs it, and none where nothing does.
func TestProviderClasses(t *testing.T) {
	const base = "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\nconfig.providers = v\nconfig.providers.v.param.url = http://x\n"
	for _, tc := range []struct{ text, problem string }{
		{"config.providers.v.class = com.example.Vault\n", ""},
		{"config.providers.v.class = com.example.Vault\ntasks.max = ${v:x}\n", ""},
		{"config.providers.v.class = com.example.Vault\nA.client.id = ${v:x}\n", `provider "v" is the Java class "com.example.Vault", which cannot be loaded here`},
		{"config.providers.v.class = EnvVarConfigProvider\nA.client.id = ${v:x}\n", `the Java class "EnvVarConfigProvider", which cannot be loaded`},
		{"A.client.id = ${v:x}\n", "the file has no config.providers.v.class"},
	} {
		got := configfile.Examine("x.properties", []byte(base+tc.text), provider.Outside{})
		if text := got.Problems.Error(); (tc.problem == "") != (text == "") || !strings.Contains(text, tc.problem) {
			t.Errorf("%q: got %q, want %q", tc.text, text, tc.problem)
		}
	}
}

// TestProviderRemarks: what is said about references and about keys of providers that change nothing.
func TestProviderRemarks(t *testing.T) {
	got := configfile.Examine("x.properties", providersFile(
		"tasks.max = ${env:NONE}",
		"nonsense = ${none:x}",
		"config.providers.fil.class = x",
		"config.providers.env.param.allowlist = x",
		"config.providers.file.param.allowlist.pattern = x",
		"config.providers.dir.param.allowed.path = /x",
	), outside(nil, nil))
	if len(got.Problems) > 0 {
		t.Fatal(got.Problems)
	}
	var all []string
	for _, r := range got.Remarks {
		if r.Line >= 8 {
			all = append(all, r.String())
		}
	}
	want := []string{
		"tasks.max has no effect: workers that run with the same file share its flows; start another one for more throughput; what its value refers to is not looked up (line 8)",
		"nonsense has no effect: unknown key; what its value refers to is not looked up (line 9)",
		"config.providers.fil.class has no effect: config.providers does not list that provider (line 10)",
		"config.providers.env.param.allowlist has no effect: unknown key, did you mean config.providers.env.param.allowlist.pattern? (line 11)",
		"config.providers.file.param.allowlist.pattern has no effect: unknown key (line 12)",
		"config.providers.dir.param.allowed.path has no effect: unknown key, did you mean config.providers.dir.param.allowed.paths? (line 13)",
	}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}

// TestBorrowedSecretsNeverShow puts a secret behind a reference into every key that takes one: whatever is said about the
// value, the secret is not in it. (clusters is no such key: aliases are names of flows and topics, and stand everywhere.)
func TestBorrowedSecretsNeverShow(t *testing.T) {
	keys := []string{
		"A.client.id", "A.bootstrap.servers", "security.protocol", "sasl.mechanism", "A.sasl.jaas.config",
		"A.ssl.truststore.location", "A.ssl.truststore.type", "A.ssl.truststore.certificates", "A.ssl.keystore.key",
		"A.ssl.keystore.certificate.chain", "A.ssl.key.password", "A.ssl.endpoint.identification.algorithm", "topics", "A->B.topics.exclude",
		"groups", "topics.blacklist", "enabled", "A->B.enabled", "replication.policy.class", "replication.policy.separator", "replication.factor",
		"refresh.topics.interval.seconds", "offset-syncs.topic.location", "A.consumer.isolation.level", "topic.filter.class",
		"tidemark.lanes", "tidemark.memory.bytes", "tidemark.unmirrored.positions", "sync.topic.acls.enabled", "nonsense", "tasks.max",
	}
	from := outside(nil, map[string]string{"S": "(hunter2*", "JAAS": `x required hunter2;`})
	for _, key := range keys {
		for _, value := range []string{"${env:S}", "x ${env:S}", "${env:JAAS}", "${hunter2:x}", "${x:hunter2}"} {
			lines := []string{key + " = " + value}
			if strings.HasPrefix(key, "A.s") {
				lines = append(lines, "A.security.protocol = SASL_SSL", "A.sasl.mechanism = PLAIN", "A.ssl.keystore.type = PEM")
			}
			got := configfile.Examine("x.properties", providersFile(lines...), from)
			said := strings.ToLower(fmt.Sprint(got.Problems, got.Remarks))
			if strings.Contains(said, "hunter2") {
				t.Errorf("%s = %s: %s", key, value, said)
			}
		}
	}
}

// TestLoadReadsProviders goes the way that a user's file goes: real files, a real variable, and the login in the end.
func TestLoadReadsProviders(t *testing.T) {
	dir := t.TempDir()
	secrets := filepath.Join(dir, "secrets.properties")
	file := filepath.Join(dir, "mm2.properties")
	t.Setenv("TIDEMARK_TEST_PASSWORD", "from $ the env")
	login := func(pw string) string {
		return `.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="` + pw + `";`
	}
	text := providersFile("security.protocol = SASL_PLAINTEXT", "sasl.mechanism = PLAIN",
		"A"+login("${file:"+secrets+":pw}"), "B"+login("${env:TIDEMARK_TEST_PASSWORD}"))
	for name, data := range map[string][]byte{secrets: []byte("pw = from the file\n"), file: text} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := configfile.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for alias, want := range map[string]string{"A": "from the file", "B": "from $ the env"} {
		if got := c.Clusters[alias].SASL.Password.Reveal(); got != want {
			t.Errorf("%s: got %q, want %q", alias, got, want)
		}
	}
	_, err = configfile.Parse(file, text)
	if err == nil || !strings.Contains(err.Error(), "the environment is not read here") || !strings.Contains(err.Error(), "no other file is read here") {
		t.Errorf("Parse reads something outside the file, or does not say that it does not: %v", err)
	}
}
