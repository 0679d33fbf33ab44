package verdicts

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/fuzzing"
	"tidemark/internal/translate"
)

// FuzzParse: records of the verdicts topic may be anybody's. What is refused is called malformed; what is taken is
// written as a record that says the same, and names a topic and a partition, or neither.
func FuzzParse(f *testing.F) {
	row := Row{
		RemoteTopic: "A.orders", SourceTopic: "0102", TargetTopic: "0304", Committed: 1600, CommitAt: 77, Metadata: "m", ClaimEpoch: 4, SourceEnd: 1700,
		Verdict: translate.Verdict{Kind: translate.Ahead, Target: 1500, N: 100, Lost: 2, Reason: "why"}, At: time.UnixMilli(1_700_000_000_123).UTC(),
	}
	value, err := row.EncodeRow()
	if err != nil {
		f.Fatal(err)
	}
	keys := []Key{{"billing", "orders", 3}, {"a \"b\" \u00fc", "t", 0}, {Group: "g", Partition: WholeGroup}}
	for _, k := range keys {
		f.Add(k.EncodeKey(), value)
	}
	for i, cut := range fuzzing.Cuts(value) {
		key := fuzzing.Cuts(keys[0].EncodeKey())
		f.Add(key[i%len(key)], cut)
	}
	f.Add([]byte(`[null,null,-1]`), []byte(`{"version":1,"verdict":{"kind":"exact","target":-5}}`))
	f.Add([]byte(`["g","t",null]`), []byte(`null`))
	f.Add([]byte(`["g","t",1e9]`), []byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		fuzzing.Within(t, 1<<20+64*(len(key)+len(value)), func() {
			checkKey(t, key)
			checkRow(t, value)
		})
	})
}

func checkKey(t *testing.T, key []byte) {
	k, err := ParseKey(key)
	if err != nil {
		if !errors.Is(err, ErrMalformed) || k != (Key{}) {
			t.Fatalf("%q is %+v with %v", key, k, err)
		}
		return
	}
	var says []any
	err = json.Unmarshal(key, &says)
	if diff := cmp.Diff([]any{k.Group, k.Topic, float64(k.Partition)}, says); diff != "" || err != nil {
		t.Fatalf("%q is taken as %+v: %v\n%s", key, k, err, diff)
	}
	if k.Partition < WholeGroup || (k.Topic == "") != (k.Partition == WholeGroup) {
		t.Fatalf("%q is taken as %+v", key, k)
	}
	if again, err := ParseKey(k.EncodeKey()); err != nil || again != k {
		t.Fatalf("%+v became %+v, %v", k, again, err)
	}
}

func checkRow(t *testing.T, value []byte) {
	r, err := ParseRow(value)
	if err != nil {
		if !errors.Is(err, ErrMalformed) || !cmp.Equal(r, Row{}) {
			t.Fatalf("%q is %+v with %v", value, r, err)
		}
		return
	}
	text, err := r.EncodeRow()
	if err != nil {
		t.Fatalf("%q cannot be written again: %v", value, err)
	}
	again, err := ParseRow(text)
	if diff := cmp.Diff(r, again); diff != "" || err != nil {
		t.Fatalf("%q became %q: %v\n%s", value, text, err, diff)
	}
}
