// Command mutants breaks the code in small ways, one after the other, and says which of them no test catches. The breaks
// stand in list.txt beside it, as what is replaced by what; nothing of the working tree is changed (go test -overlay).
//
//	go run ./tools/mutants [-run REGEX] [-list FILE]
//
// It exits 1 when a break is caught by no test and not explained, or when the list no longer fits the code.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// mutant is one break.
type mutant struct {
	name     string
	file     string
	old, new string
	tests    []string // package, and what to run of it: the tests that should catch it, the quickest first
	survives string   // why no test can catch it; empty: one must
}

func main() {
	only := flag.String("run", "", "only breaks whose name matches")
	list := flag.String("list", "tools/mutants/list.txt", "the breaks")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *list, *only); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, list, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	all, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	var bad []string
	caught, explained := 0, 0
	for _, m := range all {
		if !match.MatchString(m.name) {
			continue
		}
		began := time.Now()
		by, err := m.try(ctx)
		took := time.Since(began).Round(time.Second)
		switch {
		case err != nil:
			bad = append(bad, fmt.Sprintf("%s: %v", m.name, err))
			fmt.Fprintf(out, "ERROR     %4v  %s: %v\n", took, m.name, err)
		case by != "":
			caught++
			fmt.Fprintf(out, "caught    %4v  %s: by %s\n", took, m.name, by)
		case m.survives != "":
			explained++
			fmt.Fprintf(out, "explained %4v  %s: %s\n", took, m.name, m.survives)
		default:
			bad = append(bad, m.name+": no test catches it")
			fmt.Fprintf(out, "SURVIVES  %4v  %s\n", took, m.name)
		}
	}
	fmt.Fprintf(out, "%d caught, %d explained, %d not\n", caught, explained, len(bad))
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "\n"))
	}
	return nil
}

// parse reads the list. A break begins with "= name"; then "file PATH", lines that go ("-") and lines that come ("+"), and
// "test PACKAGE REGEX" lines, or "survives REASON". Lines that begin with # are for people.
func parse(text string) (all []mutant, err error) {
	var m *mutant
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || word[0] == '#':
		case word == "=":
			all = append(all, mutant{name: rest})
			m = &all[len(all)-1]
		case m == nil:
			return nil, fmt.Errorf("line %d: no break has begun", n+1)
		case word == "file":
			m.file = rest
		case word == "test":
			m.tests = append(m.tests, rest)
		case word == "survives":
			m.survives = rest
		case line[0] == '-':
			m.old += line[1:] + "\n"
		case line[0] == '+':
			m.new += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("line %d: %q is none of =, file, -, +, test, survives", n+1, word)
		}
	}
	for _, m := range all {
		if m.file == "" || m.old == "" || len(m.tests) == 0 {
			return nil, fmt.Errorf("break %q needs a file, lines that go, and tests", m.name)
		}
	}
	return all, nil
}

// failed is how go test names what failed.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: (.*)$|^FAIL\s+(\S+) \[build failed\]`)

// try runs the tests on the broken code; by is the test that caught it, empty if none did.
func (m mutant) try(ctx context.Context) (by string, err error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(src, []byte(m.old)); n != 1 {
		return "", fmt.Errorf("%s holds what is to be replaced %d times, want once", m.file, n)
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(broken, bytes.Replace(src, []byte(m.old), []byte(m.new), 1), 0o600); err != nil {
		return "", err
	}
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, files, 0o600); err != nil {
		return "", err
	}
	for _, t := range m.tests {
		pkg, which, _ := strings.Cut(t, " ")
		out, err := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout", "5m", "-run", which, pkg).CombinedOutput()
		if err == nil {
			continue
		}
		hit := failed.FindStringSubmatch(string(out))
		switch {
		case hit == nil:
			return "", fmt.Errorf("go test says neither: %w: %.500s", err, out)
		case hit[3] != "":
			return "", fmt.Errorf("does not build: %.500s", out)
		case hit[1] != "":
			return hit[1], nil
		}
		return "panic " + hit[2], nil
	}
	return "", nil
}
