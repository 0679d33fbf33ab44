package resource

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/config/report"
)

// TestIs: only what is one of MirrorMaker 2's forms is taken for one.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"":     false,
		"a: [": false,
		"clusters: {A: {bootstrap: 'a:1'}}\nflows: []": false,
		"kind: Kafka\nspec: {}":                        false,
		"kind: KafkaMirrorMaker2":                      true,
		"kind: Kafka\n---\nkind: KafkaMirrorMaker2":    true,
		`{"connector.class": "MirrorSourceConnector"}`: true,
		`{"config": {"connector.class": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"}}`: true,
		`[{"config": {"connector.class": "MirrorHeartbeat"}}]`:                                         true,
		`[{"config": {"connector.class": "MirrorSource"}}, 7]`:                                         false,
		`{"connector.class": "io.debezium.connector.mysql.MySqlConnector"}`:                            false,
		"kind: KafkaConnector\nspec: {class: MirrorSourceConnector, config: {}}":                       true,
	} {
		if got := Is([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestRead: what a resource says, as a properties file would say it.
func TestRead(t *testing.T) {
	const head = "kind: KafkaMirrorMaker2\nspec:\n  target: {alias: west, bootstrapServers: 'west:1'%s}\n  mirrors:\n  - source: {alias: east, bootstrapServers: 'east:1'}\n    sourceConnector: {config: {replication.factor: 3}}\n%s"
	const plain = "west.bootstrap.servers=west:1 east.bootstrap.servers=east:1 "
	for _, tc := range []struct{ text, want string }{
		{fmt.Sprintf(head, "", "    topicsPattern: a|b"), plain + "east->west.replication.factor=3 east->west.topics=a|b clusters=west, east east->west.enabled=true east->west.emit.checkpoints.enabled=false east->west.emit.heartbeats.enabled=false"},
		{
			fmt.Sprintf(head, ", authentication: {type: plain, username: u, passwordSecret: {secretName: s, password: p}}", "    checkpointConnector: {}\n    heartbeatConnector: {}"),
			"west.bootstrap.servers=west:1 west.sasl.mechanism=PLAIN west.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"${env:TIDEMARK_WEST_PASSWORD}\"; west.security.protocol=SASL_PLAINTEXT " +
				"east.bootstrap.servers=east:1 east->west.replication.factor=3 clusters=west, east east->west.enabled=true config.providers=env config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider",
		},
		{
			`[{"config": {"connector.class": "MirrorSource", "source.cluster.alias": "a", "target.cluster.alias": "b", "source.cluster.bootstrap.servers": "a:1", "topics": "x"}}, {"config": {"connector.class": "MirrorCheckpoint", "source.cluster.alias": "a", "target.cluster.alias": "b", "source.cluster.bootstrap.servers": "a:1"}}]`,
			"a.bootstrap.servers=a:1 a->b.topics=x clusters=a, b a->b.enabled=true a->b.emit.heartbeats.enabled=false",
		},
	} {
		var r report.Report
		var got []string
		for _, e := range Read(&r, []byte(tc.text)) {
			got = append(got, e.Key+"="+e.Value)
		}
		if text := strings.Join(got, " "); text != tc.want || len(r.Problems) > 0 {
			t.Errorf("%s\n got %s\nwant %s\n%v", tc.text, text, tc.want, r.Problems)
		}
	}
}

// FuzzRead: whatever a text holds, reading it ends with entries or a problem.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("../../lintfile/testdata/operators/*.[yj]*")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r report.Report
		if entries := Read(&r, data); Is(data) && len(entries) == 0 && len(r.Problems) == 0 {
			t.Errorf("%q: nothing is said", data)
		}
	})
}
