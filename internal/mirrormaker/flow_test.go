package mirrormaker

import (
	"strings"
	"testing"

	"tidemark/mm2"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		exists bool
		full   []string
		want   string
		says   []string
	}{
		{true, []string{"named"}, "named", nil},
		{true, nil, "named", nil},
		{false, nil, "named", nil},
		{true, []string{"twin", "named"}, "named", []string{"named, which the file names, is shown", "twin holds records"}},
		{true, []string{"twin"}, "twin", []string{"twin is shown", "named, which the file names, is empty"}},
		{false, []string{"twin", "b"}, "b", []string{"b is shown", "is not there"}},
	} {
		got, note := choose("named", c.exists, c.full)
		if got != c.want || (note == "") != (c.says == nil) {
			t.Errorf("%+v: %s, %q", c, got, note)
		}
		for _, part := range c.says {
			if !strings.Contains(note, part) {
				t.Errorf("%+v: no %q in %q", c, part, note)
			}
		}
	}
}

// TestNames: a remote topic has the separator of the topic that the syncs were found in, and a prefix that the file's
// separator does not explain is taken off all the same.
func TestNames(t *testing.T) {
	f := Flow{Policy: mm2.DefaultPolicy{Separator: "."}, SourceAlias: "A", TargetAlias: "B", SyncsOnSource: true}
	if got := f.OffsetSyncs().Name; got != "mm2-offset-syncs.B.internal" {
		t.Errorf("syncs on the source: %s", got)
	}
	for found, want := range map[string]string{
		"mm2-offset-syncs.B.internal": "A.orders", "mm2-offset-syncs_B_internal": "A_orders", "mm2-offset-syncs.C.internal": "A.orders",
	} {
		if got := f.RemoteTopic("orders", found); got != want {
			t.Errorf("by %s: %s, want %s", found, got, want)
		}
	}
	for remote, want := range map[string]string{"A.orders": "orders", "A_orders": "orders", "A.A.orders": "A.orders", "orders": "orders", "Aorders": "Aorders", "A.": "A."} {
		if got := f.SourceTopic(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
