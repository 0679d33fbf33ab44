package configfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
)

func parse(t *testing.T, name, text string) *config.Config {
	t.Helper()
	c, err := configfile.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKeysOfTheKindOfFile: what is said about a file names the keys that stand in it.
func TestKeysOfTheKindOfFile(t *testing.T) {
	y := parse(t, "flow.yaml", "clusters: {A: {bootstrap: 'a:1'}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B}]\n")
	p := parse(t, "mm2.properties", "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n")
	for _, tc := range []struct{ got, want string }{
		{y.FlowKey("SyncGroupOffsets"), "sync_groups"},
		{p.FlowKey("SyncGroupOffsets"), "sync.group.offsets.enabled"},
		{p.FlowKey("Policy"), ""}, // replication.policy.class says more than this field
		{y.FlowKey("NoField"), ""},
		{y.BootstrapKey("B"), "clusters.B.bootstrap"},
		{p.BootstrapKey("B"), "B.bootstrap.servers"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}

// TestArrowInAValue: only a word without a dot, or an alias, in front of "->" is a flow written with blanks.
func TestArrowInAValue(t *testing.T) {
	text := "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\nA.client.id = ->!\n"
	c, err := configfile.Parse("x.properties", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Clusters["A"].ClientID; got != "->!" {
		t.Fatalf("client id %q", got)
	}
}

// TestSecretsAreReadWhole checks that passwords with every character that a syntax could eat arrive as they are.
func TestSecretsAreReadWhole(t *testing.T) {
	for _, tc := range []struct{ file, alias, want string }{
		{"testdata/good/full.yaml", "us-east", `p=a#s s${HOME}\w`},
		{"testdata/good/security.properties", "A", `to;p="s$ {x}\`},
		{"testdata/good/security.properties", "B", `x y`},
	} {
		c, err := configfile.Load(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Clusters[tc.alias].SASL.Password.Reveal(); got != tc.want {
			t.Errorf("%s: password of %s is %q, want %q", tc.file, tc.alias, got, tc.want)
		}
	}
}

func TestSecretsNeverShow(t *testing.T) {
	c := parse(t, "x.yaml", `
clusters:
  A: {bootstrap: "a:1", security: {protocol: SASL_SSL, mechanism: PLAIN, username: u, password: hunter2}}
  B: {bootstrap: "b:1"}
flows: [{from: A, to: B}]`)
	a := c.Clusters["A"]
	a.TLS.Key = "hunter2"
	c.Clusters["A"] = a
	asJSON, jerr := json.Marshal(c)
	asYAML, yerr := yaml.Marshal(c)
	if err := errors.Join(jerr, yerr); err != nil {
		t.Fatal(err)
	}
	var text, structured bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("config", "config", c, "sasl", a.SASL)
	slog.New(slog.NewJSONHandler(&structured, nil)).Info("config", "config", c)
	var out string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		out += fmt.Sprintf(verb, *c)
	}
	for form, s := range map[string]string{
		"json": string(asJSON), "yaml": string(asYAML), "slog text": text.String(), "slog json": structured.String(), "fmt": out,
	} {
		if strings.Contains(s, "hunter2") || strings.Contains(s, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("%s shows the password: %s", form, s)
		}
		if !strings.Contains(s, "redacted") {
			t.Errorf("%s does not say that something is redacted: %s", form, s)
		}
	}
}

// TestPrecedence checks whose value wins in a properties file, for a flow's setting, for security, and for the
// isolation level, each by switching the layers on from the weakest to the strongest.
func TestPrecedence(t *testing.T) {
	const base = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\n"
	for _, tc := range []struct {
		name   string
		layers []string // key=value, the strongest last
		get    func(*config.Config) string
	}{
		{
			"topics",
			[]string{"topics=1", "A->B.topics=2"},
			func(c *config.Config) string { return strings.Join(c.Flows[0].Topics, ",") },
		},
		{
			"policy",
			[]string{"replication.policy.separator=1", "A->B.replication.policy.separator=2"},
			func(c *config.Config) string { return c.Flows[0].Separator },
		},
		{
			"bootstrap",
			[]string{"bootstrap.servers=1:1", "B.bootstrap.servers=2:1"},
			func(c *config.Config) string { return strings.TrimSuffix(c.Clusters["B"].Bootstrap[0], ":1") },
		},
		{
			"isolation",
			[]string{
				"source.consumer.isolation.level=read_committed",
				"A->B.consumer.isolation.level=read_uncommitted",
				"A.consumer.isolation.level=read_committed",
				"A->B.source.consumer.isolation.level=read_uncommitted",
			},
			func(c *config.Config) string { return c.Flows[0].Isolation },
		},
	} {
		for n := 1; n <= len(tc.layers); n++ {
			// The strongest layer stands first in the file: order must not matter.
			text := base
			for i := n - 1; i >= 0; i-- {
				text = tc.layers[i] + "\n" + text
			}
			_, want, _ := strings.Cut(tc.layers[n-1], "=")
			want = strings.TrimSuffix(want, ":1")
			if tc.name == "bootstrap" {
				text = strings.Replace(text, "B.bootstrap.servers=b:1\n", "", 1)
			}
			if got := tc.get(parse(t, "x.properties", text)); got != want {
				t.Errorf("%s with %q: got %q, want %q", tc.name, tc.layers[:n], got, want)
			}
		}
	}
}

func TestDefaultsDifferByKind(t *testing.T) {
	y := parse(t, "x.yaml", `{clusters: {A: {bootstrap: "a:1"}, B: {bootstrap: "b:1"}}, flows: [{from: A, to: B}]}`)
	p := parse(t, "x.properties", "clusters=A,B\nbootstrap.servers=x:1\nA->B.enabled=true")
	if !y.Flows[0].SyncGroupOffsets || p.Flows[0].SyncGroupOffsets {
		t.Errorf("group sync: yaml %v, properties %v; want on and off", y.Flows[0].SyncGroupOffsets, p.Flows[0].SyncGroupOffsets)
	}
	for _, f := range []config.Flow{y.Flows[0], p.Flows[0]} {
		want := config.DefaultFlow("A", "B")
		f.SyncGroupOffsets = want.SyncGroupOffsets
		if fmt.Sprint(f) != fmt.Sprint(want) {
			t.Errorf("got %+v, want the defaults %+v", f, want)
		}
	}
}

// TestUpperLimits checks that the interval without a MirrorMaker 2 key never exceeds those with one.
func TestUpperLimits(t *testing.T) {
	c := parse(t, "x.yaml", `
clusters: {A: {bootstrap: "a:1"}, B: {bootstrap: "b:1"}, C: {bootstrap: "c:1"}}
defaults: {positions_interval: 5s}
flows: [{from: A, to: B, checkpoints_interval: 2s}, {from: A, to: C, sync_groups_interval: 3s}, {from: B, to: C}]`)
	for i, want := range []time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second} {
		if got := c.Flows[i].PositionsInterval; got != want {
			t.Errorf("flow %s: positions every %s, want %s", c.Flows[i].Name(), got, want)
		}
	}
}

func TestOneReplicationFactorForAll(t *testing.T) {
	c := parse(t, "x.yaml", `
clusters: {A: {bootstrap: "a:1"}, B: {bootstrap: "b:1"}, C: {bootstrap: "c:1"}}
defaults: {heartbeats_replication_factor: 5}
flows: [{from: A, to: B, replication_factor: 1}, {from: A, to: C}]`)
	factors := func(f config.Flow) [4]int16 {
		return [4]int16{f.ReplicationFactor, f.OffsetSyncsReplicationFactor, f.CheckpointsReplicationFactor, f.HeartbeatsReplicationFactor}
	}
	if got, want := factors(c.Flows[0]), [4]int16{1, 1, 1, 5}; got != want {
		t.Errorf("A->B: %v, want %v", got, want)
	}
	if got, want := factors(c.Flows[1]), [4]int16{2, 3, 3, 5}; got != want {
		t.Errorf("A->C: %v, want %v", got, want)
	}
}

func TestKindByContent(t *testing.T) {
	const props = "# x\nclusters = A, B\nbootstrap.servers=x:1\nA->B.enabled = true\n"
	const yml = "# a = b\nclusters: {A: {bootstrap: \"a:1\"}, B: {bootstrap: \"b:1\"}}\nflows:\n  - {from: A, to: B, topics: ['x=y']}\n"
	if c := parse(t, "mm2.conf", props); c.Flows[0].Topics[0] != ".*" {
		t.Errorf("properties without extension: %+v", c)
	}
	if c := parse(t, "tidemark.conf", yml); c.Flows[0].Topics[0] != "x=y" {
		t.Errorf("yaml without extension: %+v", c)
	}
}

func TestLoadMissing(t *testing.T) {
	_, err := configfile.Load(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}
