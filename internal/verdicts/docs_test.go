package verdicts

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/translate"
)

const page = "../../docs/ledger.md"

// TestPageShowsTheRow: docs/ledger.md shows a row as this build writes it, and explains each field and kind.
func TestPageShowsTheRow(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, rest, _ := strings.Cut(text, "```json\n")
	block, _, _ := strings.Cut(rest, "```")
	row := Row{
		RemoteTopic: "A.orders", SourceTopic: "101112131415161718191a1b1c1d1e1f", TargetTopic: "202122232425262728292a2b2c2d2e2f",
		Committed: 143, CommitAt: -1, Metadata: "m", ClaimEpoch: 3, SourceEnd: 150,
		Verdict: translate.Verdict{Kind: translate.Exact, Target: 102}, At: time.UnixMilli(1_800_000_000_000).UTC(),
	}
	want, err := row.EncodeRow()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, []byte(block)); err != nil || got.String() != string(want) {
		t.Errorf("%s shows %s (%v), this build writes\n%s", page, got.String(), err, want)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Row](), reflect.TypeFor[translate.Verdict]()} {
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !inRow(text, name) {
				t.Errorf("no row of %s explains the field %q", page, name)
			}
		}
	}
	for _, k := range translate.Kinds() {
		if !strings.Contains(text, "`"+k.String()+"`") {
			t.Errorf("%s does not name the kind %q", page, k)
		}
	}
	for _, k := range []Key{{"billing", "orders", 3}, {Group: "billing", Partition: WholeGroup}} {
		if !strings.Contains(text, "`"+string(k.EncodeKey())+"`") {
			t.Errorf("%s does not show the key %s", page, k.EncodeKey())
		}
	}
}

// inRow says whether the first cell of a table's row names a field.
func inRow(text, name string) bool {
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) > 2 && strings.Contains(cells[1], "`"+name+"`") {
			return true
		}
	}
	return false
}
