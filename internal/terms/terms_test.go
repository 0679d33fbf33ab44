package terms

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func of(topics ...string) (t Terms) {
	t.Add("topics", topics...)
	t.Add("isolation", "read_committed")
	return t
}

func TestDiffer(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b Terms
		want []string
	}{
		"alike":          {of("one", "two"), of("two", "one", "one"), nil},
		"other topics":   {of("one", "two", "three"), of("three", "four"), []string{"topics only here: one two, only there: four"}},
		"more there":     {of("one"), of("one", "two"), []string{"topics only there: two"}},
		"none there":     {of("one"), of(), []string{"topics only here: one"}},
		"older":          {of("one"), nil, nil},
		"newer has more": {of("one"), append(of("one"), Term{Key: "colour", Digest: "x"}), nil},
		"a comma counts": {of("a,b"), of("a", "b"), []string{"topics only here: a,b, only there: a b"}},
	} {
		if got := Differ(tc.a, tc.b, "here", "there"); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestBehindTheBalancersData: the balancer of any version reads its own part and nothing of ours; we find ours behind it.
func TestBehindTheBalancersData(t *testing.T) {
	sticky := kmsg.NewStickyMemberMetadata()
	sticky.Generation = 7
	sticky.CurrentAssignment = []kmsg.StickyMemberMetadataCurrentAssignment{{Topic: "ledger", Partitions: []int32{1, 2}}}
	plain := sticky.AppendTo(nil)
	data := of("one").Append(plain)
	var read kmsg.StickyMemberMetadata
	if err := read.ReadFrom(data); err != nil || read.Generation != 7 || len(read.CurrentAssignment) != 1 || len(read.CurrentAssignment[0].Partitions) != 2 {
		t.Fatalf("read %+v: %v", read, err)
	}
	if got := Find(data); len(got) != 2 || Differ(got, of("one"), "a", "b") != nil {
		t.Fatalf("found %+v", got)
	}
	if Find(plain) != nil || Find(nil) != nil || Find([]byte(magic+"{")) != nil {
		t.Fatal("found terms where there are none")
	}
}

// TestLongTerms: thousands of patterns do not blow up the group, and a difference among them is still seen.
func TestLongTerms(t *testing.T) {
	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprintf("topic-%d", i))
	}
	data := of(many...).Append(nil)
	if len(data) > maxBytes+1000 {
		t.Fatalf("%d bytes", len(data))
	}
	if got := Differ(Find(data), of(many[1:]...), "here", "there"); len(got) != 1 || !strings.Contains(got[0], "topics is not alike") {
		t.Fatalf("got %q", got)
	}
	few := of(many[:30]...)
	if got := Differ(few, of(), "here", "there"); len(got) != 1 || !strings.Contains(got[0], "and 20 more") {
		t.Fatalf("got %q", got)
	}
}
