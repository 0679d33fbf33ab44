package lane

import (
	"cmp"
	"slices"
	"sort"
)

// alignPieces bounds the alternatives kept for one row. Beyond it the upper ones are widened to one interval, which
// can only make more places feasible. 32 is far above what a log of mostly different records needs (one or two), and
// keeps the worst case at 32 steps and 512 bytes a record.
const alignPieces = 32

// alignDirect is the length up to which a span is compared slot by slot. Most spans have one slot, and a look into the
// index costs some twenty cache misses in a long tail.
const alignDirect = 16

// alignSpan is an interval of slots or of slot counts, both ends included.
type alignSpan struct{ lo, hi int }

// alignAdd appends a span that begins at or above the last one's begin, merging what touches.
func alignAdd(out []alignSpan, s alignSpan) []alignSpan {
	if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
		out[n-1].hi = max(out[n-1].hi, s.hi)
		return out
	}
	return append(out, s)
}

// alignMeet appends the intersection of two sorted lists to out.
func alignMeet(out, x, y []alignSpan) []alignSpan {
	for i, j := 0, 0; i < len(x) && j < len(y); {
		if lo, hi := max(x[i].lo, y[j].lo), min(x[i].hi, y[j].hi); lo <= hi {
			out = append(out, alignSpan{lo, hi})
		}
		if x[i].hi < y[j].hi {
			i++
		} else {
			j++
		}
	}
	return out
}

// alignFrom is the place of the first span of a sorted list that reaches lo.
func alignFrom(list []alignSpan, lo int) int {
	return sort.Search(len(list), func(i int) bool { return list[i].hi >= lo })
}

// alignRows keeps the entries of all rows in one slice: a row has one span as a rule, and a slice header each would
// cost more than the spans.
type alignRows struct {
	spans []alignSpan
	ends  []int
}

func (t *alignRows) add(spans []alignSpan) {
	t.spans = append(t.spans, spans...)
	t.ends = append(t.ends, len(t.spans))
}

func (t *alignRows) row(r int) []alignSpan {
	if r == 0 {
		return t.spans[:t.ends[0]]
	}
	return t.spans[t.ends[r-1]:t.ends[r]]
}

// alignIndex finds the slots of a content, as spans: a topic of heartbeats has one span, not a million slots.
type alignIndex struct {
	hashes []uint64 // ascending, one for each span
	spans  []alignSpan
}

func newAlignIndex(hashes []uint64, slots []int) *alignIndex {
	order := make([]int32, len(hashes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(hashes[i], hashes[j]), cmp.Compare(i, j))
	})
	x := &alignIndex{}
	for _, i := range order {
		h, slot := hashes[i], slots[i]
		if n := len(x.spans); n > 0 && x.hashes[n-1] == h && x.spans[n-1].hi+1 == slot {
			x.spans[n-1].hi = slot
			continue
		}
		x.hashes, x.spans = append(x.hashes, h), append(x.spans, alignSpan{slot, slot})
	}
	return x
}

// of are the slots with the content h.
func (x *alignIndex) of(h uint64) []alignSpan {
	lo, found := slices.BinarySearch(x.hashes, h)
	if !found {
		return nil
	}
	rest := x.hashes[lo:]
	return x.spans[lo : lo+sort.Search(len(rest), func(i int) bool { return rest[i] > h })]
}

// alignTree answers "the next / the last value that is not above r" over a fixed list, in O(log n).
type alignTree struct {
	n, size int
	least   []int32 // a heap-shaped tree of minima, leaves from size on
}

func newAlignTree(values []int32) alignTree {
	t := alignTree{n: len(values), size: 1}
	for t.size < t.n {
		t.size *= 2
	}
	t.least = make([]int32, 2*t.size)
	for i := range t.size {
		t.least[t.size+i] = 1<<31 - 1
	}
	copy(t.least[t.size:], values)
	for i := t.size - 1; i > 0; i-- {
		t.least[i] = min(t.least[2*i], t.least[2*i+1])
	}
	return t
}

// next is the first place at or after from with a value of at most r, or n.
func (t alignTree) next(from int, r int32) int {
	if from >= t.n || t.least[1] > r {
		return t.n
	}
	i := from + t.size
	for t.least[i] > r {
		for i&1 == 1 {
			i /= 2
		}
		if i == 0 {
			return t.n
		}
		i++
	}
	for i < t.size {
		i *= 2
		if t.least[i] > r {
			i++
		}
	}
	return i - t.size
}

// prev is the last place before before with a value of at most r, or -1.
func (t alignTree) prev(before int, r int32) int {
	if before <= 0 || t.least[1] > r {
		return -1
	}
	i := before - 1 + t.size
	for t.least[i] > r {
		for i&1 == 0 {
			i /= 2
		}
		if i == 1 {
			return -1
		}
		i--
	}
	for i < t.size {
		i = 2*i + 1
		if t.least[i] > r {
			i--
		}
	}
	return i - t.size
}
