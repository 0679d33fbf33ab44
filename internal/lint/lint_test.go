package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepositoryRules(t *testing.T) {
	findings, err := Check("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// TestEveryRuleIsApplied breaks each rule once and checks that exactly these findings come.
func TestEveryRuleIsApplied(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"good/good.go":        "// Package good owns nothing.\n//\n// It is an example.\npackage good\n",
		"good/good_test.go":   "package good\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Log(1); go t.Log(2) }\n",
		"good/windows.go":     "//go:build never\n\npackage good\n",
		"bare/bare.go":        "// Package bare.\npackage bare\n",
		"onlytag/x.go":        "//go:build never\n\npackage onlytag\n",
		"long/long.go":        "// Package long is\n// far\n// too long.\npackage long\n" + strings.Repeat("\n", maxLines-4) + "var x int\n",
		"full/full.go":        "// Package full is\n// just\n// right.\npackage full\n" + strings.Repeat("\n", maxLines-5) + "var x int\n",
		"ascii/a.go":          "// Package ascii has\n// one\n// caf\u00e9.\npackage ascii\n",
		"sleep/s.go":          "// Package sleep\n// is\n// tired.\npackage sleep\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
		"skip/s_test.go":      "package skip\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tt.Skip()\n}\n",
		"offsetmap/o.go":      "// Package offsetmap\n// is\n// pure.\npackage offsetmap\n\nfunc f() {\n\tgo f()\n}\n",
		"other/testdata/t.go": "not go at all",
		"tools/go.mod":        "module tools\n",
		"tools/t.go":          "package tools\n",
		".hidden/h.go":        "package hidden\n",
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, f.String())
	}
	want := []string{
		"ascii/a.go:3: a character that is not ASCII: write it as an escape, or in words",
		"bare: no package comment of 3 lines or more",
		"long/long.go: 401 lines, more than 400: split it by what it is about",
		"offsetmap/o.go:7: a go statement in a package that only decides",
		"skip/s_test.go:6: t.Skip: a test that is skipped proves nothing",
		"sleep/s.go:8: time.Sleep: wait for a timer and the context, in tests for a condition",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestUnreadable(t *testing.T) {
	if _, err := Check(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("no error for a folder that does not exist")
	}
}
