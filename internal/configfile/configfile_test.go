package configfile_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/configfile"
)

// TestGood compares what each good file means, and what is noted about it, with a golden file. Run with -rewrite to
// write the golden files anew, and read the difference.
func TestGood(t *testing.T) {
	for _, path := range files(t, "testdata/good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := configfile.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, path, dump(t, c))
		})
	}
}

// TestBad compares all problems of each bad file with a golden file.
func TestBad(t *testing.T) {
	for _, path := range files(t, "testdata/bad") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := configfile.Load(path)
			if err == nil {
				t.Fatalf("no error, but %+v", c)
			}
			if c != nil {
				t.Errorf("a config beside the error: %+v", c)
			}
			var problems report.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("got %T, want Problems", err)
			}
			for _, p := range problems {
				if p.What == "" || p.Do == "" || p.File != path {
					t.Errorf("incomplete problem %+v", p)
				}
			}
			text := err.Error() + "\n"
			if strings.Contains(text, "hunter2") {
				t.Errorf("the password is in the problems:\n%s", text)
			}
			golden(t, path, text)
		})
	}
}

// files are the input files of a folder; golden files end in .golden.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		if filepath.Ext(path) != ".golden" {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no files in %s", dir)
	}
	return out
}

// dump writes a config as YAML, which shows every field.
func dump(t *testing.T, c *config.Config) string {
	t.Helper()
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(c), e.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	path += ".golden"
	if rewrite(t) {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", path, diff)
	}
}

// rewrite is the flag -rewrite, which TestMain defines.
func rewrite(t *testing.T) bool {
	t.Helper()
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("rewrite", false, "write the golden files anew")
	flag.Parse()
	os.Exit(m.Run())
}
