package translate

import (
	"fmt"
	"slices"
)

// A Kind is the case of the table that a verdict falls under.
type Kind uint8

// The kinds. Their names (see kindNames) are part of the JSON that we publish: add
// to them, do not change them.
const (
	// Pending: nobody has answered yet, for example no worker owns the partition
	// or its fence is still on the way. Temporary. The zero value, so that a
	// missing answer never looks like a position.
	Pending Kind = iota
	// Exact: the next record read is the first one that the group has not read.
	Exact
	// AtEnd: exact, and nothing mirrored follows. N is how many records at most
	// that are not ours follow on the target (our markers among them count).
	AtEnd
	// ExactLost: exact, but Lost records between the position and the next mirrored
	// record were lost before they could be mirrored (retention, a skip).
	ExactLost
	// Ahead: N source offsets beyond what is mirrored. The position is held where
	// the mirror ends and is translated again as the mirror advances.
	Ahead
	// FirstMirrored: below the first mirrored record, and nothing between existed
	// when mirroring began. Exact.
	FirstMirrored
	// NotMirrored: N records below the place where mirroring began were never
	// mirrored. No position unless the user chose earliest.
	NotMirrored
	// Trimmed: N records from the position on are gone from the target. No
	// position unless the user chose earliest.
	Trimmed
	// Bounded: a part of the map is missing, or records follow whose place on the source is not certain. The position
	// replays at most N.
	Bounded
	// GroupFiltered and TopicFiltered: not to be synced, by the rule in Reason.
	// Final.
	GroupFiltered
	TopicFiltered
	// TopicNotMirrored: the topic has no copy, for the reason in Reason. Final
	// where that cannot change by itself (deleted, a cycle).
	TopicNotMirrored
	// PartitionStopped: the mirror stopped the partition for the reason in Reason.
	PartitionStopped
	// NeverCommitted: the group has no position there, so it gets none. Final.
	NeverCommitted
	// PermissionMissing: the access right in Reason is missing.
	PermissionMissing
	// IncarnationChanged: the topic was deleted and created again; the position
	// belongs to one of the two and the map to the other.
	IncarnationChanged
	// HeldByTransaction: N source offsets beyond what is mirrored, behind an open
	// transaction. The position is held where the mirror ends, as for Ahead: a
	// read_uncommitted group on a busy transactional topic is nearly always there,
	// and no position would mean that it never gets one.
	HeldByTransaction
	kinds // how many there are
)

// kindNames has the stable name of each kind.
func kindNames() []string {
	return []string{
		Pending: "pending", Exact: "exact", AtEnd: "at-end", ExactLost: "exact-lost", Ahead: "ahead",
		FirstMirrored: "first-mirrored", NotMirrored: "not-mirrored", Trimmed: "trimmed", Bounded: "bounded",
		GroupFiltered: "group-filtered", TopicFiltered: "topic-filtered", TopicNotMirrored: "topic-not-mirrored",
		PartitionStopped: "partition-stopped", NeverCommitted: "never-committed",
		PermissionMissing: "permission-missing", IncarnationChanged: "incarnation-changed",
		HeldByTransaction: "held-by-transaction",
	}
}

// Kinds lists all kinds in order, for metrics and documentation.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// String is the stable machine name.
func (k Kind) String() string { return name(kindNames(), int(k)) }

// MarshalText writes the machine name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a machine name. A name from a newer release is an error.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown verdict kind %q", text)
	}
	*k = Kind(i)
	return nil
}

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown-%d", i)
}
