package configfile_test

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/config"
	"tidemark/internal/config/yamlfile"
	"tidemark/internal/configfile"
	"tidemark/internal/kafka"
)

// TestYAMLMeansTheSame writes every good file as YAML and reads that: the same flows, and the same clusters but for where
// secrets and PEM texts are.
func TestYAMLMeansTheSame(t *testing.T) {
	for _, path := range files(t, "testdata/good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, err := configfile.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := yamlfile.Write(want, "/base")
			if err != nil {
				t.Fatal(err)
			}
			got, err := configfile.Parse("/elsewhere/x.yaml", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if diff := cmp.Diff(want.Flows, got.Flows); diff != "" {
				t.Errorf("flows (-want +got):\n%s\n%s", diff, text)
			}
			if diff := cmp.Diff(placeless(want), placeless(got)); diff != "" {
				t.Errorf("clusters (-want +got):\n%s\n%s", diff, text)
			}
			again, err := yamlfile.Write(got, "/other")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := uncommented(again), uncommented(text); got != want {
				t.Errorf("written again:\n%s\nfirst:\n%s", got, want)
			}
			for _, c := range want.Clusters {
				if pw := c.SASL.Password.Reveal(); pw != "" && strings.Contains(string(text), pw) {
					t.Errorf("a password is in the text:\n%s", text)
				}
			}
		})
	}
}

// placeless are the clusters with every secret replaced by the fact that there is one, and every path made absolute.
func placeless(c *config.Config) map[string]map[string]any {
	out := map[string]map[string]any{}
	for alias, cluster := range c.Clusters {
		fields := map[string]any{"bootstrap": cluster.Bootstrap, "client_id": cluster.ClientID, "protocol": cluster.SecurityProtocol}
		for _, part := range []any{cluster.TLS, cluster.SASL} {
			v := reflect.ValueOf(part)
			for i := range v.NumField() {
				name, text := v.Type().Field(i).Name, v.Field(i)
				if text.IsZero() {
					continue
				}
				_, secret := reflect.TypeAssert[kafka.Secret](text)
				path := v.Type().Field(i).Tag.Get("kind") == "path"
				for _, end := range []string{"File", "Env"} {
					if short := strings.TrimSuffix(name, end); short != name && v.FieldByName(short).IsValid() {
						name, secret = short, true
					}
				}
				switch {
				case secret || name == "CA" || name == "Cert" || name == "Key":
					fields[name] = true
				case path && !filepath.IsAbs(text.String()):
					fields[name] = "/base/" + filepath.Clean(text.String())
				default:
					fields[name] = text.Interface()
				}
			}
		}
		out[alias] = fields
	}
	return out
}

// uncommented is a YAML text without the comments behind values.
func uncommented(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, " # ")
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// TestYAMLNamesWhereSecretsAre: a variable and a file stay what they are; a secret from elsewhere gets a variable's name.
func TestYAMLNamesWhereSecretsAre(t *testing.T) {
	login := func(pw string) string {
		return `.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="` + pw + `";`
	}
	read := configfile.Examine("dir/mm2.properties", providersFile("security.protocol = SASL_SSL", "sasl.mechanism = PLAIN", "clusters = A, B, C.x, D, E, F, G",
		"F"+login("${dir:/run/secrets:line}x"), "G.ssl.truststore.location = /t", "G.ssl.truststore.password = ${env:STORE}", "G"+login("${env:PW}"),
		"A"+login("${env:PW}"), "B"+login("${dir:/run/secrets:kafka}"), "C.x"+login("${file:/s:pw}"), "D"+login("hunter2"), "E"+login("${env:BACKSLASH}")),
		outside(map[string]string{"/run/secrets/kafka": "hunter2", "/run/secrets/line": "hunter2\n", "/s": "pw=hunter2"}, map[string]string{"STORE": "hunter3", "PW": "hunter2", "BACKSLASH": `hunter\2`}))
	if len(read.Problems) > 0 {
		t.Fatal(read.Problems)
	}
	text, err := yamlfile.Write(read.Config, "/base")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"password_env: PW\n", "password_file: /run/secrets/kafka\n",
		"password_env: C_X_PASSWORD # set this variable to the value that is in mm2.properties\n",
		"password_env: D_PASSWORD # set this variable to the value that is in mm2.properties\n",
		"password_env: F_PASSWORD # set", "ca_password_env: STORE\n",
		"password_env: E_PASSWORD # set this variable to the value that is in mm2.properties\n", // the login's syntax changes what the variable holds
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "hunter") {
		t.Errorf("a password shows:\n%s", text)
	}
}

