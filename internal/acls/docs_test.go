package acls

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/configfile"
)

const page = "../../docs/acls.md"

// docsTable is the table of docs/acls.md, made for the file that stands above it there.
func docsTable(t *testing.T, file string) string {
	t.Helper()
	cfg, err := configfile.Parse("flow.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| on | resource | right | needed to | unless |\n| --- | --- | --- | --- | --- |\n")
	for i, c := range Of(cfg, cfg.EnabledFlows(), "").Clusters {
		side := []string{"A, the source", "B, the target"}[i]
		for _, rule := range c.Rules {
			resource := "`" + rule.Name + "`"
			if rule.Pattern == Prefixed {
				resource += " (prefixed)"
			}
			resource = strings.ReplaceAll(string(rule.Resource), "-", " ") + " " + resource
			for _, right := range rule.Rights {
				operation := string(right.Operation)
				for _, why := range right.shown() {
					unless := ""
					if why.Unless != "" {
						unless = "`" + strings.ReplaceAll(why.Unless, " or ", "` or `") + "`"
					}
					row := "| " + strings.Join([]string{side, resource, operation, why.text(), unless}, " | ") + " |"
					b.WriteString(strings.ReplaceAll(strings.ReplaceAll(row, "|  |", "| |"), "|  |", "| |") + "\n")
					side, resource, operation = "", "", ""
				}
			}
		}
	}
	return b.String()
}

// TestDocsTable compares the table of docs/acls.md with what the code computes. UPDATE_DOCS=1 writes it.
func TestDocsTable(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, rest, ok := strings.Cut(text, "```yaml\n")
	file, _, ok2 := strings.Cut(rest, "```")
	begin := strings.Index(text, "| on | resource |")
	if !ok || !ok2 || begin < 0 {
		t.Fatalf("%s has no file and no table", page)
	}
	end := begin
	for line := range strings.Lines(text[begin:]) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		end += len(line)
	}
	want := docsTable(t, file)
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(page, []byte(text[:begin]+want+text[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text[begin:end], want); diff != "" {
		t.Errorf("%s is not what the code computes; UPDATE_DOCS=1 go test ./internal/acls -run TestDocsTable writes it (-have +want):\n%s", page, diff)
	}
}

// TestDocsListEveryField: each field of the JSON document is in docs/cli.md.
func TestDocsListEveryField(t *testing.T) {
	data, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n## tidemark acls\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, typ := range []reflect.Type{reflect.TypeFor[Report](), reflect.TypeFor[Cluster](), reflect.TypeFor[Rule](), reflect.TypeFor[Right](), reflect.TypeFor[Reason]()} {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/cli.md, tidemark acls: no word about the field %q of %s", name, typ)
			}
		}
	}
	for _, op := range operations() {
		if !strings.Contains(text, string(op)) {
			t.Errorf("docs/cli.md, tidemark acls: no word about %s", op)
		}
	}
}
