//go:build unix

package testcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestFormatsAsTheToolDoes: what is written with what the storage tool once wrote is what the tool writes, but for the ids
// of node and directory and the comment above them.
func TestFormatsAsTheToolDoes(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	libs, err := Libs(ctx)
	must(t, err)
	home := t.TempDir() // a machine where nothing was formatted yet
	must(t, os.Symlink(libs, filepath.Join(home, "libs")))
	o, err := RealOptions{Brokers: 3, Security: SASLPlaintext, Features: map[string]int{"transaction.version": 0, "group.version": 1}}.withDefaults()
	must(t, err)
	r := &Real{opts: o, dir: t.TempDir(), libs: filepath.Join(home, "libs")}
	must(t, r.layout())
	t.Cleanup(r.ports.release)
	var bootstrap, meta [][]byte
	for _, n := range r.nodes {
		must(t, r.format(ctx, n))
		for name, into := range map[string]*[][]byte{bootstrapFile: &bootstrap, metaFile: &meta} {
			text, err := os.ReadFile(filepath.Join(n.dataDir(), name))
			must(t, err)
			*into = append(*into, text)
		}
	}
	line := func(text []byte, key string) string {
		return string(regexp.MustCompile(`(?m)^` + key + `=.*$`).Find(text))
	}
	for i := 1; i < len(meta); i++ {
		if !bytes.Equal(bootstrap[0], bootstrap[i]) {
			t.Errorf("node %d has other first records than the tool wrote", i+1)
		}
		if n := len(regexp.MustCompile(`(?m)^[^#]`).FindAll(meta[i], -1)); n != 4 || n != len(regexp.MustCompile(`(?m)^[^#]`).FindAll(meta[0], -1)) {
			t.Errorf("node %d has other properties:\n%s\nthe tool wrote:\n%s", i+1, meta[i], meta[0])
		}
		for key, same := range map[string]bool{"version": true, "cluster.id": true, "node.id": false, "directory.id": false} {
			if got := line(meta[i], key); got == "" || (got == line(meta[0], key)) != same {
				t.Errorf("node %d has %q, the tool wrote %q", i+1, got, line(meta[0], key))
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(home, "format-*"))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("what is kept is %q, want one file", left)
	}
}
