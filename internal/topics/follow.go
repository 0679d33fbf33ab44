package topics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Follow compares the settings of a source topic with those of its remote topic and says what to change on the target: a
// nil value takes the remote topic's own value away, and what is not named stays as it is (KIP-339).
//
// ours are the values on the remote topic that are there because the source has or had them, by key. still is what
// remains of ours while the changes are not made; Applied is what it becomes with them.
//
// What is set on the source topic itself wins over the target. A value that both sides hold alike counts as ours, whoever
// wrote it: remembering only what this process wrote would end the following of every setting with each restart. What the
// source does not set is taken away only where it is ours and still has our value; all else belongs to the target. Values
// that the source inherits from its brokers, excluded keys, and keys that cannot be set or seen are no settings at all.
//
// An answer of the source without any entry is no news: brokers list every key that they know, also those not set.
func Follow(source, target map[string]Entry, ours map[string]string, excluded func(string) bool) (changes map[string]*string, still map[string]string) {
	if len(source) == 0 {
		return nil, maps.Clone(ours)
	}
	changes, still = map[string]*string{}, map[string]string{}
	want := Creation(source, excluded)
	for k, v := range want {
		t := target[k]
		was, known := ours[k]
		switch {
		case t.ReadOnly || t.Sensitive:
		case t.own(*v):
			still[k] = *v
		default:
			changes[k] = v
			if known {
				still[k] = was
			}
		}
	}
	for k, was := range ours {
		if _, wanted := want[k]; wanted || source[k].OfTopic || excluded(k) || target[k].ReadOnly || !target[k].own(was) {
			continue
		}
		changes[k], still[k] = nil, was
	}
	return changes, still
}

// own says whether a topic itself is set to a value.
func (e Entry) own(value string) bool { return e.OfTopic && e.Value != nil && *e.Value == value }

// Applied is what is ours once changes are made.
func Applied(still map[string]string, changes map[string]*string) map[string]string {
	out := maps.Clone(still)
	for k, v := range changes {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = *v
		}
	}
	return out
}

// described is changes for the log: what is set, and the keys of what is taken away, in order of keys.
func described(changes map[string]*string) (set, removed string) {
	var sets, removes []string
	for k, v := range changes {
		if v == nil {
			removes = append(removes, k)
		} else {
			sets = append(sets, k+"="+*v)
		}
	}
	slices.SortFunc(sets, cmp.Compare)
	slices.SortFunc(removes, cmp.Compare)
	return strings.Join(sets, " "), strings.Join(removes, " ")
}
