// Package lint checks the rules of this repository that general linters cannot express.
//
// Its tests run with every `go test ./...`, so a broken rule shows up before any linter is built. The rules look at
// one file at a time and need nothing but its text: every .go file outside testdata folders and other modules. Further tests
// hold the documents to what is there: links, names of tests, and the sections that comments cite.
//
// It does not check style, imports or forbidden calls in general; .golangci.yml does.
package lint

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxLines    = 400 // what one person reads in one sitting; a longer file is about two things
	minDocLines = 3   // what the package owns, what always holds, what it does not do
)

// purePackages decide and never act: no goroutines in them, their callers own all concurrency.
func purePackages() []string {
	return []string{
		"offsetmap", "mm2", "internal/batch", "internal/translate", "internal/lane", "internal/verdicts", "internal/status", "internal/lintfile",
	}
}

// Finding is one broken rule.
type Finding struct {
	File string // slash-separated, from the repository's root
	Line int    // 0 where the rule is about the whole file
	Text string
}

// String writes "file:line: text".
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// Check looks at the repository whose root is the folder. The error is about reading or parsing files.
func Check(root string) ([]Finding, error) {
	var findings []Finding
	documented := map[string]bool{} // by folder, for folders with files of this build
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && skipped(path, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, doc, err := checkFile(filepath.ToSlash(name), source)
		if err != nil {
			return err
		}
		findings = append(findings, found...)
		dir := filepath.ToSlash(filepath.Dir(name))
		if built, err := build.Default.MatchFile(filepath.Dir(path), d.Name()); err != nil {
			return err
		} else if built && !strings.HasSuffix(name, "_test.go") {
			documented[dir] = documented[dir] || doc >= minDocLines
		}
		return nil
	})
	for dir, ok := range documented {
		if !ok {
			findings = append(findings, Finding{File: dir, Text: fmt.Sprintf("no package comment of %d lines or more", minDocLines)})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return findings, err
}

// skipped says whether a folder holds no code of this module.
func skipped(path, name string) bool {
	if name == "testdata" || strings.HasPrefix(name, ".") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// checkFile applies the rules to one file and counts the lines of its package comment.
func checkFile(name string, source []byte) (findings []Finding, docLines int, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, err
	}
	add := func(line int, text string) { findings = append(findings, Finding{name, line, text}) }
	lines := strings.Split(strings.TrimSuffix(string(source), "\n"), "\n")
	if len(lines) > maxLines {
		add(0, fmt.Sprintf("%d lines, more than %d: split it by what it is about", len(lines), maxLines))
	}
	for i, line := range lines {
		if strings.IndexFunc(line, func(r rune) bool { return r > '~' }) >= 0 {
			add(i+1, "a character that is not ASCII: write it as an escape, or in words")
		}
	}
	pure := slices.Contains(purePackages(), filepath.ToSlash(filepath.Dir(name))) && !strings.HasSuffix(name, "_test.go")
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		line := set.Position(n.Pos()).Line
		switch n := n.(type) {
		case *ast.GoStmt:
			if pure {
				add(line, "a go statement in a package that only decides")
			}
		case *ast.SelectorExpr:
			if text := forbidden(n, name); text != "" {
				add(line, text)
			}
		}
		return true
	})
	if file.Doc != nil {
		docLines = len(strings.Split(strings.TrimSpace(file.Doc.Text()), "\n"))
	}
	return findings, docLines, nil
}

// forbidden says what is wrong with a call by its name. Tests wait for a condition, and a test that is not run proves
// nothing: what it needs, it starts or installs.
func forbidden(n *ast.SelectorExpr, file string) string {
	receiver, ok := n.X.(*ast.Ident)
	if !ok {
		return ""
	}
	switch {
	case receiver.Name == "time" && n.Sel.Name == "Sleep":
		return "time.Sleep: wait for a timer and the context, in tests for a condition"
	case strings.HasSuffix(file, "_test.go") && slices.Contains([]string{"t", "b", "f", "tb"}, receiver.Name) &&
		slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, n.Sel.Name):
		return receiver.Name + "." + n.Sel.Name + ": a test that is skipped proves nothing"
	}
	return ""
}
