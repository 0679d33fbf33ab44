package demo

import (
	"testing"

	"tidemark/internal/partition"
)

// One partition whose records at offsets 5, 6, 8 and 9 have the numbers 50, 60, 80 and 90; number 99 is the last one, on
// B; 40 was read on A and then compacted away; 70 was aborted. The group's position is 8.
func TestTally(t *testing.T) {
	tp := partition.ID{Topic: "t"}
	all := contents{tp: {offsets: []int64{5, 6, 8, 9}, numbers: []int64{50, 60, 80, 90}, end: 10}, {Topic: "other"}: {offsets: []int64{0}, numbers: []int64{7}, end: 1}}
	a, b := given{onA: 1}, given{onB: 1}
	for _, c := range []struct {
		name   string
		change map[int64]given
		want   result
	}{
		{"exact", nil, result{}},
		{"skipped one", map[int64]given{80: {}}, result{lost: 1}},
		{"skipped the last one", map[int64]given{99: {}}, result{lost: 1}},
		{"read one again on B", map[int64]given{60: {onA: 1, onB: 1}}, result{twice: 1}},
		{"read one thrice", map[int64]given{80: {onB: 3}}, result{twice: 2}},
		{"one lost, another twice", map[int64]given{80: {}, 60: {onA: 1, onB: 1}}, result{lost: 1, twice: 1}},
		{"read an aborted one", map[int64]given{70: b}, result{strange: 1}},
		{"read an aborted one on A", map[int64]given{70: a}, result{strange: 1}},
		{"read a record of another topic", map[int64]given{7: b}, result{strange: 1}},
		{"read a compacted one again", map[int64]given{40: {onA: 1, onB: 1}}, result{twice: 1, strange: 1}},
	} {
		g := &group{name: "g", topics: []string{"t"}, at: map[partition.ID]int64{tp: 8}, read: map[int64]given{40: a, 50: a, 60: a, 80: b, 90: b, 99: b}}
		for n, v := range c.change {
			g.read[n] = v
			if v == (given{}) {
				delete(g.read, n)
			}
		}
		c.want.group, c.want.lag, c.want.mm2 = g, 2, 0 // MirrorMaker 2 has a sync at 8, behind the hole
		if got := tally(g, all, map[partition.ID]int64{tp: 99}, map[int64]bool{70: true}); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}
