package control

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind is what a decision is about.
type Kind string

// The kinds.
const (
	Pause    Kind = "pause"    // a flow, a topic or a partition is not mirrored for now
	Skip     Kind = "skip"     // source offsets that are never copied
	Restart  Kind = "restart"  // a topic or a partition is copied anew
	Forget   Kind = "forget"   // a topic has ended: what is known of it goes
	Moved    Kind = "moved"    // a group lives on the target now: its positions there are its own
	Throttle Kind = "throttle" // how many bytes a second the flow may copy
)

// TopicName is the topic on the target that holds the decisions about what comes from a source.
func TopicName(source string) string { return "tidemark-controls." + source + ".internal" }

// AllPartitions is the Partition of a Scope that is not about one.
const AllPartitions = -1

// Scope is what a decision holds for. What does not matter is empty.
type Scope struct {
	Flow      string `json:"flow"` // A->B
	Topic     string `json:"topic,omitempty"`
	Partition int32  `json:"partition"` // AllPartitions: of the topic, or of the flow
	Group     string `json:"group,omitempty"`
	First     int64  `json:"first,omitempty"` // with Skip: source offsets First to Last, both included
	Last      int64  `json:"last,omitempty"`
}

// String is the scope in words.
func (s Scope) String() string {
	what := "flow " + s.Flow
	switch {
	case s.Group != "":
		return "group " + s.Group
	case s.Topic != "" && s.Partition != AllPartitions:
		what = fmt.Sprintf("%s-%d", s.Topic, s.Partition)
	case s.Topic != "":
		what = "topic " + s.Topic
	}
	if s.First != 0 || s.Last != 0 {
		what += fmt.Sprintf(" offsets %d to %d", s.First, s.Last)
	}
	return what
}

// TopicID is the id of a topic, as hexadecimal digits in JSON.
type TopicID [16]byte

// MarshalText gives the digits.
func (t TopicID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, t[:]), nil }

// UnmarshalText reads them.
func (t *TopicID) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err == nil && len(b) != len(t) {
		err = fmt.Errorf("%d bytes, a topic id has %d", len(b), len(t))
	}
	copy(t[:], b)
	return err
}

// Decision is one record of the topic.
type Decision struct {
	ID         string    // of this decision; no two have the same
	Kind       Kind      //
	Scope      Scope     //
	Supersedes string    // ID of the decision of this kind and scope that it takes the place of; empty: there was none
	Off        bool      // it ends that one, and puts nothing in its place
	At         time.Time // by the clock of whoever decided, to the second
	By         string    // who decided, as user@host
	Reason     string    // in his words

	From        string  // Restart: earliest, latest, an offset, or a time as RFC 3339 has it
	Incarnation uint32  // Restart: grows from decision to decision; the offset map carries that of the one that it obeys
	TopicID     TopicID // Forget: of the source topic; another one of that name is not meant
	Bytes       int64   // Throttle: bytes a second, of all workers together

	// Committed is, with Moved, where the group stood on the source then: by topic and partition the committed offset. Whatever
	// else it has committed there later came after the move. SourceAway: the source did not tell, so these are the ones that a
	// run had seen last.
	Committed  map[string]map[int32]int64
	SourceAway bool
	// Held is, with Moved, where the group stood on the target then, by topic and partition of the source, if that was not ahead of
	// the source: as long as it stands there it has not committed on the target since.
	Held map[string]map[int32]int64

	Offset int64 // where it stands in the topic; not part of the record
}

// version is of the format. What is added needs another one where a build that does not know it would do harm.
const version = 1

// errVersion: a decision of a format that this build does not know.
var errVersion = errors.New("its version is not known")

// key is the record's key: what the decision is about, and its id.
type key struct {
	Kind  Kind   `json:"kind"`
	Scope Scope  `json:"scope"`
	ID    string `json:"id"`
}