// TestYAMLOfAnything writes files of random settings as YAML and reads that again: the same flows and clusters.
func TestYAMLOfAnything(t *testing.T) {
	factor := rapid.SampledFrom([]string{"-1", "1", "2", "3", "4"})
	boolean := rapid.SampledFrom([]string{"true", "false"})
	interval := rapid.SampledFrom([]string{"200ms", "1s", "90s", "10m", "1h", "1h0m1s"})
	pattern := rapid.SampledFrom([]string{`[".*"]`, `[]`, `["- a: b #c"]`, `["true", "1", "null", "~", "x{1,3}"]`, `["it's", "a\\.b"]`})
	keys := map[string]*rapid.Generator[string]{
		"replication_factor": factor, "offset_syncs_replication_factor": factor, "checkpoints_replication_factor": factor,
		"heartbeats_replication_factor": factor, "sync_groups": boolean, "emit_checkpoints": boolean, "enabled": boolean,
		"checkpoints_interval": interval, "sync_groups_interval": interval, "positions_interval": interval, "topics": pattern,
		"topics_exclude": pattern, "groups": pattern, "memory": rapid.SampledFrom([]string{"8MiB", "8388609", "1GiB"}),
		"policy": rapid.SampledFrom([]string{"default", "identity"}), "separator": rapid.SampledFrom([]string{".", "_", "-", "1"}),
		"lanes": rapid.SampledFrom([]string{"1", "32"}),
	}
	names := slices.Sorted(maps.Keys(keys))
	rapid.Check(t, func(t *rapid.T) {
		settings := func(what string) string {
			var b strings.Builder
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 6, rapid.ID).Draw(t, what) {
				b.WriteString(", " + key + ": " + keys[key].Draw(t, key))
			}
			return b.String()
		}
		text := "clusters: {A: {bootstrap: ['a:1']}, B: {bootstrap: ['b:1', 'c:1'], client_id: 'x: y'}, C: {bootstrap: ['c:1']}}\n" +
			"defaults: {isolation: read_uncommitted" + settings("defaults") + "}\nflows:\n- {from: C, to: A, enabled: true}\n"
		// No two in opposite directions: with identity and one topic in both such files are refused.
		for _, flow := range []string{"from: A, to: B", "from: B, to: C"}[rapid.IntRange(0, 2).Draw(t, "flows"):] {
			text += "- {" + flow + settings(flow) + "}\n"
		}
		want, err := configfile.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		out, err := yamlfile.Write(want, "/base")
		if err != nil {
			t.Fatal(err)
		}
		got, err := configfile.Parse("x.yaml", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(want.Flows, got.Flows); diff != "" {
			t.Fatalf("flows (-want +got):\n%s\nof\n%s\nfrom\n%s", diff, out, text)
		}
		if diff := cmp.Diff(placeless(want), placeless(got)); diff != "" {
			t.Fatalf("clusters (-want +got):\n%s", diff)
		}
	})
}

// TestClientsInYAML: a file and what it is written as in YAML give every client of every flow the same settings and names,
// and the same way to log in.
func TestClientsInYAML(t *testing.T) {
	for _, path := range []string{"testdata/good/clients.properties", "testdata/good/clients.yaml", "testdata/good/security.properties"} {
		want, err := configfile.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yamlfile.Write(want, "/base")
		if err != nil {
			t.Fatal(err)
		}
		got, err := configfile.Parse("x.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, f := range want.Flows {
			for _, r := range config.Roles() {
				a, b := want.Client(f.Name(), r), got.Client(f.Name(), r)
				if a.ClientID != b.ClientID || a.Client != b.Client || a.SecurityProtocol != b.SecurityProtocol || a.SASL.User != b.SASL.User {
					t.Errorf("%s: %s of %s is\n%+v %+v, in YAML\n%+v %+v\n%s", path, r, f.Name(), a.ClientID, a.Client, b.ClientID, b.Client, text)
				}
			}
		}
		if strings.Contains(string(text), "hunter2") {
			t.Errorf("a password shows:\n%s", text)
		}
	}
}
