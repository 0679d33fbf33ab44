package properties

import (
	"os"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
)

// TestDocsListEveryKey fails when a key is added to the code and not to docs/config.md, or documented and not read.
func TestDocsListEveryKey(t *testing.T) {
	data, err := os.ReadFile("../../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for i, key := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				documented[key] = true
			}
		}
	}
	known := map[string]bool{"clusters": true, "defaults": true, "flows": true, "security": true, "client": true, "clients": true, propPolicy: true}
	for tag, targets := range map[string][]any{
		"yaml": {&config.Flow{}, &config.Cluster{}}, "mm2": {&config.Flow{}, &config.ClientSettings{}}, "client": {&config.ClientSettings{}}, "security": {&security.Security{}, &security.TLS{}, &security.SASL{}},
	} {
		for key := range setting.Of(tag, targets...) {
			known[key] = true
		}
	}
	for _, key := range securityKeys() {
		known[key] = true
	}
	for key := range known {
		if !documented[key] {
			t.Errorf("docs/config.md has no row for %s", key)
		}
	}
	for key := range documented {
		if !known[key] {
			t.Errorf("docs/config.md has a row for %s, which is no key", key)
		}
	}
}

// TestReasonsDoNotHideKeys fails when a key is listed as without effect although it has one.
func TestReasonsDoNotHideKeys(t *testing.T) {
	for _, r := range reasons() {
		for _, s := range r.scopes {
			for _, key := range r.keys {
				for _, have := range honoured(s) {
					if key == have {
						t.Errorf("%s is both read and without effect (%s)", key, r.why)
					}
				}
			}
		}
	}
}
