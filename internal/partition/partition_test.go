package partition

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	p := ID{Topic: "A.a-b", Partition: 3}
	text, err := json.Marshal(map[ID]int{p: 1})
	if err != nil || string(text) != `{"A.a-b-3":1}` || p.String() != "A.a-b-3" {
		t.Errorf("%s %s, %v", p, text, err)
	}
	back := map[ID]int{}
	if err := json.Unmarshal(text, &back); err != nil || back[p] != 1 {
		t.Errorf("%s became %v, %v", text, back, err)
	}
	for _, bad := range []string{"t", "t-", "t-x", "t-2147483648"} {
		var p ID
		if err := p.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("partition %q was read as %v", bad, p)
		}
	}
}

func TestOrder(t *testing.T) {
	ps := []ID{{"b", 0}, {"a", 10}, {"a", 9}}
	slices.SortFunc(ps, ID.Compare)
	if want := []ID{{"a", 9}, {"a", 10}, {"b", 0}}; !slices.Equal(ps, want) {
		t.Errorf("%v, want %v", ps, want)
	}
}
