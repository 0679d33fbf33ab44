package yamlfile

import (
	"os"
	"strings"
	"testing"
)

// TestDocsListNestedKeys: docs/config.md has a row for each key that holds others. The keys of settings are compared where
// those of MirrorMaker 2 are.
func TestDocsListNestedKeys(t *testing.T) {
	data, err := os.ReadFile("../../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{keyClusters, keyDefaults, keyFlows, keySecurity, keyClient, keyClients} {
		documented := false
		for line := range strings.Lines(string(data)) {
			cells := strings.Split(line, "|")
			documented = documented || len(cells) > 3 && strings.Contains(cells[1], "`"+key+"`")
		}
		if !documented {
			t.Errorf("docs/config.md has no row for %s", key)
		}
	}
}
