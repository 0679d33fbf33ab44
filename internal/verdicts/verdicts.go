// Package verdicts is the hand-over between lanes and group owners: the rows of the verdicts topic.
//
// The verdicts topic, tidemark-verdicts.<source>.internal on the target, is compacted and has as many partitions as the
// flow has lanes. A group's rows are all in the partition ledger.GroupLane(group). Key: JSON array [group, topic,
// partition] with the source topic's name. Value: JSON object Row; null deletes. JSON, because operators and other
// tools read this topic with whatever they have; a row is small and written only when it changes. docs/ledger.md explains
// each field.
//
// Invariants:
//
//	VD1: a row speaks about one committed source offset of one topic id. Who reads it compares both with its own view
//	     of the source and drops rows about anything else, so that a late row of a former owner cannot move a group.
//	VD2: unknown Version values are refused as a whole row, never read in part.
//
// The package is pure; internal/mirror writes rows, internal/groups and the CLI read them.
package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/translate"
	"tidemark/offsetmap"
)

// Version is the row format that this build reads and writes.
const Version = 1

// ErrMalformed says that a record of the verdicts topic is none of ours or damaged.
var ErrMalformed = errors.New("malformed verdict row")

// WholeGroup is the partition of a row (with an empty topic) that speaks about a group as a whole: one that is excluded
// has no rows per position, but the question why it is not on the target has an answer.
const WholeGroup = -1

// Key names the position that a row speaks about.
type Key struct {
	Group     string
	Topic     string // source topic
	Partition int32
}

// Row is what is known about one position.
type Row struct {
	Version     int               `json:"version"`
	RemoteTopic string            `json:"remote_topic,omitempty"`
	SourceTopic string            `json:"source_topic_id,omitempty"` // topic ids as hex
	TargetTopic string            `json:"target_topic_id,omitempty"`
	Committed   int64             `json:"committed"`     // on the source; -1 never committed
	CommitAt    int64             `json:"commit_offset"` // log offset of that commit on the source; -1 where positions come from OffsetFetch
	Metadata    string            `json:"metadata,omitempty"`
	ClaimEpoch  int16             `json:"claim_epoch"` // of the lane that wrote the row; -1 by a group owner
	SourceEnd   int64             `json:"source_end"`  // source log end offset when the row was made; -1 unknown
	Verdict     translate.Verdict `json:"verdict"`
	At          time.Time         `json:"at"`
	// GoneAt is when the group's owner saw first that the source no longer holds the commit; zero where it does. Its verdict, of At,
	// is the last one, and kept: nothing else knows where the group was.
	GoneAt time.Time `json:"gone_at,omitzero"`
}

// Commit is one committed offset on the source.
type Commit struct {
	Group    string
	Offset   offsetmap.SourceOffset
	Metadata string
}

// EncodeKey gives the record key.
func (k Key) EncodeKey() []byte {
	b, err := json.Marshal([]any{k.Group, k.Topic, k.Partition})
	if err != nil {
		panic(err) // strings and an int always encode
	}
	return b
}

// ParseKey is the inverse of EncodeKey. A key of ours has a topic and a partition, or neither (WholeGroup).
func ParseKey(b []byte) (Key, error) {
	var group, topic *string // nil for null, which encoding/json takes for anything
	var partition *int32
	parts := []any{&group, &topic, &partition}
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) != 3 || group == nil || topic == nil || partition == nil {
		return Key{}, fmt.Errorf("%w: key %.80q", ErrMalformed, b)
	}
	k := Key{Group: *group, Topic: *topic, Partition: *partition}
	if k.Partition < WholeGroup || (k.Topic == "") != (k.Partition == WholeGroup) {
		return Key{}, fmt.Errorf("%w: key %.80q", ErrMalformed, b)
	}
	return k, nil
}

// EncodeRow gives the record value.
func (r Row) EncodeRow() ([]byte, error) {
	r.Version = Version
	return json.Marshal(r)
}

// ParseRow is the inverse of EncodeRow.
func ParseRow(b []byte) (Row, error) {
	var r Row
	if err := json.Unmarshal(b, &r); err != nil {
		return Row{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if r.Version != Version {
		return Row{}, fmt.Errorf("%w: version %d (this build reads %d)", ErrMalformed, r.Version, Version)
	}
	return r, nil
}
