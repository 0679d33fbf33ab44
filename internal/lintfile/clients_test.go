package lintfile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/config/provider"
	"tidemark/internal/configfile"
	"tidemark/internal/lintfile"
)

// TestRackIsNamed: a consumer's rack is none of the settings of any client; where the file sets one, the client that it was
// meant for says so, with the key, and the file's findings do so once for each key.
func TestRackIsNamed(t *testing.T) {
	const base = "clusters = A, B, C\nbootstrap.servers = x:1\nA->B.enabled = true\nA->C.enabled = true\n"
	const value = "not used: records are read from the leaders of partitions, never from the nearest replica (KIP-392)"
	for key, want := range map[string][]string{
		"A.client.rack":                      {"A->B source_consumer", "A->C source_consumer"},
		"A.consumer.client.rack":             {"A->B source_consumer", "A->C source_consumer"},
		"A->C.source.consumer.client.rack":   {"A->C source_consumer"},
		"A->B.consumer.client.rack":          {"A->B source_consumer", "A->B target_consumer"},
		"B.consumer.client.rack":             {"A->B target_consumer"},
		"A->C.target.consumer.client.rack":   {"A->C target_consumer"},
		"consumer.client.rack":               nil, // MirrorMaker 2 ignores it too
		"A->B.source.consumer.fetch.max.rak": nil,
	} {
		read := configfile.Examine("x.properties", []byte(base+key+" = a"), provider.Outside{})
		var got []string
		for _, f := range lintfile.Clients("x.properties", read).Flows {
			for _, c := range f.Clients {
				for _, s := range c.Settings {
					if s.Name == "client_rack" && s.Value == value && s.Key == key && s.Line == 5 {
						got = append(got, f.Name+" "+string(c.Role))
					} else if strings.Contains(s.Name, "rack") {
						t.Errorf("%s: %+v", key, s)
					}
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is named by %v, want %v", key, got, want)
		}
		named := 0
		for _, f := range lintfile.Look("x.properties", read, nil).Findings {
			if f.Line == 5 {
				named++
			}
		}
		if named != 1 {
			t.Errorf("%s is named %d times among the findings", key, named)
		}
		if len(want) > 0 && !slices.Contains(read.Config.Notes, fmt.Sprintf("%s has no effect: %s (line 5)", key, strings.TrimPrefix(value, "not used: "))) {
			t.Errorf("%s is not named at start: %q", key, read.Config.Notes)
		}
	}
}
