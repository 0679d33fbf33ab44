package cli

import (
	"encoding"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/internal/lintfile"
	"tidemark/internal/status"
	"tidemark/internal/translate"
)

// sections are the parts of docs/cli.md by the command that they are about ("tidemark inspect ledger"), or by their
// title.
func sections(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	title := ""
	for line := range strings.Lines(string(data)) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			title = strings.TrimSpace(heading)
		}
		out[title] += line
	}
	return out
}

// commands calls do for every command that a user can type.
func commands(do func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		do(c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(newRoot(&env{stdout: io.Discard, stderr: io.Discard}))
}

// TestDocsListEveryCommandAndFlag fails when a command or flag is added to one of code and docs/cli.md only.
func TestDocsListEveryCommandAndFlag(t *testing.T) {
	documented := sections(t)
	row := regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|")
	known := map[string]bool{}
	commands(func(c *cobra.Command) {
		title := c.CommandPath()
		if c.HasParent() == false {
			title = "Flags of every command"
		}
		known[title] = true
		text, ok := documented[title]
		if !ok {
			t.Errorf("docs/cli.md has no section %q", title)
			return
		}
		flags := map[string]bool{}
		add := func(f *pflag.Flag) { flags[f.Name] = true }
		if c.HasParent() {
			c.NonInheritedFlags().VisitAll(add)
		} else {
			c.PersistentFlags().VisitAll(add)
			flags["help"] = true
		}
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] {
				t.Errorf("docs/cli.md lists --%s of %s, which it has not", m[1], title)
			}
			delete(flags, m[1])
		}
		for name := range flags {
			t.Errorf("docs/cli.md does not list --%s of %s", name, title)
		}
	})
	for title := range documented {
		if strings.HasPrefix(title, "tidemark ") && !known[title] {
			t.Errorf("docs/cli.md has a section %q, which is no command", title)
		}
	}
}

func TestDocsListEveryExitCode(t *testing.T) {
	text := sections(t)["Exit codes"]
	for _, code := range []int{ExitOK, ExitFailed, ExitUsage, ExitFindings, ExitInterrupted} {
		if !strings.Contains(text, "\n| "+strconv.Itoa(code)+" | ") {
			t.Errorf("docs/cli.md has no row for exit code %d", code)
		}
		if help := newRoot(&env{}).Long; !regexp.MustCompile(`\b` + strconv.Itoa(code) + " ").MatchString(help) {
			t.Errorf("tidemark --help does not name exit code %d", code)
		}
	}
}

// TestDocsListEveryField compares the JSON contract with the types, for each command in its own section.
func TestDocsListEveryField(t *testing.T) {
	documented := sections(t)
	for title, values := range map[string][]any{
		"tidemark status":               {flows{}},
		"tidemark groups":               {status.Groups{}},
		"Write":                         {status.Handover{}},
		"tidemark translate":            {status.Translation{}, status.Lookup{}, status.Return{}},
		"tidemark inspect ledger":       {status.LedgerRecords{}},
		"tidemark inspect checkpoints":  {status.MM2Records{Checkpoints: []status.Checkpoint{}}},
		"tidemark inspect offset-syncs": {status.OffsetSync{}},
		"tidemark inspect heartbeats":   {status.Heartbeat{}},
		"tidemark lint":                 {lintfile.Report{}},
		"tidemark topics":               {topicLists{}},
		"tidemark version":              {version{}},
		"JSON":                          {status.Header{}, status.Damage{}},
	} {
		text := documented[title] + documented["JSON"]
		switch title {
		case "tidemark groups":
			text += documented["tidemark status"] // it refers to the transactions there
		case "tidemark translate":
			text += documented["tidemark groups"] + documented["tidemark status"] // it refers to the positions there
		case "tidemark inspect checkpoints":
			text += documented["tidemark inspect offset-syncs"] + documented["tidemark inspect heartbeats"]
		}
		for _, v := range values {
			for field := range jsonFields(reflect.TypeOf(v)) {
				if !strings.Contains(text, "`"+field+"`") {
					t.Errorf("docs/cli.md, %s: no word about the field %s", title, field)
				}
			}
		}
	}
	for _, k := range translate.Kinds() {
		if !strings.Contains(documented["tidemark groups"], "`"+k.String()+"`") {
			t.Errorf("docs/cli.md does not list the verdict %s", k)
		}
	}
}

// jsonFields are the names of all fields that a type has in JSON, however deep.
func jsonFields(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return jsonFields(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return out
		}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name != "" {
				out[name] = true
			}
			for inner := range jsonFields(f.Type) {
				out[inner] = true
			}
		}
	default:
	}
	return out
}

// TestEveryFieldHasAName fails when an exported field of a snapshot would show under its Go name.
func TestEveryFieldHasAName(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[time.Time]() {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if !f.Anonymous && f.Tag.Get("json") == "" {
				t.Errorf("%s.%s has no json name", typ, f.Name)
			}
			if f.Tag.Get("json") != "-" {
				walk(f.Type)
			}
		}
	}
	for _, v := range []any{flows{}, status.Groups{}, status.Handover{}, status.Translation{}, status.Lookup{}, status.Return{}, status.LedgerRecords{}, status.MM2Records{}, lintfile.Report{}, topicLists{}, version{}} {
		walk(reflect.TypeOf(v))
	}
}

// TestHelp: every command says what it does, and those that print data which exit codes they have.
func TestHelp(t *testing.T) {
	commands(func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short help", c.CommandPath())
		}
		if c.Flags().Lookup("timeout") != nil && !strings.Contains(c.Long, "Exit codes:") {
			t.Errorf("the help of %s does not name its exit codes", c.CommandPath())
		}
	})
}
