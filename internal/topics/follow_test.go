package topics

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func set(v string) Entry       { return Entry{Value: &v, OfTopic: true} }
func inherited(v string) Entry { return Entry{Value: &v} }

func TestFollow(t *testing.T) {
	const old, now, other = "1", "2", "3"
	excluded := func(k string) bool { return k == "x" }
	none, gone := Entry{}, (*string)(nil)
	for _, c := range []struct {
		name           string
		source, target Entry
		ours           string // "": the key is not ours
		excluded       bool
		change         any    // nil: none
		still, after   string // "": not ours
	}{
		{name: "set on neither", source: inherited(old), target: inherited(now)},
		{name: "set on neither, once ours, taken away by us", source: inherited(old), target: inherited(now), ours: now},
		{name: "broker defaults that differ", source: inherited(old), target: inherited(other)},
		{name: "set on the target only", source: inherited(old), target: set(now)},
		{name: "set on the target only, to what the source's brokers say", source: inherited(old), target: set(old)},
		{name: "set on the source", source: set(now), target: inherited(old), change: now, after: now},
		{name: "set on the source to the target's default", source: set(now), target: inherited(now), change: now, after: now},
		{name: "a key that the target does not list", source: set(now), target: none, change: now, after: now},
		{name: "alike, never seen before", source: set(now), target: set(now), still: now, after: now},
		{name: "alike, ours", source: set(now), target: set(now), ours: now, still: now, after: now},
		{name: "alike again without us", source: set(now), target: set(now), ours: old, still: now, after: now},
		{name: "set otherwise on the target", source: set(now), target: set(other), change: now, after: now},
		{name: "changed on the source", source: set(now), target: set(old), ours: old, change: now, still: old, after: now},
		{name: "changed on the target", source: set(now), target: set(other), ours: now, change: now, still: now, after: now},
		{name: "taken away on the target", source: set(now), target: inherited(old), ours: now, change: now, still: now, after: now},
		{name: "removed on the source", source: inherited(other), target: set(old), ours: old, change: gone, still: old},
		{name: "removed on the source, which does not list it any more", source: none, target: set(old), ours: old, change: gone, still: old},
		{name: "removed on the source after a change on the target", source: inherited(other), target: set(now), ours: old},
		{name: "removed on both", source: inherited(other), target: inherited(other), ours: old},
		{name: "excluded: set on the source", excluded: true, source: set(now), target: inherited(old)},
		{name: "excluded: set otherwise on the target", excluded: true, source: set(now), target: set(old)},
		{name: "excluded: alike", excluded: true, source: set(now), target: set(now)},
		{name: "excluded: removed on the source", excluded: true, source: inherited(other), target: set(old), ours: old},
		{name: "read only on the source", source: Entry{Value: new(now), OfTopic: true, ReadOnly: true}, target: set(old), ours: old},
		{name: "read only on the target", source: set(now), target: Entry{Value: new(old), OfTopic: true, ReadOnly: true}},
		{name: "removed on the source, read only on the target", source: inherited(now), target: Entry{Value: new(old), OfTopic: true, ReadOnly: true}, ours: old},
		{name: "sensitive on the source", source: Entry{OfTopic: true, Sensitive: true}, target: inherited(old)},
		{name: "sensitive on the source, once ours", source: Entry{OfTopic: true, Sensitive: true}, target: set(old), ours: old},
		{name: "sensitive on the target", source: set(now), target: Entry{OfTopic: true, Sensitive: true}},
	} {
		key := map[bool]string{false: "k", true: "x"}[c.excluded]
		ours := map[string]string{}
		if c.ours != "" {
			ours[key] = c.ours
		}
		// A setting beside it that is well stays well.
		source, target := map[string]Entry{"beside": set("b")}, map[string]Entry{"beside": set("b"), "theirs": set("t")}
		if c.source != none {
			source[key] = c.source
		}
		if c.target != none {
			target[key] = c.target
		}
		changes, still := Follow(source, target, ours, excluded)
		want := map[string]*string{}
		switch v := c.change.(type) {
		case string:
			want[key] = &v
		case *string:
			want[key] = nil
		}
		mine := func(v string) map[string]string {
			m := map[string]string{"beside": "b"}
			if v != "" {
				m[key] = v
			}
			return m
		}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(mine(c.still), still); diff != "" {
			t.Errorf("%s: ours while not made (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(mine(c.after), Applied(still, changes)); diff != "" {
			t.Errorf("%s: ours once made (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFollowTakesNoEmptyAnswerForNews(t *testing.T) {
	ours := map[string]string{"k": "1"}
	changes, still := Follow(nil, map[string]Entry{"k": set("1")}, ours, func(string) bool { return false })
	if len(changes) > 0 || !maps.Equal(still, ours) {
		t.Errorf("changes %v, ours %v", changes, still)
	}
}

// TestFollowProperties: two operators change settings at random on either side; we follow at random times, now and then
// in vain. Whatever happens, a change has a reason that the settings themselves show, and one look later none is left.
func TestFollowProperties(t *testing.T) {
	excluded := func(k string) bool { return k == "x" }
	rapid.Check(t, func(t *rapid.T) {
		source, target := map[string]string{}, map[string]string{} // set on the topics themselves
		had := map[string]map[string]bool{}                        // values that the source had, by key
		var ours map[string]string
		entries := func(side map[string]string, broker string) map[string]Entry {
			out := map[string]Entry{}
			for _, k := range []string{"a", "b", "x"} {
				out[k] = inherited(broker)
				if v, ok := side[k]; ok {
					out[k] = set(v)
				}
			}
			return out
		}
		look := func() (map[string]*string, map[string]string) {
			return Follow(entries(source, "broker-a"), entries(target, "broker-b"), ours, excluded)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "x"}).Draw(t, "key")
			value := fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "value"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				source[key] = value
				if had[key] == nil {
					had[key] = map[string]bool{}
				}
				had[key][value] = true
			case 1:
				delete(source, key)
			case 2:
				target[key] = value
			case 3:
				delete(target, key)
			case 4:
				_, ours = look() // in vain
			case 5:
				changes, still := look()
				for k, v := range changes {
					s, sourceSets := source[k]
					have, targetSets := target[k]
					switch {
					case excluded(k):
						t.Fatalf("excluded key %s is changed", k)
					case v != nil && (!sourceSets || s != *v || targetSets && have == s):
						t.Fatalf("%s is set to %s: source %v, target %v", k, *v, source, target)
					case v == nil && (sourceSets || !targetSets || !had[k][have]):
						t.Fatalf("%s is taken away: source %v, target %v, the source had %v", k, source, target, had[k])
					}
					if target[k] = s; v == nil {
						delete(target, k)
					}
				}
				ours = Applied(still, changes)
				for k, v := range source {
					if !excluded(k) && target[k] != v {
						t.Fatalf("%s does not follow: source %v, target %v", k, source, target)
					}
				}
				if again, _ := look(); len(again) > 0 {
					t.Fatalf("changes are left after they were made: %v", again)
				}
			}
		}
	})
}
