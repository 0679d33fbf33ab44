package control

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestPageShowsADecision: docs/ledger.md shows a decision as this build writes it, and explains each field and kind.
func TestPageShowsADecision(t *testing.T) {
	const page = "../../docs/ledger.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(data), "## Decisions\n")
	if !found {
		t.Fatalf("%s has no such section", page)
	}
	d := Decision{
		ID: "I7ZTQ4", Kind: Moved, Scope: Scope{Flow: "A->B", Partition: AllPartitions, Group: "billing"}, At: time.Unix(1_800_000_000, 0), By: "ann@ops1", Reason: "the new site",
		Committed: map[string]map[int32]int64{"orders": {0: 143}}, Held: map[string]map[int32]int64{"orders": {0: 102}},
	}
	k, v, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string][]byte{"key": k, "value": v} {
		_, rest, _ := strings.Cut(text, "```json "+part+"\n")
		block, _, _ := strings.Cut(rest, "```")
		var got, compact bytes.Buffer
		if err := json.Compact(&got, []byte(block)); err != nil {
			t.Errorf("%s: %v", part, err)
		}
		json.HTMLEscape(&compact, got.Bytes()) // as it is written
		if compact.String() != string(want) {
			t.Errorf("%s shows %s, this build writes\n%s", page, compact.String(), want)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[key](), reflect.TypeFor[value](), reflect.TypeFor[Scope]()} {
		for field := range of.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s does not explain the field %q", page, name)
			}
		}
	}
	for _, k := range []Kind{Pause, Skip, Restart, Forget, Moved, Throttle} {
		if !strings.Contains(text, "`"+string(k)+"`") {
			t.Errorf("%s does not name the kind %q", page, k)
		}
	}
}
