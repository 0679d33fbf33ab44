package testcluster

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Defect is one record that a comparison found fault with. Offsets are -1 where
// there is no record on that side.
type Defect struct {
	Partition      int32
	Source, Target int64  // offsets
	Record         string // "seq 17", or a digest of contents without a number
	Detail         string // what is wrong, where the kind does not say it
}

func (d Defect) String() string {
	s := fmt.Sprintf("%s in partition %d, source offset %d, target offset %d", d.Record, d.Partition, d.Source, d.Target)
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

// Report says how a target differs from its source. The zero value is what a
// faultless mirror gets.
type Report struct {
	Lost        []Defect // on the source, not on the target
	Twice       []Defect // on the target more often than on the source
	OrderBroken []Defect // on the target behind a record that it precedes on the source
	Differ      []Defect // key, value, headers, timestamp or partition changed
	Extra       []Defect // on the target, never on the source
}

// Err is nil where nothing was found. Otherwise it counts each kind of defect
// and shows the first few.
func (r Report) Err() error {
	var b strings.Builder
	for _, kind := range []struct {
		name    string
		defects []Defect
	}{
		{"lost", r.Lost},
		{"twice", r.Twice},
		{"out of order", r.OrderBroken},
		{"different", r.Differ},
		{"extra", r.Extra},
	} {
		if len(kind.defects) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%d %s", len(kind.defects), kind.name)
		for i, d := range kind.defects {
			const shown = 5
			if i == shown {
				fmt.Fprintf(&b, "\n  and %d more", len(kind.defects)-shown)
				break
			}
			fmt.Fprintf(&b, "\n  %s", d)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return fmt.Errorf("target differs from source:%s", b.String())
}

// Compare judges a target topic against its source, both read with [Read] by
// the same isolation level. Every source record must be on the target exactly
// once, in the same partition and order, with equal key, value, headers and
// timestamp, and nothing else may be there. Offsets may differ. Neither topic
// may be compacted: see [CompareCompacted].
func Compare(source, target []Rec) Report {
	m := matchRecords(source, target)
	r := m.report()
	for _, i := range m.lost {
		r.Lost = append(r.Lost, sourceDefect(source[i], ""))
	}
	for _, i := range m.extra {
		r.Extra = append(r.Extra, targetDefect(target[i], ""))
	}
	return r
}

// Compaction says what compaction may have done to the two topics.
type Compaction struct {
	Target     bool // the target is compacted too
	Tombstones bool // tombstones may be gone already (delete.retention.ms is short)
}

// CompareCompacted is [Compare] for a source that is compacted. The source may
// have dropped records since they were copied, so the target may hold more: a
// record missing on the source is right if the source holds a later one with the
// same key. Every record that the source still holds must be on the target, in
// order, unless the target dropped it for a later one with the same key.
//
// What decides about "later" between the two topics is the sequence number in
// the records, which therefore must rise with the offset in each partition.
func CompareCompacted(source, target []Rec, c Compaction) Report {
	m := matchRecords(source, target)
	r := m.report()
	lastSource, lastTarget := lastByKey(source), lastByKey(target)
	for _, i := range m.lost {
		s := source[i]
		if c.Target && lastTarget[keyOf(s)].after(s) {
			continue
		}
		if c.Target && c.Tombstones && s.Value == nil {
			continue
		}
		r.Lost = append(r.Lost, sourceDefect(s, ""))
	}
	seen := map[identity]bool{}
	for _, i := range m.extra {
		t := target[i]
		id := identify(t)
		superseded := lastSource[keyOf(t)].after(t)
		expired := c.Tombstones && (t.Value == nil || lastTarget[keyOf(t)].tombstoneAfter(t))
		switch {
		case !superseded && !expired:
			r.Extra = append(r.Extra, targetDefect(t, "the source holds nothing later with this key"))
		case seen[id]:
			r.Twice = append(r.Twice, targetDefect(t, ""))
		}
		seen[id] = true
	}
	r.OrderBroken = sequenceDisorder(target, seen, r.OrderBroken)
	return r
}

// sequenceDisorder adds the records of only that stand behind a higher sequence
// number: they have no source record left to take their order from.
func sequenceDisorder(target []Rec, only map[identity]bool, defects []Defect) []Defect {
	highest := map[int32]int64{}
	for _, t := range target {
		seq, ok := t.Seq()
		if !ok {
			continue
		}
		h, known := highest[t.Partition]
		if known && seq < h && only[identify(t)] {
			defects = append(defects, targetDefect(t, fmt.Sprintf("behind seq %d", h)))
		}
		highest[t.Partition] = max(h, seq)
	}
	return defects
}

// partitionKey is a record key within a partition.
type partitionKey struct {
	partition int32
	key       string
}

func keyOf(r Rec) partitionKey { return partitionKey{r.Partition, string(r.Key)} }

// lastOfKey is the last record with some key; the zero value is none.
type lastOfKey struct {
	known     bool
	seq       int64
	tombstone bool
}

func (l lastOfKey) after(r Rec) bool {
	seq, ok := r.Seq()
	return ok && l.known && l.seq > seq
}

func (l lastOfKey) tombstoneAfter(r Rec) bool { return l.tombstone && l.after(r) }

func lastByKey(recs []Rec) map[partitionKey]lastOfKey {
	last := map[partitionKey]lastOfKey{}
	for _, r := range recs {
		seq, ok := r.Seq()
		k := keyOf(r)
		if ok && (!last[k].known || seq > last[k].seq) {
			last[k] = lastOfKey{known: true, seq: seq, tombstone: r.Value == nil}
		}
	}
	return last
}

func sourceDefect(s Rec, detail string) Defect {
	return Defect{Partition: s.Partition, Source: s.Offset, Target: -1, Record: identify(s).String(), Detail: detail}
}

func targetDefect(t Rec, detail string) Defect {
	return Defect{Partition: t.Partition, Source: -1, Target: t.Offset, Record: identify(t).String(), Detail: detail}
}

// difference names what a copy changed; empty where nothing.
func difference(s, t Rec) string {
	var parts []string
	if s.Partition != t.Partition {
		parts = append(parts, fmt.Sprintf("partition %d became %d", s.Partition, t.Partition))
	}
	if s.Timestamp != t.Timestamp {
		parts = append(parts, fmt.Sprintf("timestamp %d became %d", s.Timestamp, t.Timestamp))
	}
	if !sameBytes(s.Key, t.Key) {
		parts = append(parts, fmt.Sprintf("key %s became %s", show(s.Key), show(t.Key)))
	}
	if !sameBytes(s.Value, t.Value) {
		parts = append(parts, fmt.Sprintf("value %s became %s", show(s.Value), show(t.Value)))
	}
	if !sameHeaders(s.Headers, t.Headers) {
		parts = append(parts, fmt.Sprintf("headers %s became %s", showHeaders(s.Headers), showHeaders(t.Headers)))
	}
	return strings.Join(parts, "; ")
}

// sameBytes tells null from empty, unlike bytes.Equal: on a compacted topic the
// difference is that between a deletion and a value.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func sameHeaders(a, b []kgo.RecordHeader) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Key != b[i].Key || !sameBytes(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}

func show(b []byte) string {
	const most = 60
	switch {
	case b == nil:
		return "null"
	case len(b) > most:
		return fmt.Sprintf("%q... (%d bytes)", b[:most], len(b))
	}
	return fmt.Sprintf("%q", b)
}

func showHeaders(headers []kgo.RecordHeader) string {
	var parts []string
	for _, h := range headers {
		parts = append(parts, h.Key+":"+show(h.Value))
	}
	return "[" + strings.Join(parts, " ") + "]"
}
