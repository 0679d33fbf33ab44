package mm2

import (
	"errors"
	"slices"
	"testing"
)

func TestCheckpointTable(t *testing.T) {
	var tab CheckpointTable
	apply := func(c Checkpoint, value bool) error {
		t.Helper()
		key, err := c.AppendKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		var v []byte
		if value {
			if v, err = c.AppendValue(nil); err != nil {
				t.Fatal(err)
			}
		}
		got, err := tab.Apply(key, v)
		if value && (err != nil || got != c) {
			t.Errorf("%v gives %v, %v", c, got, err)
		}
		return err
	}
	old := Checkpoint{Group: "g", Topic: "A.t", Partition: 1, Upstream: 5, Downstream: 4}
	newer := Checkpoint{Group: "g", Topic: "A.t", Partition: 1, Upstream: 3, Downstream: 2, Metadata: "m"}
	first := Checkpoint{Group: "g", Topic: "A.t", Partition: 0, Upstream: 1, Downstream: 1}
	gone := Checkpoint{Group: "f", Topic: "A.t", Partition: 0, Upstream: 1, Downstream: 1}
	other := Checkpoint{Group: "h", Topic: "A.a", Partition: 0, Upstream: 1, Downstream: 1}
	for _, c := range []Checkpoint{old, other, gone, newer, first} {
		if err := apply(c, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(gone, false); !errors.Is(err, ErrTombstone) {
		t.Errorf("a null value: %v", err)
	}
	key, err := newer.AppendKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Apply(key, []byte{0}); err == nil || errors.Is(err, ErrTombstone) {
		t.Errorf("one byte as a value: %v", err)
	}
	if got, want := tab.All(), []Checkpoint{first, newer, other}; !slices.Equal(got, want) {
		t.Errorf("holds %v, want %v", got, want)
	}
	if got, want := tab.Of("g"), []Checkpoint{first, newer}; !slices.Equal(got, want) {
		t.Errorf("of g %v, want %v", got, want)
	}
	if got, want := tab.Groups(), []string{"g", "h"}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
}

func TestTwins(t *testing.T) {
	for _, c := range []struct{ topic, sep string }{
		{"A.checkpoints.internal", "."},
		{"A_checkpoints_internal", "_"},
		{"A__checkpoints__internal", "__"},
		{"A-checkpoints-internal", "-"},
		{"A.checkpoints_internal", ""},
		{"B.checkpoints.internal", ""},
		{"AcheckpointsInternal", ""},
		{"Acheckpointsinternal", ""},
		{"A.B.checkpoints.internal", ""},
		{"A.checkpoints.internal.", ""},
		{"A.", ""},
		{"A", ""},
		{"", ""},
	} {
		sep, ok := CheckpointsTwin("A", c.topic)
		if ok != (c.sep != "") || ok && sep != c.sep {
			t.Errorf("checkpoints %q: %q %v", c.topic, sep, ok)
		}
		p := DefaultPolicy{Separator: sep}
		if ok && p.CheckpointsTopic("A") != c.topic {
			t.Errorf("%q is not %q", p.CheckpointsTopic("A"), c.topic)
		}
	}
	for _, c := range []struct{ topic, sep string }{
		{"mm2-offset-syncs.B.internal", "."},
		{"mm2-offset-syncs_B_internal", "_"},
		{"mm2-offset-syncs.C.internal", ""},
		{"mm2-offset-syncs.B_internal", ""},
		{"mm2-offset-syncs", ""},
		{"orders", ""},
	} {
		if sep, ok := OffsetSyncsTwin("B", c.topic); ok != (c.sep != "") || ok && sep != c.sep {
			t.Errorf("offset syncs %q: %q %v", c.topic, sep, ok)
		}
	}
}
