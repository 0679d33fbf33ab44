package terms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// magic begins what stands behind the balancer's own data. NB: read by other versions. Do not change.
const magic = "\x00tidemark-terms:"

// maxBytes is how long the values of all terms may be. A group's members stand in one record of the brokers, together.
const maxBytes = 8 << 10

// Term is one setting. Its digest decides whether two are alike; the values are for people, and are missing where they would be
// too long.
type Term struct {
	Key    string   `json:"key"`
	Digest string   `json:"digest"`
	Values []string `json:"values,omitempty"`
	Cut    bool     `json:"cut,omitempty"` // the values were too long
}

// Terms are all settings that must be alike, by key.
type Terms []Term

// Add adds a setting. The order of values does not count.
func (t *Terms) Add(key string, values ...string) {
	values = slices.Sorted(slices.Values(values))
	values = slices.Compact(values)
	sum := sha256.New()
	for _, v := range values {
		fmt.Fprintf(sum, "%d:%s", len(v), v)
	}
	*t = append(*t, Term{Key: key, Digest: hex.EncodeToString(sum.Sum(nil)[:8]), Values: values})
}

// Append puts the terms behind the balancer's user data.
func (t Terms) Append(userData []byte) []byte {
	cut := slices.Clone(t)
	for size(cut) > maxBytes {
		longest := 0
		for i := range cut {
			if length(cut[i]) > length(cut[longest]) {
				longest = i
			}
		}
		cut[longest].Values, cut[longest].Cut = nil, true
	}
	// Strings cannot fail.
	text, _ := json.Marshal(cut)
	return append(append(slices.Clone(userData), magic...), text...)
}

func length(t Term) (n int) {
	for _, v := range t.Values {
		n += len(v) + 3
	}
	return n
}

func size(t Terms) (n int) {
	for _, term := range t {
		n += length(term)
	}
	return n
}

// Find gives the terms that stand in user data; none where a build without them wrote it.
func Find(userData []byte) Terms {
	i := bytes.LastIndex(userData, []byte(magic))
	if i < 0 {
		return nil
	}
	var t Terms
	if json.Unmarshal(userData[i+len(magic):], &t) != nil {
		return nil // a later version that writes them otherwise
	}
	return t
}

// most is how many values of one side are listed.
const most = 10

// Differ says what is not alike, one clause for each setting. here and there name the two sides. Settings that only one side
// knows of do not count: another version has more of them.
func Differ(ours, theirs Terms, here, there string) []string {
	var out []string
	for _, a := range ours {
		i := slices.IndexFunc(theirs, func(b Term) bool { return b.Key == a.Key })
		if i < 0 || theirs[i].Digest == a.Digest {
			continue
		}
		b := theirs[i]
		if a.Cut || b.Cut {
			out = append(out, a.Key+" is not alike (too long to be shown)")
			continue
		}
		var parts []string
		for _, side := range []struct {
			name       string
			have, miss []string
		}{{here, a.Values, b.Values}, {there, b.Values, a.Values}} {
			only := slices.DeleteFunc(slices.Clone(side.have), func(v string) bool { return slices.Contains(side.miss, v) })
			if len(only) > 0 {
				parts = append(parts, "only "+side.name+": "+listed(only))
			}
		}
		out = append(out, a.Key+" "+strings.Join(parts, ", "))
	}
	return out
}

func listed(values []string) string {
	more := ""
	if len(values) > most {
		more = fmt.Sprintf(" and %d more", len(values)-most)
		values = values[:most]
	}
	return strings.Join(values, " ") + more
}
