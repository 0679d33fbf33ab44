package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// The list fits the code: what a break replaces is there once, and each of its tests has a name that is there. Whether a test
// catches it takes the breaking (make mutants).
func TestListFitsTheCode(t *testing.T) {
	text, err := os.ReadFile("list.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(string(text))
	if err != nil || len(all) < 60 {
		t.Fatalf("%d breaks, %v", len(all), err)
	}
	names, seen := map[string][]string{}, map[string]bool{}
	for _, m := range all {
		if seen[m.name] {
			t.Errorf("%s: twice", m.name)
		}
		seen[m.name] = true
		src, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if n := bytes.Count(src, []byte(m.old)); n != 1 {
			t.Errorf("%s: %s holds what is to be replaced %d times, want once", m.name, m.file, n)
		}
		for _, run := range m.tests {
			pkg, which, _ := strings.Cut(run, " ")
			if names[pkg] == nil {
				names[pkg] = testsOf(t, pkg)
			}
			match, err := regexp.Compile(which)
			if err != nil || !match.MatchString(strings.Join(names[pkg], "\n")) {
				t.Errorf("%s: %s has no test %q, %v", m.name, pkg, which, err)
			}
		}
	}
}

// testsOf are the names of a package's tests.
func testsOf(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range testFunc.FindAllStringSubmatch(string(src), -1) {
			names = append(names, f[1])
		}
	}
	return names
}

func TestParse(t *testing.T) {
	all, err := parse("# for people\n= a break\nfile a.go\n-\told\n+\tnew\n+\n+\tmore\ntest ./a One|Two\ntest ./a Three\n\n= another\nfile b.go\n-x\ntest ./b .\nsurvives it is dead\n")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if m := all[0]; m.name != "a break" || m.file != "a.go" || m.old != "\told\n" || m.new != "\tnew\n\n\tmore\n" || len(m.tests) != 2 || m.survives != "" {
		t.Errorf("%+v", m)
	}
	if m := all[1]; m.new != "" || m.survives != "it is dead" {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{"file a.go", "= a break\nfile a.go\ntest ./a .", "= a break\nfile a.go\n-x", "= a break\nwhat"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
