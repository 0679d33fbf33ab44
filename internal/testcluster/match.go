package testcluster

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
)

// identity is what makes a record recognisable on the other side: its sequence
// number, or a digest of its contents where it has none.
type identity struct {
	numbered bool
	seq      int64
	digest   uint64
}

func (id identity) String() string {
	if id.numbered {
		return "seq " + strconv.FormatInt(id.seq, 10)
	}
	return fmt.Sprintf("contents %016x", id.digest)
}

func identify(r Rec) identity {
	if seq, ok := r.Seq(); ok {
		return identity{numbered: true, seq: seq}
	}
	h := fnv.New64a()
	field := func(b []byte) {
		n := int64(len(b))
		if b == nil {
			n = -1
		}
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
		h.Write(b)
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(r.Timestamp)))
	field(r.Key)
	field(r.Value)
	for _, header := range r.Headers {
		field([]byte(header.Key))
		field(header.Value)
	}
	return identity{digest: h.Sum64()}
}

// match pairs target records with source records. Records that occur several
// times are paired in order, so that equal contents are a multiset.
type match struct {
	source, target []Rec
	of             []int // per target record the index of its source record, -1 none
	copyOf         []int // per target record the source record of which it is one copy too many, -1 none
	lost           []int // source records without a target record
	extra          []int // target records of which the source has never had one
}

func matchRecords(source, target []Rec) match {
	m := match{source: source, target: target, of: make([]int, len(target)), copyOf: make([]int, len(target))}
	byID := make(map[identity][]int, len(source))
	for i, s := range source {
		id := identify(s)
		byID[id] = append(byID[id], i)
	}
	used := make([]bool, len(source))
	for j, t := range target {
		m.of[j], m.copyOf[j] = -1, -1
		candidates := byID[identify(t)]
		if len(candidates) == 0 {
			m.extra = append(m.extra, j)
			continue
		}
		if i := firstFree(candidates, used, source, t.Partition); i >= 0 {
			used[i], m.of[j] = true, i
		} else {
			m.copyOf[j] = candidates[0]
		}
	}
	for i := range source {
		if !used[i] {
			m.lost = append(m.lost, i)
		}
	}
	return m
}

// firstFree prefers a source record of the same partition: the same number in
// two partitions would otherwise be reported as moved.
func firstFree(candidates []int, used []bool, source []Rec, partition int32) int {
	elsewhere := -1
	for _, i := range candidates {
		if used[i] {
			continue
		}
		if source[i].Partition == partition {
			return i
		}
		if elsewhere < 0 {
			elsewhere = i
		}
	}
	return elsewhere
}

// report holds what the pairs alone tell: copies, order and differences.
func (m match) report() Report {
	var r Report
	last := map[int32]int{} // per partition the highest source index seen, plus one
	for j, t := range m.target {
		i := m.of[j]
		if i < 0 {
			if c := m.copyOf[j]; c >= 0 {
				d := targetDefect(t, "")
				d.Source = m.source[c].Offset
				r.Twice = append(r.Twice, d)
			}
			continue
		}
		s := m.source[i]
		d := Defect{Partition: t.Partition, Source: s.Offset, Target: t.Offset, Record: identify(t).String()}
		if d.Detail = difference(s, t); d.Detail != "" {
			r.Differ = append(r.Differ, d)
		}
		if s.Partition != t.Partition {
			continue // its order means nothing here
		}
		if i+1 < last[t.Partition] {
			d.Detail = fmt.Sprintf("behind source offset %d", m.source[last[t.Partition]-1].Offset)
			r.OrderBroken = append(r.OrderBroken, d)
		}
		last[t.Partition] = max(last[t.Partition], i+1)
	}
	return r
}
