package translate

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/partition"
)

// A WriteKind says how it stands with writing a group's positions on the target.
// It is a second matter beside the verdicts: a position can be exact and yet not
// be written because consumers of the group run on the target.
type WriteKind uint8

// The kinds. Their names (see writeNames) are part of the JSON that we publish.
const (
	// NotTried: the group was not looked at yet. The zero value.
	NotTried WriteKind = iota
	// Written: what Plan returned is committed.
	Written
	// UpToDate: the target has these positions already.
	UpToDate
	// NothingToWrite: each partition has a final no.
	NothingToWrite
	// Waiting: Partitions have no position yet and hold the group.
	Waiting
	// Active: the group is not Empty on the target; GroupState is its state there.
	Active
	// TargetAhead: the target's positions are ahead by N offsets in all, on
	// Partitions, and are not moved back.
	TargetAhead
	// Refused: the write is not possible or failed, for Reason.
	Refused
	writeKinds // how many there are
)

func writeNames() []string {
	return []string{
		NotTried: "not-tried", Written: "written", UpToDate: "up-to-date", NothingToWrite: "nothing-to-write",
		Waiting: "waiting", Active: "active-on-target", TargetAhead: "target-ahead", Refused: "refused",
	}
}

// WriteKinds lists all kinds in order, for metrics and documentation.
func WriteKinds() []WriteKind {
	all := make([]WriteKind, writeKinds)
	for i := range all {
		all[i] = WriteKind(i)
	}
	return all
}

// String is the stable machine name.
func (k WriteKind) String() string { return name(writeNames(), int(k)) }

// MarshalText writes the machine name.
func (k WriteKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a machine name.
func (k *WriteKind) UnmarshalText(text []byte) error {
	i := slices.Index(writeNames(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown write state %q", text)
	}
	*k = WriteKind(i)
	return nil
}

// A WriteState is a WriteKind with its particulars.
type WriteState struct {
	Kind WriteKind `json:"kind"`
	// Partitions (of the target) are those in the way: without a position beside
	// Waiting and Written, ahead beside TargetAhead. Sorted.
	Partitions []partition.ID `json:"partitions,omitempty"`
	// GroupState is the group's state on the target, for example Stable.
	GroupState string `json:"group_state,omitempty"`
	// N is by how many offsets the target is ahead of the source, over all
	// partitions where it is. It can be set beside any kind.
	N      int64  `json:"n,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Refuse is the state after a write that failed with err.
func Refuse(err error) WriteState { return WriteState{Kind: Refused, Reason: err.Error()} }

// String is one sentence for people, without a full stop.
func (s WriteState) String() string {
	text := s.sentence()
	if s.Kind != TargetAhead && s.N > 0 {
		text += fmt.Sprintf("; the target is ahead of the source by %d elsewhere", s.N)
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

func (s WriteState) sentence() string {
	switch s.Kind {
	case NotTried:
		return "not looked at yet"
	case Written:
		if len(s.Partitions) > 0 {
			return "written, except for " + listed(s.Partitions) + " without a position yet"
		}
		return "written"
	case UpToDate:
		return "up to date"
	case NothingToWrite:
		return "nothing to write"
	case Waiting:
		return "waiting for " + listed(s.Partitions)
	case Active:
		return fmt.Sprintf("active on the target (%s), where its own commits count", s.GroupState)
	case TargetAhead:
		return fmt.Sprintf("the target is ahead of the source by %d on %s", s.N, listed(s.Partitions))
	case Refused:
		return "refused"
	}
	return s.Kind.String()
}

// listedPartitions is how many partitions a sentence names before it only counts.
const listedPartitions = 5

func listed(ps []partition.ID) string {
	var names []string
	for _, p := range ps[:min(listedPartitions, len(ps))] {
		names = append(names, p.String())
	}
	text := strings.Join(names, ", ")
	if more := len(ps) - listedPartitions; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
