package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// pages are the repository's documents by their path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(path)] = string(text)
		}
	}
	return out
}

// headings are the titles of a document's sections.
func headings(text string) []string {
	var out []string
	code := false
	for line := range strings.Lines(text) {
		code = code != strings.HasPrefix(strings.TrimSpace(line), "```")
		if title := strings.TrimLeft(line, "#"); !code && title != line {
			out = append(out, strings.TrimSpace(title))
		}
	}
	return out
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor is what a title is linked by.
func anchor(title string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// TestPagesLinkToWhatIsThere: links between documents, and from them to files, lead to what is there, section included.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	all := pages(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, section, _ := strings.Cut(m[1], "#")
			to := page
			if path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), path))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			found := section == ""
			for _, title := range headings(all[to]) {
				found = found || anchor(title) == section
			}
			if !found {
				t.Errorf("%s links to %s, which has no such section", page, m[1])
			}
		}
	}
}

// TestPagesNameTests: a test or benchmark that a document names is there.
func TestPagesNameTests(t *testing.T) {
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	eachGoFile(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range function.FindAllStringSubmatch(text, -1) {
				declared[m[1]] = true
			}
		}
	})
	name := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w+)`")
	for page, text := range pages(t) {
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			if !declared[m[1]] {
				t.Errorf("%s names %s, which is nowhere", page, m[1])
			}
		}
	}
}

// TestCodeCitesSections: a comment that cites a section of the design names one that is there.
func TestCodeCitesSections(t *testing.T) {
	titles := headings(pages(t)["docs/design.md"])
	cites := regexp.MustCompile(`docs/design\.md, (.+)`)
	found := 0
	eachGoFile(t, func(path, text string) {
		if strings.HasSuffix(path, "pages_test.go") {
			return // says how to cite
		}
		for _, m := range cites.FindAllStringSubmatch(text, -1) {
			found++
			known := false
			for _, title := range titles {
				known = known || strings.HasPrefix(m[1], title)
			}
			if !known {
				t.Errorf("%s cites %q, which is no section of docs/design.md", path, m[1])
			}
		}
	})
	if found == 0 {
		t.Error("no comment cites a section: the test looks for the wrong words")
	}
}

func eachGoFile(t *testing.T, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skipped(path, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			do(filepath.ToSlash(path), string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