// value is the record's value.
type value struct {
	Version     int       `json:"version"`
	Supersedes  string    `json:"supersedes,omitempty"`
	Off         bool      `json:"off,omitempty"`
	At          time.Time `json:"at"`
	By          string    `json:"by"`
	Reason      string    `json:"reason,omitempty"`
	From        string    `json:"from,omitempty"`
	Incarnation uint32    `json:"incarnation,omitempty"`
	TopicID     TopicID   `json:"topic_id,omitzero"`
	Bytes       int64     `json:"bytes,omitempty"`

	Committed  map[string]map[int32]int64 `json:"committed,omitempty"`
	SourceAway bool                       `json:"source_away,omitempty"`
	Held       map[string]map[int32]int64 `json:"held,omitempty"`
}

// Encode gives the record of a decision.
func (d Decision) Encode() (k, v []byte, err error) {
	k, errKey := json.Marshal(key{d.Kind, d.Scope, d.ID})
	v, errValue := json.Marshal(value{
		Version: version, Supersedes: d.Supersedes, Off: d.Off, At: d.At.UTC().Truncate(time.Second), By: d.By, Reason: d.Reason,
		From: d.From, Incarnation: d.Incarnation, TopicID: d.TopicID, Bytes: d.Bytes,
		Committed: d.Committed, SourceAway: d.SourceAway, Held: d.Held,
	})
	return k, v, errors.Join(errKey, errValue)
}

// Decode reads a record. The error says what it is where it is no decision of this build.
func Decode(k, v []byte) (Decision, error) {
	var name key
	if err := json.Unmarshal(k, &name); err != nil {
		return Decision{}, fmt.Errorf("key %.80q: %w", k, err)
	}
	what := fmt.Sprintf("%s of %s", name.Kind, name.Scope)
	var got value
	if err := json.Unmarshal(v, &got); err != nil {
		return Decision{Kind: name.Kind, Scope: name.Scope, ID: name.ID}, fmt.Errorf("%s: %w", what, err)
	}
	d := Decision{
		ID: name.ID, Kind: name.Kind, Scope: name.Scope, Supersedes: got.Supersedes, Off: got.Off, At: got.At, By: got.By, Reason: got.Reason,
		From: got.From, Incarnation: got.Incarnation, TopicID: got.TopicID, Bytes: got.Bytes,
		Committed: got.Committed, SourceAway: got.SourceAway, Held: got.Held,
	}
	switch {
	case got.Version != version:
		return d, fmt.Errorf("%s: %w", what, errVersion)
	case name.ID == "" || name.Scope.Flow == "":
		return d, fmt.Errorf("%s: no id, or no flow", what)
	}
	if err := d.check(); err != nil {
		return d, fmt.Errorf("%s: %w", what, err)
	}
	return d, nil
}

// check says what no command writes: it must not be guessed what is meant.
func (d Decision) check() error {
	s := d.Scope
	partition := s.Topic != "" && s.Partition >= 0
	fits := map[Kind]bool{
		Pause:    s.Group == "" && s.Last == 0 && s.First == 0 && (s.Topic != "" || s.Partition == AllPartitions),
		Skip:     partition && s.Group == "" && 0 <= s.First && s.First <= s.Last,
		Restart:  s.Topic != "" && s.Partition >= AllPartitions && s.Group == "" && d.Incarnation > 0,
		Forget:   s.Topic != "" && s.Partition == AllPartitions,
		Moved:    s.Group != "" && s.Topic == "",
		Throttle: s.Topic == "" && s.Group == "" && (d.Off || d.Bytes > 0),
	}
	fit, known := fits[d.Kind]
	switch {
	case !known:
		return errors.New("this kind of decision is not known")
	case !fit:
		return errors.New("its scope does not fit its kind")
	}
	return nil
}

// slot is what decisions take each other's place in.
type slot struct {
	kind  Kind
	scope Scope
}

func (d Decision) slot() slot { return slot{d.Kind, d.Scope} }

func byOffset(a, b Decision) int { return cmp.Compare(a.Offset, b.Offset) }

// sorted is by place in the topic.
func sorted(ds []Decision) []Decision {
	slices.SortFunc(ds, byOffset)
	return ds
}
