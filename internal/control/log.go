package control

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"

	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// Log is a controls topic as far as it was read. The zero value is an empty one. It is not safe for concurrent use.
type Log struct {
	topic   [16]byte
	end     int64
	records map[string]record
}

// record is the newest one of a key.
type record struct {
	decision Decision
	unknown  string // what it is, where this build cannot read it; empty: it can
}

// NewLog is the log of a topic, of which nothing is read yet.
func NewLog(topicID [16]byte) *Log { return &Log{topic: topicID, records: map[string]record{}} }

// Add takes the record at an offset, in log order.
func (l *Log) Add(offset int64, key, value []byte) {
	l.ReadTo(offset + 1)
	if value == nil {
		delete(l.records, string(key))
		return
	}
	d, err := Decode(key, value)
	d.Offset = offset
	r := record{decision: d}
	if err != nil {
		r.unknown = err.Error()
	}
	l.records[string(key)] = r
}

// ReadTo says that nothing stands below an offset that was not added.
func (l *Log) ReadTo(end int64) { l.end = max(l.end, end) }

// Set is what is in force for a flow (A->B), as the log has it now.
func (l *Log) Set(flow string) *Set {
	s := &Set{topic: l.topic, end: l.end, current: map[slot]Decision{}}
	all := slices.SortedFunc(maps.Values(l.records), func(a, b record) int { return byOffset(a.decision, b.decision) })
	for _, r := range all {
		d := r.decision
		switch {
		case d.Scope.Flow != flow && d.Scope.Flow != "":
			continue
		case r.unknown != "":
			s.unknown = append(s.unknown, r.unknown)
			continue
		}
		s.all = append(s.all, d)
		if d.Supersedes != s.current[d.slot()].ID {
			s.void = append(s.void, d)
			continue
		}
		s.current[d.slot()] = d
	}
	return s
}

// Set is what people have decided about a flow and is in force. It does not change. A nil one holds nothing.
type Set struct {
	topic     [16]byte
	end       int64
	current   map[slot]Decision // those that end something too
	all, void []Decision
	unknown   []string
}

// Topic is the id of the controls topic; zero: there is none.
func (s *Set) Topic() [16]byte {
	if s == nil {
		return [16]byte{}
	}
	return s.topic
}

// End is the offset of the topic below which all was read.
func (s *Set) End() int64 {
	if s == nil {
		return 0
	}
	return s.end
}

// Unknown are the decisions that this build cannot read, in words.
func (s *Set) Unknown() []string {
	if s == nil {
		return nil
	}
	return s.unknown
}

// All are all decisions about the flow, in log order; Void those of them that do not count since another one was first.
func (s *Set) All() []Decision {
	if s == nil {
		return nil
	}
	return s.all
}

// Void are the decisions that do not count: when they were made another one had been made already.
func (s *Set) Void() []Decision {
	if s == nil {
		return nil
	}
	return s.void
}

// Last is the newest decision of a kind and scope, also one that ends something. A new one takes its place.
func (s *Set) Last(k Kind, scope Scope) (Decision, bool) {
	if s == nil {
		return Decision{}, false
	}
	d, ok := s.current[slot{k, scope}]
	return d, ok
}

// InForce are the decisions that are in force, in log order.
func (s *Set) InForce() (out []Decision) {
	if s == nil {
		return nil
	}
	for _, d := range s.current {
		if !d.Off {
			out = append(out, d)
		}
	}
	return sorted(out)
}

// of are the decisions of a kind that are in force and fit.
func (s *Set) of(k Kind, fits func(Scope) bool) (out []Decision) {
	for _, d := range s.InForce() {
		if d.Kind == k && fits(d.Scope) {
			out = append(out, d)
		}
	}
	return out
}

// covers says whether a scope of partitions holds one.
func (s Scope) covers(p partition.ID) bool {
	return (s.Topic == "" || s.Topic == p.Topic) && (s.Partition == AllPartitions || s.Partition == p.Partition)
}

// Paused says that a partition is not mirrored for now, by the narrowest decision that says so.
func (s *Set) Paused(p partition.ID) (d Decision, ok bool) {
	all := s.of(Pause, func(sc Scope) bool { return sc.covers(p) })
	if len(all) == 0 {
		return Decision{}, false
	}
	width := func(d Decision) int {
		switch {
		case d.Scope.Topic == "":
			return 2
		case d.Scope.Partition == AllPartitions:
			return 1
		}
		return 0
	}
	return slices.MinFunc(all, func(a, b Decision) int { return cmp.Compare(width(a), width(b)) }), true
}

// Skips are the source offsets of a partition that are never copied, in order and apart from each other; the decisions may
// overlap.
func (s *Set) Skips(p partition.ID) (out []Range) {
	ds := s.of(Skip, func(sc Scope) bool { return sc.covers(p) })
	slices.SortFunc(ds, func(a, b Decision) int { return cmp.Compare(a.Scope.First, b.Scope.First) })
	for _, d := range ds {
		r := Range{offsetmap.SourceOffset(d.Scope.First), offsetmap.SourceOffset(d.Scope.Last)}
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Range is source offsets, both ends included.
type Range struct{ First, Last offsetmap.SourceOffset }

// Restart is the newest decision to copy a partition anew.
func (s *Set) Restart(p partition.ID) (Decision, bool) {
	all := s.of(Restart, func(sc Scope) bool { return sc.covers(p) })
	if len(all) == 0 {
		return Decision{}, false
	}
	return slices.MaxFunc(all, func(a, b Decision) int { return cmp.Compare(a.Incarnation, b.Incarnation) }), true
}

// Incarnation is what the next decision to copy something anew carries: the time in seconds, or more where a clock went back.
// Counting decisions was rejected: a topic of decisions that is lost would begin to count anew.
func (s *Set) Incarnation(unix int64) uint32 {
	next := uint32(max(unix, 1))
	for _, d := range s.All() {
		if d.Kind == Restart && d.Incarnation >= next {
			next = d.Incarnation + 1
		}
	}
	return next
}

// Forgotten are the topics that have ended, by decision.
func (s *Set) Forgotten() []Decision { return s.of(Forget, func(Scope) bool { return true }) }

// Ended says that a topic of that id has ended, by decision. The id is as Kafka has it, in hexadecimal digits.
func (s *Set) Ended(topic, id string) bool {
	return slices.ContainsFunc(s.Forgotten(), func(d Decision) bool { return d.Scope.Topic == topic && hex.EncodeToString(d.TopicID[:]) == id })
}

// AllMoved are the decisions about groups that live on the target.
func (s *Set) AllMoved() []Decision { return s.of(Moved, func(Scope) bool { return true }) }

// Moved says that a group lives on the target.
func (s *Set) Moved(group string) (Decision, bool) {
	all := s.of(Moved, func(sc Scope) bool { return sc.Group == group })
	if len(all) == 0 {
		return Decision{}, false
	}
	return all[0], true
}

// Throttle says how fast the flow may be.
func (s *Set) Throttle() (Decision, bool) {
	all := s.of(Throttle, func(Scope) bool { return true })
	if len(all) == 0 {
		return Decision{}, false
	}
	return all[0], true
}
