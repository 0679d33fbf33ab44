package configfile_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/config/yamlfile"
	"tidemark/internal/configfile"
)

// FuzzParse: whatever the file, Parse never panics; it returns either a config or problems; and a config is complete.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"testdata/good", "testdata/bad"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(strings.HasSuffix(e.Name(), ".properties"), data)
		}
	}
	f.Fuzz(func(t *testing.T, properties bool, data []byte) {
		name := "x.yaml"
		if properties {
			name = "x.properties"
		}
		c, err := configfile.Parse(name, data)
		checkParsed(t, c, err)
		c, err = configfile.Parse("x", data)
		checkParsed(t, c, err)
	})
}

type failer interface{ Fatalf(string, ...any) }

func checkParsed(t failer, c *config.Config, err error) {
	if err != nil {
		var problems report.Problems
		if c != nil || !errors.As(err, &problems) {
			t.Fatalf("config %v with error %T", c, err)
		}
		return
	}
	if len(c.EnabledFlows()) == 0 {
		t.Fatalf("no enabled flow and no problem: %+v", c)
	}
	for _, f := range c.Flows {
		_, source := c.Clusters[f.Source]
		_, target := c.Clusters[f.Target]
		positive := f.RefreshTopicsInterval > 0 && f.RefreshGroupsInterval > 0 && f.EmitCheckpointsInterval > 0 &&
			f.SyncGroupOffsetsInterval > 0 && f.PositionsInterval > 0 && f.HeartbeatsInterval > 0 && f.SyncTopicConfigsInterval > 0 && f.SyncTopicACLsInterval > 0
		if !source || !target || f.Source == f.Target || !positive || f.Separator == "" && f.Policy != config.PolicyIdentity || f.Lanes < 1 || f.MemoryBytes < 1<<20 ||
			f.ReplicationFactor == 0 || f.Separator != "" && (strings.Contains(f.SourceAlias, f.Separator) || strings.Contains(f.TargetAlias, f.Separator)) {
			t.Fatalf("incomplete flow: %+v", f)
		}
		if name, err := config.ParseFlow(f.Name().String()); err != nil || name != f.Name() {
			t.Fatalf("flow %s is not found by its own name: %v, %v", f.Name(), name, err)
		}
	}
	text, err := yamlfile.Write(c, "/base")
	if err != nil {
		t.Fatalf("%+v cannot be written as YAML: %v", c, err)
	}
	again, err := configfile.Parse("x.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(c.Flows, again.Flows); diff != "" {
		t.Fatalf("written as YAML (-before +after):\n%s\nof\n%s", diff, text)
	}
}

// TestRandomSettings builds files of random lines from known keys and arbitrary values: never a panic, always complete.
func TestRandomSettings(t *testing.T) {
	keys := []string{
		"clusters", "source.cluster.alias", "A->B.target.cluster.alias", "A.bootstrap.servers", "bootstrap.servers", "A->B.enabled", "B->A.topics", "topics", "replication.factor",
		"A->B.replication.policy.class", "replication.policy.separator", "refresh.topics.interval.seconds", "security.protocol",
		"sasl.mechanism", "A.sasl.jaas.config", "ssl.truststore.certificates", "offset-syncs.topic.location", "enabled",
		"tidemark.memory.bytes", "tidemark.positions.interval.ms", "config.providers", "A->", "->", "A", "nonsense",
	}
	values := []string{
		"A, B", "A", "a/b", "x:1", "true", "false", "1", "-1", "0", "IdentityReplicationPolicy", "SASL_SSL", "PLAIN", ".", "", "file",
		`x.PlainLoginModule required username="u" password="p";`, "${file:x}", "source", "99999999", "-----BEGIN X-----A-----END X-----",
	}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			text.WriteString(rapid.SampledFrom(keys).Draw(t, "key") + "=" + rapid.SampledFrom(values).Draw(t, "value") + "\n")
		}
		c, err := configfile.Parse("x.properties", []byte(text.String()))
		checkParsed(t, c, err)
	})
}
