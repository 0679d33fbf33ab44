package lintfile_test

import (
	"slices"
	"strings"
	"testing"

	"tidemark/internal/config/provider"
	"tidemark/internal/configfile"
	"tidemark/internal/lintfile"
)

// TestCase82MisspeltKeys: keys that MirrorMaker 2 never had are risks, each once, with its line and the key that was
// meant; the file can be used all the same, as with MirrorMaker 2. See lint_clients.txtar for exit codes.
func TestCase82MisspeltKeys(t *testing.T) {
	file := `# In the style of a file that people share.
clusters = source, target
source.bootstrap.servers = source-kafka:9092
target.bootstrap.servers = target-kafka:9092
source->target.enabled = true
source->target.topics = .*
task.max = 3
topic.blacklist = .*[\-\.]internal, .*\.replica, __consumer_offsets
sync.topics.configs.enabled = true
source.consumer.isolation.levl = read_committed
source->target.producer.override.ack = all
target.producer.linger.ms = 100
source.consumer.client.rak = a
`
	r := lintfile.Look("mm2.properties", configfile.Examine("mm2.properties", []byte(file), provider.Outside{}), nil)
	for line, meant := range map[int]string{7: "tasks.max", 8: "topics.exclude", 9: "sync.topic.configs.enabled", 10: "source.consumer.isolation.level", 11: "source->target.producer.override.acks"} {
		found := slices.DeleteFunc(slices.Clone(r.Findings), func(f lintfile.Finding) bool { return f.Line != line })
		if len(found) != 1 || found[0].Severity != lintfile.Risk || !strings.HasSuffix(found[0].Text, "unknown key, did you mean "+meant+"?") {
			t.Errorf("line %d: %+v, want one risk that names %s", line, found, meant)
		}
	}
	if n := r.Count(lintfile.Error); n > 0 || len(r.Flows) != 1 {
		t.Errorf("%d errors, flows %v", n, r.Flows)
	}
	for _, f := range r.Findings {
		if f.Line == 12 && f.Severity != lintfile.Note {
			t.Errorf("a key of MirrorMaker 2 is a %s: %s", f.Severity, f.Text)
		}
	}
}
