package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/config/setting"
)

// rows are the table rows of docs/config.md by each key in their first column; a key of several tables has several.
func rows(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for i, key := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				out[key] = append(out[key], strings.Join(cells[2:], "|"))
			}
		}
	}
	return out
}

// TestDocsStateDefaults compares the second column of a flow's keys with the defaults in the code.
func TestDocsStateDefaults(t *testing.T) {
	documented := rows(t)
	f := DefaultFlow("", "")
	for key, s := range setting.Of("yaml", &f) {
		if s.Field == "Source" || s.Field == "Target" || s.Kind == "alias" { // these have none of their own
			continue
		}
		want := " " + defaultText(s.Value) + " |"
		found := false
		for _, row := range documented[key] {
			found = found || strings.HasPrefix(row, want)
		}
		if !found {
			t.Errorf("docs/config.md: the row of %s does not begin with the default%s", key, want)
		}
	}
}

// TestDocsStateClientSettings: the rows of client settings hold every default and every bound that the code has.
func TestDocsStateClientSettings(t *testing.T) {
	documented := rows(t)
	for key, s := range setting.Of("client", &ClientSettings{}) {
		row := strings.Join(documented[key], "")
		for _, r := range Roles() {
			if !r.Uses(s.Field) {
				continue
			}
			b, d := Bounds(r)[s.Field], defaultSettings(r)
			texts := map[string]int64{"default": setting.Of("client", &d)[key].Value.Int(), "lower bound": b.Least, "upper bound": b.Most}
			switch s.Field {
			case "SendBuffer", "ReceiveBuffer":
				delete(texts, "default")
			case "FetchBytes", "PartitionFetchBytes", "FetchMinBytes": // what fit says
				delete(texts, "upper bound")
			}
			for what, n := range texts {
				if want := "`" + Amount(s.Field, n) + "`"; !strings.Contains(row, want) {
					t.Errorf("docs/config.md: the row of %s does not hold the %s of %s, %s: %s", key, what, r, want, row)
				}
			}
		}
	}
}

func defaultText(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case []string:
		return "`" + strings.Join(value, "`, `") + "`"
	case time.Duration:
		text := strings.TrimSuffix(value.String(), "0s")
		if text == "" || strings.HasSuffix(text, ".") || text[len(text)-1] >= '0' && text[len(text)-1] <= '9' {
			text = value.String()
		}
		return "`" + text + "`"
	case int64:
		return fmt.Sprintf("`%dMiB`", value>>20)
	default:
		return fmt.Sprintf("`%v`", value)
	}
}

// TestEveryFieldHasAKey fails when a field is added to Flow that no file can set.
func TestEveryFieldHasAKey(t *testing.T) {
	for field := range reflect.TypeFor[Flow]().Fields() {
		yaml, mm2 := field.Tag.Get("yaml"), field.Tag.Get("mm2")
		special := map[string]bool{"Source": true, "Target": true, "Policy": true, "Isolation": true, "Start": true} // read by the forms themselves
		if yaml == "" || (mm2 == "") != special[field.Name] {
			t.Errorf("field %s: yaml %q, mm2 %q", field.Name, yaml, mm2)
		}
	}
}
