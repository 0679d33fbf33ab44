package lintfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/config/provider"
	"tidemark/internal/configfile"
	"tidemark/internal/lintfile"
)

// TestOperatorsFiles: files as operators of MirrorMaker 2 lay them out. What `tidemark lint` says of each was read by
// a person and stands beside it. UPDATE_GOLDEN=1 writes it anew.
func TestOperatorsFiles(t *testing.T) {
	t.Setenv("MM2_BLUE", "blue:9092")
	pem := func(what string) string { return "-----BEGIN " + what + "----- AAAA -----END " + what + "-----" }
	for v, text := range map[string]string{"CA": pem("CERTIFICATE"), "CERTIFICATE": pem("CERTIFICATE"), "KEY": pem("PRIVATE KEY"), "PASSWORD": "x"} {
		t.Setenv("TIDEMARK_WEST_"+v, text)
	}
	files, err := filepath.Glob("testdata/operators/*.[pyj]*") // properties, yaml, json
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	refused := map[string]bool{"18": true, "07": true, "08": true, "09": true, "14": true, "15": true}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := lintfile.Look(file, configfile.Examine(file, data, provider.Process()), nil)
		golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".txt"
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(golden, []byte(r.Text()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), r.Text()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		number := filepath.Base(file)[:2]
		if got := r.Count(lintfile.Error) > 0; got != refused[number] {
			t.Errorf("%s: refused %v", file, got)
		}
	}
}
