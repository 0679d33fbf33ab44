package consumer

import (
	"strings"
	"testing"

	"tidemark/mm2"
)

// TestExcluded: every group with positions counts, whatever made it; the others have a reason.
func TestExcluded(t *testing.T) {
	names, err := mm2.NewKeyedFilter("groups", []string{".*"}, append(mm2.DefaultGroupsExclude(), "secret-.*", "(?i)temp-.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		g    Group
		want string // part of the reason; empty: carried
	}{
		{Group{ID: "classic", Type: "Classic", Protocol: "consumer"}, ""},
		{Group{ID: "kip-848", Type: "consumer", Protocol: "consumer"}, ""},
		{Group{ID: "simple", Type: "classic"}, ""},
		{Group{ID: "old broker", Protocol: "consumer"}, ""},
		{Group{ID: "kip-1071", Type: "Streams", Protocol: "streams"}, ""},
		{Group{ID: "share", Type: "Share", Protocol: "share"}, "share groups"},
		{Group{ID: "share", Type: "SHARE"}, "share groups"},
		{Group{ID: "share by its protocol", Protocol: "share"}, "share groups"},
		{Group{ID: "connect", Type: "classic", Protocol: "connect"}, "protocol type connect"},
		{Group{ID: "another client's", Type: "classic", Protocol: "Consumer"}, "protocol type Consumer"},
		{Group{ID: "secret-1", Protocol: "consumer"}, "secret"},
		{Group{ID: "console-consumer-1"}, "console-consumer-.*"},
		{Group{ID: "Console-Consumer-1"}, ""}, // Java's patterns are case-sensitive
		{Group{ID: "Connect-x"}, ""},
		{Group{ID: "tidemark.A->B", Protocol: "consumer"}, "lane group"},
		{Group{ID: "TEMP-x"}, "(?i)temp-.*"}, // unless they say otherwise
	} {
		got := Excluded(c.g, names)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: excluded for %q, want %q", c.g, got, c.want)
		}
	}
}

func TestStates(t *testing.T) {
	for state, want := range map[string][3]bool{ // empty, dead, active
		"":      {},
		"Empty": {true, false, false}, "EMPTY": {true, false, false}, "empty": {true, false, false},
		"Dead": {false, true, false}, "DEAD": {false, true, false},
		"Stable": {false, false, true}, "stable": {false, false, true}, "PreparingRebalance": {false, false, true}, "Assigning": {false, false, true},
	} {
		if got := [3]bool{Empty(state), Dead(state), Active(state)}; got != want {
			t.Errorf("%q: %v, want %v", state, got, want)
		}
	}
}
